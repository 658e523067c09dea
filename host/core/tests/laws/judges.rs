//! Hooks on uses of tools (hooks.md, R4): those that may rewrite come first and one after another, those that hear
//! of the end come after it, and a person is asked once.

use rewake_core::fact::{
    Asker, Changes, Decision as Verdict, HookEvent, HookPin, HookStarted, HookVerdict, Lost, OnError,
    Question, QuestionAsked, RequestedUse, ToolLost, ToolStarted, ToolsRequested, TurnWaiting, UserAnswer,
    WaitOn,
};
use rewake_core::ids::Timestamp;
use rewake_core::limits::TITLE_CHARS_MAX;
use rewake_core::{ALLOW, canonical, question_id};
use rewake_wire::{Outcome, Part, Sender};

use crate::bench::{
    Bench, STEP, USE, arguments, bound, bound_as, completed, hook_started, kinds, refused, tool_started,
    verdict,
};
use crate::pins::{self, ADVISER, GREETER, GUARD};
use rewake_core::decide::Input;
use rewake_core::entry::{Draft, Place};
use rewake_core::{Session, decide, fact::Fact};

/// The hooks that these tests add to the pins.
const FIRST: u32 = 5;
const SECOND: u32 = 6;
const AFTER: u32 = 7;
const AFTER_REWRITER: u32 = 8;
const AFTER_FAILURE: u32 = 9;

/// A use that these hooks must judge, and these must hear of.
fn requested(hooks: &[u32], after: &[u32]) -> Bench {
    let mut bench = Bench::in_step();
    let pins = &mut bench.session.created.as_mut().expect("it is created").hooks;
    for (event, rewrites) in [
        (HookEvent::PreToolUse, true),
        (HookEvent::PreToolUse, true),
        (HookEvent::PostToolUse, false),
        (HookEvent::PostToolUse, true),
        (HookEvent::PostToolUseFailure, false),
    ] {
        let (matcher, on_error) = (String::new(), OnError::Deny);
        pins.push(HookPin {
            component: 2,
            event,
            matcher,
            on_error,
            timeout_ms: 1,
            rewrites,
            operator: false,
        });
    }
    bench.record(USE, request(hooks, after)).unwrap();
    bench
}

pub(crate) fn request(hooks: &[u32], after: &[u32]) -> ToolsRequested {
    let one = RequestedUse {
        id: "use0".into(),
        name: "send".into(),
        input: "{}".into(),
        arguments: arguments(),
        hooks: hooks.to_vec(),
        after: after.to_vec(),
    };
    ToolsRequested { uses: vec![one.clone(), one] }
}

fn hears(hook: u32, event: HookEvent) -> HookStarted {
    HookStarted { event, ..hook_started(hook, bound("send")) }
}

fn asks(hook: u32) -> QuestionAsked {
    let question = Question { id: question_id(USE), text: "?".into(), choices: vec![], schema: None };
    QuestionAsked { question, by: Asker::Hook(hook) }
}

const NOT_ENDED: &str = "the use has not ended in the way that the hook hears of";
const NOT_FIRST: &str = "a hook that may replace what is judged has not answered yet";
const NONE: &str = "the hook is none of those that must judge the use";
const NOT_PASSED: &str = "a hook that must judge the use has not let it pass";
const UNWANTED: &str = "nothing wants a person to be asked about that";

#[test]
fn a_request_names_each_hook_for_what_it_is_for() {
    let bench = requested(&[GUARD, FIRST], &[AFTER, AFTER_FAILURE]);
    let next = Place { ordinal: 2, ..USE };
    let why = "a use names a hook that the session does not have for it";
    for (hooks, after) in [(vec![AFTER], vec![]), (vec![], vec![GUARD]), (vec![], vec![99])] {
        refused(&bench, next, request(&hooks, &after), why);
    }
    bench.clone().record(next, request(&[], &[AFTER])).unwrap();
}

