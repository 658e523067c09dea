//! Journals that cannot be: each thing that folding refuses, provoked past the gate.

use rewake_core::codec::{Seal, seal};
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    Asker, CallRetried, Ending, Fact, HookEvent, HookStarted, Lost, ModelCompleted, ModelLost, ModelOutcome,
    Next, Observed, Question, QuestionAsked, QuestionWithdrawn, SessionFailed, SessionStopped, StateRef,
    StepAborted, StepCompleted, StepObserved, StepRerun, StepStarted, ToolLost, TurnCompleted, TurnFailed,
    TurnInterrupted, TurnStarted, TurnSteered, UserAnswer, UserMessage, UserStop,
};
use rewake_core::ids::{Digest, Head, Timestamp};
use rewake_core::money::Usd;
use rewake_core::{Corrupt, Session, fold};
use rewake_wire::{Sender, Usage};

use crate::bench::{Bench, STEP, USE, bound, hook_started, model_started, tool_started, verdict};
use crate::pins::{self, ADVISER, GREETER, GUARD};

/// Folding the fact stops the session at its entry, and says why.
pub(crate) fn corrupt(bench: &Bench, place: Place, fact: impl Into<Fact>, why: &str) {
    let fact = fact.into();
    let kind = fact.kind().to_owned();
    let at = bench.session.head.seq + 1;
    let got = bench.clone().add(place, fact).unwrap_err();
    assert_eq!(got, Corrupt::at(at, format!("{kind}: {why}")));
}

fn entry(session: &Session, place: Place, fact: impl Into<Fact>) -> Entry {
    let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
    seal(&pins::session(), session.head, terms, Draft::system(place, fact)).unwrap().0
}

fn turn_completed() -> TurnCompleted {
    TurnCompleted { steps: 1, ..TurnCompleted::default() }
}

fn step_completed() -> StepCompleted {
    StepCompleted { next: Next::More, state: None, calls: Default::default() }
}

fn asked(id: &str) -> QuestionAsked {
    let question = Question { id: id.into(), text: "?".into(), choices: vec![], schema: None };
    QuestionAsked { question, by: Asker::Harness }
}

#[test]
fn entries_follow_one_another() {
    let bench = Bench::in_step();
    let good = entry(&bench.session, USE, TurnSteered { commands: vec![] });
    let mut session = bench.session.clone();
    session.apply(&good).unwrap();
    let head = bench.session.head.seq;
    for bad in [
        Entry { seq: head, ..good.clone() },
        Entry { seq: head + 2, ..good.clone() },
        Entry { seq: 0, ..good.clone() },
        Entry { prev_hash: Digest::of(b"another"), ..good.clone() },
        Entry { prev_hash: Digest::default(), ..good.clone() },
    ] {
        let error = bench.session.clone().apply(&bad).unwrap_err();
        assert_eq!(error, Corrupt::at(bad.seq, format!("does not follow entry {head}")));
    }
    let error = session.apply(&good).unwrap_err();
    assert_eq!(error.seq, good.seq, "an entry is folded once");
    let mut shared = bench.session.clone();
    let good = std::sync::Arc::new(good);
    shared.apply_shared(&good).unwrap();
    assert_eq!(shared, session, "an entry that others hold too is folded alike");
    assert!(shared.apply_shared(&good).is_err());
}

#[test]
fn a_session_is_created_by_its_first_entry_and_once() {
    let empty = Session::new(pins::session());
    let first = entry(&empty, Place::turn(1), TurnStarted { commands: vec![] });
    let error = fold(pins::session(), [&first]).unwrap_err();
    assert_eq!(error, Corrupt::at(1, "turn.started: the session was not created before"));
    corrupt(&Bench::loaded(), Place::default(), pins::created(), "the session was created before");
}

#[test]
fn a_row_is_taken_once() {
    let bench = Bench::in_step();
    let taken = "its inbox row was accepted before";
    let sender = Sender::System;
    corrupt(&bench, STEP, UserMessage { n: 1, sender: sender.clone(), parts: vec![] }, taken);
    corrupt(&bench, STEP, UserStop { n: 1, sender: sender.clone(), reason: String::new() }, taken);
    let answer = UserAnswer { n: 2, sender, question: "q".into(), value: "1".into() };
    corrupt(&bench, STEP, answer, "its question is not open");
}

