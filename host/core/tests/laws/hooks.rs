//! What hooks decide of prompts, of a turn's end and through people, each rule at a bench: no host, no guest.

use rewake_core::command::Command;
use rewake_core::decide::{Decision as Due, StepEnd, StepOutcome, Then};
use rewake_core::entry::Place;
use rewake_core::fact::{
    AgentMessage, Asker, Changes, Decision as Verdict, Fact, HookEvent, HookPin, HookVerdict, Next, OnError,
    Question, QuestionAsked, TurnWaiting, UserMessage, WaitOn,
};
use rewake_core::firing::{Firing, Occasion};
use rewake_core::limits::{CONTEXTS_BYTES_MAX, STOP_ROUNDS_MAX};
use rewake_core::session::Heard;
use rewake_core::{ALLOW, CHOICES, Refusal, decide, question_id};

use rewake_wire::Part;

use crate::bench::{Bench, STEP, USE, bound, hook_started, message, model_started, tool_started, verdict};
use crate::pins::{self, GUARD};

/// The hook that these tests add to the pins.
const ADDED: u32 = 5;

/// A bench whose session has one more hook.
pub(crate) fn with(mut bench: Bench, event: HookEvent) -> Bench {
    let created = bench.session.created.as_mut().expect("it is created");
    let (matcher, on_error) = (String::new(), OnError::Deny);
    created.hooks.push(HookPin {
        component: 2,
        event,
        matcher,
        on_error,
        timeout_ms: 1,
        rewrites: false,
        operator: false,
    });
    bench.session.load.stepped = true;
    bench
}

pub(crate) fn fired(due: Due) -> Vec<Firing> {
    match due.then {
        Then::Fire(firings) => firings,
        other => panic!("hooks are due, not {other:?}"),
    }
}

/// The hook that is due answers.
fn answers(bench: &mut Bench, decision: Verdict, changes: Changes) -> Firing {
    let firing = fired(bench.due(vec![]))[0];
    assert_eq!(firing.hook, ADDED);
    let start = bench.record(firing.place, firing.started()).unwrap();
    let reason = Some("because".to_owned());
    let body = HookVerdict { changes, reason, ..verdict(start, ADDED, decision, firing.binding) };
    bench.record(firing.place, body).unwrap();
    firing
}

fn kinds(due: &Due) -> Vec<&str> {
    due.entries.iter().map(|draft| draft.fact.kind()).collect()
}

pub(crate) fn done(bench: &mut Bench) {
    let outcome = StepOutcome::Completed { next: Next::Done, state: None, calls: Default::default() };
    let end = StepEnd { outcome, ordinal: 0, observed: vec![], logs: None, rows: vec![] };
    let decision = decide(&bench.session, rewake_core::decide::Input::StepEnd(end)).unwrap();
    assert!(decision.entries.iter().all(|draft| !matches!(draft.fact, Fact::TurnCompleted(_))));
    bench.add_all(decision.entries).unwrap();
}

#[test]
fn a_message_is_judged_before_a_step_gets_it() {
    let mut bench = with(Bench::in_turn(), HookEvent::UserPromptSubmit);
    let firing = answers(&mut bench, Verdict::None, Changes::default());
    assert_eq!((firing.occasion, firing.place), (Occasion::Prompt(1), Place::turn(1)));
    assert_eq!(kinds(&bench.due(vec![])), ["step.started"]);
}

#[test]
fn a_turn_of_blocked_messages_ends_without_a_step() {
    let mut bench = with(Bench::in_turn(), HookEvent::UserPromptSubmit);
    answers(&mut bench, Verdict::Block, Changes::default());
    let due = bench.due(vec![]);
    assert_eq!(kinds(&due), ["turn.failed"]);
    assert!(matches!(&due.entries[0].fact, Fact::TurnFailed(body) if body.code == "prompt_blocked"));
}