#[test]
fn a_hook_hears_of_the_end_that_is_its_own_and_after_it() {
    let (ok, failure) = (HookEvent::PostToolUse, HookEvent::PostToolUseFailure);
    let all = requested(&[], &[AFTER, AFTER_FAILURE]);
    refused(&all, USE, hears(AFTER, ok), NOT_ENDED);
    refused(&all, USE, hears(AFTER_FAILURE, failure), NOT_ENDED);
    let mut started = all.clone();
    let start = started.record(USE, tool_started("send", vec![])).unwrap();
    refused(&started, USE, hears(AFTER, ok), NOT_ENDED);
    let ends: [(&Bench, Fact, bool); 4] = [
        (&started, completed(Some(start), Outcome::Ok).into(), true),
        (&started, completed(Some(start), Outcome::Error).into(), false),
        (&started, ToolLost { start, why: Lost::Limit }.into(), false),
        (&all, completed(None, Outcome::Denied).into(), false),
    ];
    for (bench, end, is_well) in ends {
        let mut bench = bench.clone();
        bench.record(USE, end).unwrap();
        let (mine, other) = ((AFTER, ok), (AFTER_FAILURE, failure));
        let (mine, other) = if is_well { (mine, other) } else { (other, mine) };
        refused(&bench, USE, hears(other.0, other.1), NOT_ENDED);
        refused(&bench, USE.at_index(1), hears(mine.0, mine.1), NOT_ENDED);
        refused(&bench, USE, hears(mine.0, other.1), NONE);
        refused(&bench, USE, hears(AFTER_REWRITER, ok), NONE);
        let named = HookStarted { message: Some(1), ..hears(mine.0, mine.1) };
        refused(&bench, USE, named, NONE);
        bench.record(USE, hears(mine.0, mine.1)).unwrap();
        refused(&bench, USE, hears(mine.0, mine.1), "the hook was asked about the use before");
    }
}

#[test]
fn hooks_that_rewrite_are_asked_first_and_one_after_another() {
    let mut bench = requested(&[GUARD, FIRST, SECOND], &[]);
    let asked = |hook| hook_started(hook, bound("send"));
    for hook in [GUARD, SECOND] {
        refused(&bench, USE, asked(hook), NOT_FIRST);
    }
    bench.clone().record(USE.at_index(1), asked(FIRST)).unwrap();
    let start = bench.record(USE, asked(FIRST)).unwrap();
    refused(&bench, USE, asked(SECOND), NOT_FIRST);
    bench.record(USE, verdict(start, FIRST, Verdict::None, bound("send"))).unwrap();
    refused(&bench, USE, asked(GUARD), NOT_FIRST);
    refused(&bench, USE.at_index(1), asked(SECOND), NOT_FIRST);
    bench.judge(SECOND, Verdict::None, bound("send"));
    bench.record(USE, asked(GUARD)).unwrap();
}

#[test]
fn what_rewrites_an_output_comes_before_what_only_hears_of_it() {
    let mut bench = requested(&[], &[AFTER, AFTER_REWRITER, AFTER_FAILURE]);
    let mut failing = bench.clone();
    let start = bench.record(USE, tool_started("send", vec![])).unwrap();
    bench.record(USE, completed(Some(start), Outcome::Ok)).unwrap();
    refused(&bench, USE, hears(AFTER, HookEvent::PostToolUse), NOT_FIRST);
    let start = bench.record(USE, hears(AFTER_REWRITER, HookEvent::PostToolUse)).unwrap();
    let output = Changes { output: Some(vec![Part::text("less")]), ..Changes::default() };
    let body =
        HookVerdict { changes: output, ..verdict(start, AFTER_REWRITER, Verdict::None, bound("send")) };
    bench.record(USE, body).unwrap();
    bench.record(USE, hears(AFTER, HookEvent::PostToolUse)).unwrap();
    // A failure is rewritten by nobody, so nobody is waited for.
    failing.record(USE, completed(None, Outcome::Error)).unwrap();
    failing.record(USE, hears(AFTER_FAILURE, HookEvent::PostToolUseFailure)).unwrap();
}