#[test]
fn turns_are_numbered_and_one_at_a_time() {
    let started = || TurnStarted { commands: vec![] };
    let gap = "turns are numbered without gaps";
    corrupt(&Bench::loaded(), Place::turn(2), started(), gap);
    corrupt(&Bench::loaded(), Place::turn(0), started(), gap);
    corrupt(&Bench::in_turn(), Place::turn(2), started(), "another turn is open");
    let none = "no turn is open";
    let loaded = Bench::loaded();
    corrupt(&loaded, Place::turn(1), turn_completed(), none);
    corrupt(&loaded, Place::turn(1), TurnInterrupted::default(), none);
    corrupt(&loaded, Place::turn(1), TurnSteered { commands: vec![] }, none);
    corrupt(&loaded, Place::turn(1), asked("q"), none);
    let mut ended = Bench::loaded();
    ended.add(Place::default(), SessionStopped { reason: String::new() }).unwrap();
    corrupt(&ended, Place::turn(1), started(), "the session has ended");
}

#[test]
fn a_session_ends_once() {
    let ends: [Fact; 2] = [
        SessionStopped { reason: String::new() }.into(),
        SessionFailed { code: "x".into(), detail: String::new() }.into(),
    ];
    for first in &ends {
        let mut bench = Bench::loaded();
        bench.add(Place::default(), first.clone()).unwrap();
        for second in &ends {
            corrupt(&bench, Place::default(), second.clone(), "the session has ended before");
        }
    }
}

#[test]
fn a_turn_ends_with_nothing_open() {
    let place = Place::turn(1);
    corrupt(&Bench::in_turn(), Place::turn(2), turn_completed(), "another turn is open");
    corrupt(&Bench::in_step(), place, turn_completed(), "its step is still open");
    let (mut bench, _) = Bench::asking();
    bench.add(STEP, StepAborted { how: Ending::Failed, detail: String::new() }).unwrap();
    corrupt(&bench, place, turn_completed(), "a call of it is still open");
    let mut bench = Bench::in_turn();
    bench.add(place, asked("q")).unwrap();
    let open = "a question of it is still open";
    corrupt(&bench, place, turn_completed(), open);
    let failed = TurnFailed {
        scope: rewake_core::fact::Scope::Turn,
        code: "x".into(),
        detail: String::new(),
        usage: Usage::default(),
        cost: Usd::ZERO,
        pending: 0,
    };
    corrupt(&bench, place, failed, open);
    bench.add(place, QuestionWithdrawn { id: "q".into() }).unwrap();
    bench.add(place, turn_completed()).unwrap();
    corrupt(&bench, place, turn_completed(), "no turn is open");
}

#[test]
fn steps_are_numbered_one_at_a_time_and_start_from_what_was_saved() {
    let gap = "steps are numbered without gaps";
    let bench = Bench::in_turn();
    let started = bench.step_started();
    for place in [Place::step(1, 2), Place::step(1, 0), Place::step(2, 1), USE] {
        corrupt(&bench, place, started.clone(), gap);
    }
    let state = Some(StateRef { version: 1, digest: Digest::of(b"never saved") });
    let other = StepStarted { state, ..started.clone() };
    corrupt(&bench, STEP, other, "it starts from another state than the last completed step saved");
    corrupt(&Bench::in_step(), Place::step(1, 2), started.clone(), "another step is open");
    let mut ended = Bench::in_turn();
    ended.add(Place::default(), SessionStopped { reason: String::new() }).unwrap();
    corrupt(&ended, STEP, started, "the session has ended");

    let none = "no step is open";
    corrupt(&bench, STEP, step_completed(), none);
    corrupt(&bench, STEP, StepAborted { how: Ending::Failed, detail: String::new() }, none);
    corrupt(&bench, STEP, StepRerun { again: 1 }, none);
    corrupt(&bench, STEP, StepObserved { items: vec![Observed::Monotonic(1)] }, none);
    corrupt(&Bench::asking().0, STEP, step_completed(), "a call of it is still open");
    let mut rerun = Bench::in_step();
    for again in [2, u32::MAX] {
        corrupt(&rerun, STEP, StepRerun { again }, "re-runs are numbered without gaps");
    }
    for again in [0, 1, 2, 1] {
        rerun.add(STEP, StepRerun { again }).unwrap();
    }
}

