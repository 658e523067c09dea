//! What is due when (R10, R13): nothing before what a turn waits for is there, nothing while a guest runs, and
//! nothing for ever.

use rewake_core::Refusal;
use rewake_core::decide;
use rewake_core::decide::{Advance, Decision, Input, Then};
use rewake_core::entry::Draft;
use rewake_core::fact::{
    CallRetried, Fact, LogLines, Lost, Next, Question, SessionFailed, SessionStopped, StepRerun, ToolLost,
};
use rewake_core::ids::{Digest, Timestamp};
use rewake_core::limits::{CRASHED_LOADS_MAX, RERUNS_MAX, TURN_STEPS_MAX};
use rewake_wire::Status;

use crate::bench::{Bench, STEP, USE, advance, kinds, message};
use rewake_core::command::{Command, Row};
use rewake_core::entry::Place;

fn waits(until: Option<i64>, on_message: bool) -> Bench {
    let mut bench = Bench::in_step();
    bench.ends(Next::Wait { until: until.map(Timestamp), on_message });
    bench
}

fn asks() -> Bench {
    asks_of(&["q"])
}

fn asks_of(ids: &[&str]) -> Bench {
    let question = |id: &&str| Question { id: (*id).into(), text: "?".into(), choices: vec![], schema: None };
    let mut bench = Bench::in_step();
    bench.ends(Next::Ask(ids.iter().map(question).collect()));
    bench
}

fn answered() -> Bench {
    let mut bench = asks();
    let due = bench.due(vec![Command::Answer { question: "q".into(), value: "1".into() }]);
    bench.add_all(due.entries).unwrap();
    bench
}

fn idles(due: Decision, until: Option<i64>) {
    assert_eq!(due, Decision { then: Then::Idle(until.map(Timestamp)), ..Decision::default() });
}

fn failed(entries: &[Draft], code: &str) -> bool {
    matches!(&entries.last().expect("something is due").fact, Fact::TurnFailed(body) if body.code == code)
}

#[test]
fn a_wait_for_a_time_ends_when_it_is_there_and_not_by_a_message() {
    let bench = waits(Some(2_000), false);
    idles(bench.due_at(1_000, vec![]), Some(2_000));
    idles(bench.due_at(1_999, vec![message(2)]), Some(2_000));
    assert_eq!(kinds(&bench.due_at(2_000, vec![]).entries), ["step.started"]);
}

#[test]
fn a_wait_for_a_message_ends_by_one_that_is_not_taken_yet() {
    for until in [None, Some(2_000)] {
        let mut bench = waits(until, true);
        idles(bench.due_at(1_000, vec![message(1)]), until);
        let steered = bench.due_at(1_000, vec![message(2), message(3)]).entries;
        assert_eq!(kinds(&steered), ["user.message", "user.message", "turn.steered"]);
        assert!(matches!(&steered[2].fact, Fact::TurnSteered(body) if body.commands == [2, 3]));
        bench.add_all(steered).unwrap();
        let started = bench.due_at(1_000, vec![]).entries;
        let Fact::StepStarted(body) = &started[0].fact else { panic!("{started:?}") };
        assert_eq!(body.input.messages.iter().map(|one| one.n).collect::<Vec<_>>(), [2, 3]);
    }
    assert_eq!(kinds(&waits(Some(2_000), true).due_at(2_000, vec![]).entries), ["step.started"]);
}

#[test]
fn a_turn_that_asked_goes_on_when_all_is_answered() {
    idles(asks().due_at(9_000, vec![message(2)]), None);
    assert_eq!(kinds(&answered().due_at(1_000, vec![]).entries), ["step.started"]);
    let mut bench = asks_of(&["q", "r"]);
    let due = bench.due(vec![Command::Answer { question: "q".into(), value: "1".into() }]);
    bench.add_all(due.entries).unwrap();
    idles(bench.due_at(1_000, vec![]), None);
    assert_eq!(bench.session.status(), Status::Awaiting);
}

/// Hooks of a load that only waits are asked when it goes on.
#[test]
fn no_hook_is_asked_before_there_is_something_to_do() {
    let mut bench = waits(Some(2_000), false);
    bench.load();
    idles(bench.due_at(1_999, vec![]), Some(2_000));
    assert!(matches!(bench.due_at(2_000, vec![]).then, Then::Fire(_)));
}