/// One of two messages is refused: the step is given the other.
#[test]
fn a_refused_message_is_left_out_and_the_rest_goes_on() {
    let mut bench = Bench::in_turn();
    let sender = rewake_wire::Sender::System;
    bench.add(Place::turn(1), UserMessage { n: 2, sender, parts: vec![] }).unwrap();
    let mut bench = with(bench, HookEvent::UserPromptSubmit);
    let first = answers(&mut bench, Verdict::Block, Changes::default());
    let second = answers(&mut bench, Verdict::None, Changes::default());
    assert_eq!([first.occasion, second.occasion], [Occasion::Prompt(1), Occasion::Prompt(2)]);
    let due = bench.due(vec![]);
    let Fact::StepStarted(started) = &due.entries[0].fact else { panic!("{due:?}") };
    assert_eq!(started.input.messages.iter().map(|one| one.n).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_refused_message_ends_no_wait_and_no_turn_that_has_begun() {
    let mut bench = with(Bench::in_step(), HookEvent::UserPromptSubmit);
    let until = Some(rewake_core::ids::Timestamp(5_000));
    bench.ends(Next::Wait { until, on_message: true });
    let steered = bench.due_at(1_000, vec![message(2)]);
    bench.add_all(steered.entries).unwrap();
    answers(&mut bench, Verdict::Block, Changes::default());
    assert_eq!(bench.due(vec![]).then, Then::Idle(until));
    assert_eq!(kinds(&bench.due_at(5_000, vec![])), ["step.started"]);
}

/// What hooks add stands in the order of their declarations, whichever answers first; a reason before a context.
#[test]
fn what_hooks_add_is_in_their_order() {
    let mut bench = with(with(Bench::in_turn(), HookEvent::Stop), HookEvent::Stop);
    let started = bench.due(vec![]);
    bench.add_all(started.entries).unwrap();
    done(&mut bench);
    for firing in fired(bench.due(vec![])).into_iter().rev() {
        let start = bench.record(firing.place, firing.started()).unwrap();
        let said = |what: &str| Some(format!("{what} of {}", firing.hook));
        let (reason, context) = (said("reason"), said("context"));
        let verdict = verdict(start, firing.hook, Verdict::Block, firing.binding);
        bench.record(firing.place, HookVerdict { reason, context, ..verdict }).unwrap();
    }
    let heard: Vec<_> = bench.session.heard.iter().map(|heard| heard.text.as_str()).collect();
    assert_eq!(heard, ["reason of 5", "context of 5", "reason of 6", "context of 6"]);
}

/// The matcher of SessionEnd is tried on how it ended; each hook hears of it once.
#[test]
fn the_end_is_told_to_those_it_is_for() {
    for (matcher, hears) in [("stopped", true), ("failed", false), ("*", true)] {
        let mut bench = with(Bench::in_turn(), HookEvent::SessionEnd);
        bench.session.created.as_mut().expect("it is created").hooks[ADDED as usize].matcher = matcher.into();
        assert!(!bench.session.has_farewells(), "it has not ended");
        let stop = bench.due(vec![Command::Stop { reason: "enough".into() }]);
        bench.add_all(stop.entries).unwrap();
        assert_eq!(bench.session.has_farewells(), hears, "{matcher}");
    }
}

#[test]
fn a_hook_that_ends_the_turn_beats_everything() {
    let mut bench = with(Bench::in_turn(), HookEvent::UserPromptSubmit);
    let changes = Changes { end_turn: Some("enough".into()), ..Changes::default() };
    answers(&mut bench, Verdict::None, changes);
    let due = bench.due(vec![]);
    assert!(due.drops_guest);
    assert_eq!(kinds(&due), ["turn.interrupted"]);
    bench.add_all(due.entries).unwrap();
    assert_eq!(bench.session.turn, None);
}

#[test]
fn a_stop_hook_is_obeyed_so_often_and_then_overridden() {
    let mut bench = with(Bench::in_turn(), HookEvent::Stop);
    for round in 0..=STOP_ROUNDS_MAX {
        let started = bench.due(vec![]);
        assert_eq!(kinds(&started), ["step.started"]);
        bench.add_all(started.entries).unwrap();
        done(&mut bench);
        let firing = answers(&mut bench, Verdict::Block, Changes::default());
        assert_eq!(firing.occasion, Occasion::Stop(round));
    }
    assert_eq!(kinds(&bench.due(vec![])), ["turn.completed"]);
}

#[test]
fn the_end_of_a_session_is_told_after_it() {
    let mut bench = with(Bench::in_turn(), HookEvent::SessionEnd);
    let stop = bench.due(vec![Command::Stop { reason: "enough".into() }]);
    bench.add_all(stop.entries).unwrap();
    assert!(bench.session.has_farewells());
    answers(&mut bench, Verdict::None, Changes::default());
    assert!(!bench.session.has_farewells());
    assert_eq!(bench.due(vec![]).then, Then::Ended);
}

#[test]
fn a_verdict_holds_only_what_its_event_has() {
    let mut bench = Bench::requested("send", &[GUARD]);
    let start = bench.record(USE, hook_started(GUARD, bound("send"))).unwrap();
    let holding =
        |decision, changes| HookVerdict { changes, ..verdict(start, GUARD, decision, bound("send")) };
    let input = Changes { input: Some("{}".into()), ..Changes::default() };
    let title = Changes { title: Some("t".into()), ..Changes::default() };
    for body in [
        holding(Verdict::Block, Changes::default()),
        holding(Verdict::Allow, input),
        holding(Verdict::Allow, title),
    ] {
        let refused = Refusal::Rule("a verdict holds only what its event and its hook may decide");
        assert_eq!(bench.clone().record(USE, body), Err(refused));
    }
}

/// A use that a hook wants a person to decide starts after an operator's `allow`, and after nothing else.
#[test]
fn what_is_asked_starts_only_when_an_operator_allows() {
    for (value, passes) in [(ALLOW, true), ("\"deny\"", false), ("\"Allow\"", false), ("true", false)] {
        let mut bench = Bench::requested("send", &[GUARD]);
        let seq = bench.judge(GUARD, Verdict::Ask, bound("send"));
        assert!(bench.clone().record(USE, tool_started("send", vec![seq])).is_err());
        let choices = CHOICES.map(str::to_owned).to_vec();
        let question = Question { id: question_id(USE), text: "May it?".into(), choices, schema: None };
        let id = question.id.clone();
        let question = QuestionAsked { question, by: Asker::Hook(GUARD) };
        let waits = TurnWaiting { on: WaitOn::Answers(vec![id.clone()]) };
        assert!(bench.clone().record(Place::turn(1), waits.clone()).is_err(), "nothing is asked yet");
        bench.record(USE, question.clone()).unwrap();
        assert!(bench.clone().record(USE, question.clone()).is_err(), "it is asked once");
        bench.record(Place::turn(1), waits).unwrap();
        assert_eq!(bench.due(vec![]).then, Then::Idle(None), "the step is not run meanwhile");
        let answer = Command::Answer { question: id, value: value.into() };
        let answered = bench.due(vec![answer]);
        assert_eq!((kinds(&answered), answered.entries[0].place), (vec!["user.answer"], USE));
        bench.add_all(answered.entries).unwrap();
        assert!(bench.session.pending.answers.is_empty(), "the answer belongs to the call");
        let again = bench.due(vec![]);
        assert!(matches!(&again.entries[0].fact, Fact::StepRerun(body) if body.again == 0));
        assert_eq!(again.entries[0].place, STEP);
        assert_eq!(bench.record(USE, tool_started("send", vec![seq])).is_ok(), passes, "{value}");
    }
}

/// An answer meant for a harness's question must never count for a hook's, so neither has the other's names.
#[test]
fn only_hooks_ask_under_the_names_of_hooks() {
    let mut bench = Bench::in_step();
    let question = Question { id: question_id(USE), text: "Shall I?".into(), choices: vec![], schema: None };
    let outcome =
        StepOutcome::Completed { next: Next::Ask(vec![question]), state: None, calls: Default::default() };
    let end = StepEnd { outcome, ordinal: 0, observed: vec![], logs: None, rows: vec![] };
    let refused = decide(&bench.session, rewake_core::decide::Input::StepEnd(end)).unwrap_err();
    assert!(refused.to_string().contains("as only those of hooks do"), "{refused}");

    bench = Bench::requested("send", &[GUARD]);
    bench.judge(GUARD, Verdict::Ask, bound("send"));
    let question = Question { id: "sure".into(), text: "May it?".into(), choices: vec![], schema: None };
    let asked = bench.record(USE, QuestionAsked { question, by: Asker::Hook(GUARD) });
    assert_eq!(asked, Err(Refusal::Rule("a question about a use is named after its place")));
}

/// What an overridden Stop hook wanted is no business of the next turn; what it added is told all the same.
#[test]
fn a_reason_that_is_overridden_is_told_to_nobody() {
    let mut bench = with(Bench::in_turn(), HookEvent::Stop);
    for _ in 0..=STOP_ROUNDS_MAX {
        let started = bench.due(vec![]);
        bench.add_all(started.entries).unwrap();
        done(&mut bench);
        answers(&mut bench, Verdict::Block, Changes::default());
    }
    assert!(bench.session.heard.is_empty(), "{:?}", bench.session.heard);
}

/// R13, R14: turn after turn that comes to nothing adds contexts; a step is given only so many bytes of them.
#[test]
fn contexts_that_pile_up_are_bounded() {
    let mut bench = with(Bench::in_turn(), HookEvent::UserPromptSubmit);
    let piled = (0..300u64).map(|n| Heard { order: (0, n, 0), text: format!("{n:>10000}") });
    bench.session.heard = piled.collect();
    bench.session.turn.as_mut().expect("it is open").prompts.insert((1, ADDED));
    let due = bench.due(vec![]);
    let Fact::StepStarted(started) = &due.entries[0].fact else { panic!("{due:?}") };
    let contexts = &started.input.contexts;
    let kept = CONTEXTS_BYTES_MAX / 10_000;
    assert_eq!(contexts.len(), kept + 1);
    assert_eq!(contexts[0], format!("({} older contexts of hooks are left out)", 300 - kept));
    assert!(contexts[kept].ends_with("299"));
}

/// A hook on a request of the harness is heard with the next step: the request's answer has no room for it.
#[test]
fn a_context_on_a_request_is_for_the_next_step() {
    for (mut bench, heard) in [(Bench::in_step(), 1), (Bench::requested("send", &[GUARD]), 0)] {
        let bound = bound("send");
        let start = bench.record(USE, hook_started(GUARD, bound)).unwrap();
        let context = Some("be brief".to_owned());
        bench.record(USE, HookVerdict { context, ..verdict(start, GUARD, Verdict::None, bound) }).unwrap();
        assert_eq!(bench.session.heard.len(), heard);
    }
}

/// hooks.md: `end_turn` beats everything; until the turn's end is written, nothing of it starts any more.
#[test]
fn nothing_starts_once_a_hook_ends_the_turn() {
    let mut bench = Bench::requested("send", &[GUARD]);
    let start = bench.record(USE, hook_started(GUARD, bound("send"))).unwrap();
    let changes = Changes { end_turn: Some("enough".into()), ..Changes::default() };
    let body = HookVerdict { changes, ..verdict(start, GUARD, Verdict::Allow, bound("send")) };
    let seq = bench.record(USE, body).unwrap();
    let next = Place { ordinal: 2, ..USE };
    let model = model_started();
    let say = AgentMessage::new(vec![Part::text("still here")]);
    for (place, fact) in [
        (USE, Fact::from(tool_started("send", vec![seq]))),
        (next, hook_started(GUARD, bound("send")).into()),
        (next, model.into()),
        (next, say.into()),
    ] {
        let refused = Refusal::Rule("a hook ends the turn; nothing of it starts any more");
        assert_eq!(bench.clone().record(place, fact), Err(refused));
    }
    assert_eq!(kinds(&bench.due(vec![])), ["step.aborted", "turn.interrupted"]);
}

/// A guard that never runs is worse than none.
#[test]
fn a_session_has_no_hooks_on_what_nothing_sets_off() {
    let mut created = pins::created();
    created.hooks[0].event = HookEvent::PreCompact;
    let input = rewake_core::decide::Input::Create(Box::new(created));
    let refused = decide(&rewake_core::Session::new(pins::session()), input).unwrap_err();
    assert_eq!(refused, Refusal::Rule("a hook must be on an event that something sets off"));
}