/// R4: a tool starts as the last rewriter made it, judged as that by those after it.
#[test]
fn a_tool_starts_as_what_hooks_made_of_its_input() {
    let mut bench = requested(&[GUARD, FIRST, SECOND], &[]);
    let rewrite = |bench: &mut Bench, hook, input: &str, bound| {
        let start = bench.record(USE, hook_started(hook, bound)).unwrap();
        let changes = Changes { input: Some(input.into()), ..Changes::default() };
        bench.record(USE, HookVerdict { changes, ..verdict(start, hook, Verdict::Allow, bound) }).unwrap()
    };
    let made = |input: &str| canonical::digest(input).unwrap();
    let mut broken = bench.clone();
    let one = rewrite(&mut broken, FIRST, "{", bound("send"));
    refused(
        &broken,
        USE,
        tool_started("send", vec![one]),
        "what a hook made of the input has no canonical form",
    );

    let one = rewrite(&mut bench, FIRST, "{\"a\":1}", bound("send"));
    let two = rewrite(&mut bench, SECOND, "{\"a\":2}", bound_as(USE, "send", made("{\"a\":1}")));
    let mut early = bench.clone();
    let three = early.judge(GUARD, Verdict::Allow, bound("send"));
    let started = |arguments, verdicts| ToolStarted { arguments, ..tool_started("send", verdicts) };
    refused(&early, USE, started(made("{\"a\":2}"), vec![one, two, three]), NOT_PASSED);
    let three = bench.judge(GUARD, Verdict::Allow, bound_as(USE, "send", made("{\"a\":2}")));
    let asked = "a tool may start only with the arguments that were requested";
    for arguments in [arguments(), made("{\"a\":1}")] {
        refused(&bench, USE, started(arguments, vec![one, two, three]), asked);
    }
    for verdicts in [vec![one, three], vec![two, three], vec![one, two]] {
        refused(&bench, USE, started(made("{\"a\":2}"), verdicts), NOT_PASSED);
    }
    bench.record(USE, started(made("{\"a\":2}"), vec![one, two, three])).unwrap();
}

#[test]
fn a_verdict_changes_only_what_its_event_and_its_pin_let_it() {
    let why = "a verdict holds only what its event and its hook may decide";
    let input = Changes { input: Some("{}".into()), ..Changes::default() };
    let output = Changes { output: Some(vec![]), ..Changes::default() };
    let title = Changes { title: Some("t".into()), ..Changes::default() };
    let end_turn = Changes { end_turn: Some("e".into()), ..Changes::default() };
    let mut bench = requested(&[GUARD, FIRST], &[AFTER, AFTER_REWRITER]);
    let pre = bench.record(USE, hook_started(FIRST, bound("send"))).unwrap();
    let holding = |start, hook, changes: &Changes| HookVerdict {
        changes: changes.clone(),
        ..verdict(start, hook, Verdict::None, bound("send"))
    };
    for changes in [&output, &title] {
        refused(&bench, USE, holding(pre, FIRST, changes), why);
    }
    for changes in [&input, &end_turn] {
        bench.clone().record(USE, holding(pre, FIRST, changes)).unwrap();
    }
    bench.record(USE, completed(None, Outcome::Denied)).unwrap();
    // What stands there counts, not what came before it: the end is written over for this.
    let mut after = requested(&[], &[AFTER, AFTER_REWRITER]);
    let start = after.record(USE, tool_started("send", vec![])).unwrap();
    after.record(USE, completed(Some(start), Outcome::Ok)).unwrap();
    let post = after.record(USE, hears(AFTER_REWRITER, HookEvent::PostToolUse)).unwrap();
    for changes in [&input, &title] {
        refused(&after, USE, holding(post, AFTER_REWRITER, changes), why);
    }
    after.record(USE, holding(post, AFTER_REWRITER, &output)).unwrap();
    let plain = after.record(USE, hears(AFTER, HookEvent::PostToolUse)).unwrap();
    refused(&after, USE, holding(plain, AFTER, &output), why);
    let block = HookVerdict { decision: Verdict::Block, ..holding(plain, AFTER, &Changes::default()) };
    after.record(USE, block).unwrap();
}

/// SessionStart may name the session; the title is an entry of its own, and cut.
#[test]
fn a_hook_of_the_start_names_the_session() {
    let mut bench = Bench::in_turn();
    let firing = match bench.due(vec![]).then {
        rewake_core::decide::Then::Fire(firings) => firings[0],
        other => panic!("hooks are due, not {other:?}"),
    };
    let start = bench.record(firing.place, firing.started()).unwrap();
    let changes = Changes { title: Some("t".repeat(TITLE_CHARS_MAX + 1)), ..Changes::default() };
    let body = HookVerdict { changes, ..verdict(start, GREETER, Verdict::None, firing.binding) };
    let named = decide(&bench.session, Input::Record(Draft::system(firing.place, body))).unwrap();
    assert_eq!(kinds(&named.entries), ["hook.verdict", "session.titled"]);
    bench.add_all(named.entries).unwrap();
    assert_eq!(bench.session.title, Some("t".repeat(TITLE_CHARS_MAX)));
}

