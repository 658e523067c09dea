//! What hooks decide of prompts, of a turn's end and through people, each rule at a bench: no host, no guest.

use rewake_core::command::Command;
use rewake_core::decide::{Decision as Due, StepEnd, StepOutcome, Then};
use rewake_core::entry::Place;
use rewake_core::fact::{
    Asker, Changes, Decision as Verdict, Fact, HookEvent, HookPin, HookVerdict, Next, OnError, QuestionAsked,
    TurnWaiting, WaitOn,
};
use rewake_core::firing::{Firing, Occasion};
use rewake_core::limits::STOP_ROUNDS_MAX;
use rewake_core::{ALLOW, CHOICES, Refusal, decide};

use crate::bench::{Bench, STEP, USE, bound, hook_started, tool_started, verdict};
use crate::pins::GUARD;

/// The hook that these tests add to the pins.
const ADDED: u32 = 5;

/// A bench whose session has one more hook.
fn with(mut bench: Bench, event: HookEvent) -> Bench {
    let created = bench.session.created.as_mut().expect("it is created");
    let (matcher, on_error) = (String::new(), OnError::Deny);
    created.hooks.push(HookPin { component: 2, event, matcher, on_error, timeout_ms: 1, rewrites: false });
    bench.session.load.stepped = true;
    bench
}

fn fired(due: Due) -> Vec<Firing> {
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

fn done(bench: &mut Bench) {
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
        let question = QuestionAsked {
            id: "ask-1-1-1-0".into(),
            text: "May it?".into(),
            choices: CHOICES.map(str::to_owned).to_vec(),
            schema: None,
            by: Asker::Hook(GUARD),
        };
        let waits = TurnWaiting { on: WaitOn::Answers(vec![question.id.clone()]) };
        assert!(bench.clone().record(Place::turn(1), waits.clone()).is_err(), "nothing is asked yet");
        bench.record(USE, question.clone()).unwrap();
        assert!(bench.clone().record(USE, question.clone()).is_err(), "it is asked once");
        bench.record(Place::turn(1), waits).unwrap();
        assert_eq!(bench.due(vec![]).then, Then::Idle(None), "the step is not run meanwhile");
        let answer = Command::Answer { question: question.id, value: value.into() };
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