#[test]
fn calls_belong_to_the_open_step() {
    corrupt(&Bench::in_turn(), USE, model_started(), "no step is open");
    let bench = Bench::in_step();
    corrupt(&bench, Place { step: 2, ..USE }, model_started(), "it belongs to another step");
    corrupt(&bench, Place { turn: 2, ..USE }, tool_started("put", vec![]), "it belongs to another step");
}

#[test]
fn a_call_ends_once_and_as_what_it_is() {
    let (mut bench, start) = Bench::started("put");
    let unknown = "it has no start, or ended before";
    let other = "its start is of another kind";
    let lost = |start| ToolLost { start, why: Lost::Host };
    let answered = |start| ModelCompleted {
        start,
        outcome: ModelOutcome::Unavailable(String::new()),
        cost: Usd::ZERO,
        ms: 0,
    };
    corrupt(&bench, USE, lost(start + 1), unknown);
    corrupt(&bench, USE, ModelLost::new(start, Lost::Host), other);
    corrupt(&bench, USE, answered(start), other);
    bench.add(USE, lost(start)).unwrap();
    corrupt(&bench, USE, lost(start), unknown);
    let (bench, start) = Bench::asking();
    corrupt(&bench, USE, lost(start), other);
}

#[test]
fn attempts_are_numbered_and_only_of_what_may_be_repeated() {
    let (mut bench, start) = Bench::started("put");
    let gap = "attempts are numbered without gaps";
    corrupt(&bench, USE, CallRetried::again(start + 1, 1), "the call is not open");
    corrupt(&bench, USE, CallRetried::again(start, 2), gap);
    bench.add(USE, CallRetried::again(start, 1)).unwrap();
    corrupt(&bench, USE, CallRetried::again(start, 1), gap);
    let (bench, start) = Bench::started("send");
    corrupt(&bench, USE, CallRetried::again(start, 1), "the call may not be repeated");
}

#[test]
fn hooks_exist_and_answer_what_they_were_asked() {
    let mut bench = Bench::requested("put", &[GUARD]);
    let none = "the session has no such hook";
    corrupt(&bench, USE, hook_started(99, bound("put")), none);
    let event = HookEvent::SessionStart;
    corrupt(&bench, USE, HookStarted { event, ..hook_started(GUARD, bound("put")) }, none);
    corrupt(&bench, USE, hook_started(GREETER, bound("put")), none);
    let answer = |start, hook, bound| verdict(start, hook, rewake_core::fact::Decision::Allow, bound);
    corrupt(&bench, USE, answer(1, GUARD, bound("put")), "no such hook was asked");
    let start = bench.add(USE, hook_started(GUARD, bound("put"))).unwrap();
    let other = "it is bound to something else than what was asked";
    corrupt(&bench, USE, answer(start, ADVISER, bound("put")), other);
    corrupt(&bench, USE, answer(start, GUARD, bound("read")), other);
    bench.add(USE, answer(start, GUARD, bound("put"))).unwrap();
    corrupt(&bench, USE, answer(start, GUARD, bound("put")), "no such hook was asked");
}

#[test]
fn questions_are_open_once() {
    let mut bench = Bench::in_turn();
    bench.add(Place::turn(1), asked("q")).unwrap();
    corrupt(&bench, Place::turn(1), asked("q"), "a question of that id is open");
    let withdrawn = || QuestionWithdrawn { id: "other".into() };
    corrupt(&bench, Place::turn(1), withdrawn(), "the question is not open");
    let answer = |n| UserAnswer { n, sender: Sender::System, question: "q".into(), value: "1".into() };
    bench.add(Place::turn(1), answer(2)).unwrap();
    corrupt(&bench, Place::turn(1), answer(3), "its question is not open");
}

/// The session's row knows its last entry too: a journal that was cut off, or that went on without it, is found.
#[test]
fn a_journal_ends_where_its_session_s_row_says() {
    let head = |seq: u64| Head { seq, hash: Digest::of(&seq.to_le_bytes()) };
    for (read, told, what) in [
        (3, 5, "missing; the session's row says that 5 entries were appended"),
        (3, 3, "the session's row names another entry before it"),
        (3, 2, "the session's row knows of 2 entries only"),
    ] {
        assert_eq!(Corrupt::at_end(head(read), head(told)), Corrupt::at(read + 1, what));
    }
}