#[test]
fn a_person_is_asked_once_and_only_because_a_hook_wants_it() {
    let both = requested(&[GUARD, ADVISER], &[]);
    refused(&both, USE, asks(GUARD), UNWANTED);
    for other in [Verdict::None, Verdict::Allow] {
        let mut bench = both.clone();
        bench.judge(GUARD, other, bound("send"));
        refused(&bench, USE, asks(GUARD), UNWANTED);
    }
    let mut wanted = both.clone();
    let seq = wanted.judge(GUARD, Verdict::Ask, bound("send"));
    let harness = QuestionAsked { by: Asker::Harness, ..asks(GUARD) };
    refused(&wanted, USE, harness, UNWANTED);
    refused(&wanted, USE, asks(ADVISER), UNWANTED);
    refused(&wanted, USE.at_index(1), asks(GUARD), UNWANTED);
    wanted.clone().record(USE, asks(GUARD)).unwrap();

    let mut denied = wanted.clone();
    denied.judge(ADVISER, Verdict::Deny, bound("send"));
    refused(&denied, USE, asks(GUARD), UNWANTED);
    let mut ended = wanted.clone();
    ended.record(USE, completed(None, Outcome::Denied)).unwrap();
    refused(&ended, USE, asks(GUARD), UNWANTED);

    // An answer lets only the use pass that it is about.
    wanted.judge(ADVISER, Verdict::None, bound("send"));
    let mut elsewhere = wanted.clone();
    elsewhere.record(USE, asks(GUARD)).unwrap();
    let answer = UserAnswer { n: 9, sender: Sender::System, question: question_id(USE), value: ALLOW.into() };
    elsewhere.add(USE.at_index(1), answer).unwrap();
    refused(&elsewhere, USE, tool_started("send", vec![seq, seq + 2]), NOT_PASSED);
}

#[test]
fn a_turn_waits_inside_of_a_step_for_what_its_hooks_asked() {
    let why = "a turn waits inside of a step only for questions about its calls";
    let waits = |ids: &[String]| TurnWaiting { on: WaitOn::Answers(ids.to_vec()) };
    let mut bench = requested(&[GUARD], &[]);
    refused(&bench, Place::turn(1), waits(&[]), why);
    bench.judge(GUARD, Verdict::Ask, bound("send"));
    bench.record(USE, asks(GUARD)).unwrap();
    let id = question_id(USE);
    for (place, ids) in [
        (STEP, vec![id.clone()]),
        (Place::turn(2), vec![id.clone()]),
        (Place::turn(1), vec![]),
        (Place::turn(1), vec!["other".into()]),
        (Place::turn(1), vec![id.clone(), id.clone()]),
    ] {
        refused(&bench, place, waits(&ids), why);
    }
    let time = WaitOn::Time { until: Some(Timestamp(1)), on_message: false };
    refused(&bench, Place::turn(1), TurnWaiting { on: time }, why);
    bench.record(Place::turn(1), waits(&[id])).unwrap();
}

/// What the step itself did meanwhile does not hide the call that a start belongs to.
#[test]
fn a_use_is_found_behind_what_its_step_observed() {
    let mut bench = requested(&[], &[]);
    bench.record(STEP, rewake_core::fact::StepObserved { items: vec![] }).unwrap();
    bench.record(USE, tool_started("send", vec![])).unwrap();
}

/// Pins that a snapshot or journal says, and that lead nowhere, are found before they are used.
#[test]
fn a_fold_that_does_not_hold_together_is_found() {
    assert_eq!(Session::new(pins::session()).check(), Err("it is of no created session"));
    let (bench, _) = Bench::asking();
    assert_eq!(bench.session.check(), Ok(()));
    let mut harness = bench.clone();
    harness.session.created.as_mut().expect("it is created").agent.harness = 9;
    let why = "a session's harness must be one of its components, and a harness";
    assert_eq!(harness.session.check(), Err(why));
    let mut hooked = Bench::requested("send", &[GUARD]);
    hooked.record(USE, hook_started(GUARD, bound("send"))).unwrap();
    assert_eq!(hooked.session.check(), Ok(()));
    for left in [1, 0] {
        hooked.session.created.as_mut().expect("it is created").hooks.truncate(left);
        let expected = if left > 0 { Ok(()) } else { Err("a call of it is of no hook it has") };
        assert_eq!(hooked.session.check(), expected);
    }
    let mut ended = Bench::in_step();
    ended.session.ended = Some(rewake_core::session::Ended::Failed);
    assert_eq!(ended.session.check(), Err("it has ended, and a step of it is open"));
}