#[test]
fn nothing_is_begun_while_a_guest_runs() {
    let mut stopped = Bench::loaded();
    stopped.add(Place::default(), SessionStopped { reason: String::new() }).unwrap();
    for bench in [Bench::loaded(), Bench::in_turn(), Bench::in_step(), waits(None, true), stopped] {
        let running = Advance { running: true, ..advance(9_000, vec![message(2)]) };
        idles(decide(&bench.session, Input::Advance(running)).unwrap(), None);
    }
}

/// A call is open within a step, or while a hook is asked. In a journal that somebody put together one may be open that
/// nobody closes: nothing is decided over it, neither the turn's end nor another step.
#[test]
fn a_turn_does_not_go_on_over_a_call_that_nobody_closes() {
    let mut bench = waits(Some(1), false);
    assert!(matches!(bench.due_at(9_000, vec![]).entries[..], [Draft { fact: Fact::StepStarted(_), .. }]));
    bench.session.calls = Bench::asking().0.session.calls;
    let refused = decide(&bench.session, Input::Advance(advance(9_000, vec![])));
    assert_eq!(refused, Err(Refusal::Rule("the turn cannot go on while a call is open that is no step's")));
}

#[test]
fn a_step_that_was_just_begun_is_run_and_another_is_begun_again() {
    let bench = Bench::in_step();
    let ready = Advance { ready: true, ..advance(1_000, vec![]) };
    let due = decide(&bench.session, Input::Advance(ready)).unwrap();
    assert_eq!(due, Decision { then: Then::RunStep, ..Decision::default() });
    for (progressed, excused, reruns, again) in [
        (true, false, RERUNS_MAX, Some(1)),
        (true, true, 2, Some(1)),
        (false, true, RERUNS_MAX, Some(RERUNS_MAX)),
        (false, false, 1, Some(2)),
        (false, false, RERUNS_MAX - 1, Some(RERUNS_MAX)),
        (false, false, RERUNS_MAX, None),
    ] {
        let mut bench = bench.clone();
        let step = bench.session.turn.as_mut().and_then(|turn| turn.step.as_mut()).expect("it is open");
        (step.progressed, step.excused, step.reruns) = (progressed, excused, reruns);
        let due = bench.due_at(1_000, vec![]).entries;
        match again {
            Some(again) => {
                assert!(matches!(&due[..], [one] if one.place == STEP));
                assert!(matches!(&due[0].fact, Fact::StepRerun(body) if body.again == again), "{due:?}");
            }
            None => assert!(failed(&due, "reruns"), "{due:?}"),
        }
    }
}

/// R5: attempts and diagnostics may be left by every run of a step that gets no further.
#[test]
fn only_what_a_replay_claims_is_progress() {
    let progressed = |bench: &Bench| bench.session.open_step().is_some_and(|(_, step)| step.progressed);
    let (mut bench, start) = Bench::started("put");
    assert!(progressed(&bench));
    bench.add(STEP, StepRerun { again: 1 }).unwrap();
    bench.record(USE, CallRetried::again(start, 1)).unwrap();
    let lines = LogLines { component: "laws/agent:loop".into(), lines: vec![], dropped: 0 };
    bench.record(STEP, lines).unwrap();
    assert!(!progressed(&bench));
    bench.record(USE, ToolLost { start, why: Lost::Limit }).unwrap();
    assert!(progressed(&bench));
}

#[test]
fn a_turn_has_so_many_steps_and_each_its_own_seed() {
    let mut bench = Bench::in_step();
    bench.ends(Next::More);
    let mut seeds = Vec::new();
    for steps in [1, 2, TURN_STEPS_MAX - 1] {
        bench.session.turn.as_mut().expect("it is open").steps = steps;
        let due = bench.due_at(1_000, vec![]).entries;
        let Fact::StepStarted(body) = &due[0].fact else { panic!("{due:?}") };
        assert_eq!((due[0].place, body.component), (Place::step(1, steps + 1), Digest::of(b"loop")));
        assert!(!seeds.contains(&body.seed));
        seeds.push(body.seed);
    }
    bench.session.turn.as_mut().expect("it is open").steps = TURN_STEPS_MAX;
    assert!(failed(&bench.due_at(1_000, vec![]).entries, "steps"));
}

/// `N-F3`: every harness has the number of steps that its session pins, and never more than the host allows.
#[test]
fn a_turn_has_the_steps_that_its_session_pins() {
    for (pinned, may) in
        [(Some(1), 1), (Some(3), 3), (Some(u32::MAX), TURN_STEPS_MAX), (None, TURN_STEPS_MAX)]
    {
        let mut bench = Bench::in_step();
        bench.session.created.as_mut().expect("it is created").agent.max_steps = pinned;
        bench.ends(Next::More);
        for (steps, fails) in [(may - 1, false), (may, true)] {
            bench.session.turn.as_mut().expect("it is open").steps = steps;
            let due = bench.due_at(1_000, vec![]).entries;
            assert_eq!(
                due.iter().any(|draft| matches!(draft.fact, Fact::TurnFailed(_))),
                fails,
                "{pinned:?}"
            );
        }
    }
}

/// R5: a turn whose loads come to nothing is given up, and only loads that had something to do are counted.
#[test]
fn loads_that_come_to_no_step_are_bounded() {
    let mut bench = Bench::in_turn();
    for load in 1..=CRASHED_LOADS_MAX {
        bench.load();
        assert_eq!(bench.session.load.crashed, load);
        assert!(matches!(bench.due_at(1_000, vec![]).then, Then::Fire(_)));
    }
    bench.load();
    assert!(failed(&bench.due_at(1_000, vec![]).entries, "loads"));

    let later = |until, on_message| waits(Some(until), on_message);
    for (mut bench, counts) in [
        (Bench::loaded(), 0),
        (Bench::in_step(), 1),
        (asks(), 0),
        (answered(), 1),
        (later(1_001, false), 0),
        (later(1_000, false), 1),
        (later(1_001, true), 1),
        (waits(None, true), 1),
    ] {
        bench.load();
        assert_eq!(bench.session.load.crashed, counts, "{:?}", bench.session.turn);
    }
}

#[test]
fn what_is_let_go_of_in_good_order_does_not_count() {
    let (mut bench, start) = Bench::started("put");
    bench.load();
    assert_eq!(bench.session.load.crashed, 1);
    let due = decide(&bench.session, Input::Unload { why: "idle".into() }).unwrap();
    assert_eq!((kinds(&due.entries), &due.then), (vec!["session.unloaded"], &Then::Ended));
    bench.add_all(due.entries).unwrap();
    let (_, step) = bench.session.open_step().expect("a step is open");
    assert_eq!((step.excused, bench.session.calls[&start].excused), (true, true));
    assert_eq!(bench.session.load.crashed, 0);
}

/// A06, C21, C27, C29: the status is derived from the entries.
#[test]
fn a_status_follows_from_the_entries() {
    let mut done = Bench::in_step();
    done.ends(Next::Done);
    let (mut stopped, mut ruined) = (Bench::in_turn(), Bench::in_turn());
    stopped.add(Place::default(), SessionStopped { reason: String::new() }).unwrap();
    ruined.add(Place::default(), SessionFailed { code: "x".into(), detail: String::new() }).unwrap();
    for (bench, status) in [
        (Bench::loaded(), Status::Queued),
        (Bench::in_turn(), Status::Running),
        (Bench::in_step(), Status::Running),
        (waits(Some(2_000), false), Status::Awaiting),
        (asks(), Status::Awaiting),
        (answered(), Status::Running),
        (done, Status::Awaiting),
        (stopped, Status::Stopped),
        (ruined, Status::Failed),
    ] {
        assert_eq!(bench.session.status(), status);
    }
}

/// A control that was accepted already is none of what is due.
#[test]
fn a_row_that_is_taken_sets_nothing_off() {
    let mut bench = Bench::in_turn();
    let interrupt = Command::Interrupt { turn: 1 };
    let due = bench.due(vec![interrupt.clone()]);
    bench.add_all(due.entries).unwrap();
    let row = Row { command: interrupt, ..message(2) };
    idles(bench.due_at(1_000, vec![message(1), row]), None);
}
