//! Replay: what is recorded is handed out by position and by content, and a mismatch says where, what was
//! recorded and what came instead.

use std::sync::Arc;

use rewake_core::codec::{Seal, seal};
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::error::Mismatch;
use rewake_core::fact::{
    AgentMessage, Custom, Fact, LogLines, Lost, ModelLost, ModelStarted, Observed, StepObserved,
    ToolsRequested,
};
use rewake_core::ids::{Digest, Head, Timestamp};
use rewake_core::money::Usd;
use rewake_core::replay::Replay;

use crate::bench::STEP;
use crate::pins;

/// A step that read two clocks, asked a model, said something, read a clock, and asked for tools.
fn recorded() -> Vec<Arc<Entry>> {
    let wall = |ns| Observed::Wall(ns, 0);
    let facts: Vec<(u32, Fact)> = vec![
        (0, StepObserved { items: vec![wall(1), Observed::Monotonic(2)] }.into()),
        (
            1,
            ModelStarted {
                model: "scripted".into(),
                request: Digest::of(b"r"),
                messages: 1,
                provider: None,
                stored: None,
                reserved: Usd::ZERO,
            }
            .into(),
        ),
        (1, ModelLost::new(2, Lost::Limit).into()),
        (0, LogLines { component: "laws/agent:loop".into(), lines: vec![], dropped: 0 }.into()),
        (2, AgentMessage::new(vec![]).into()),
        (2, StepObserved { items: vec![wall(3)] }.into()),
        (3, ToolsRequested { uses: vec![] }.into()),
    ];
    let mut head = Head::default();
    let mut entries = Vec::new();
    for (ordinal, fact) in facts {
        let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
        let draft = Draft::system(Place { ordinal, ..STEP }, fact);
        let (entry, _) = seal(&pins::session(), head, terms, draft).unwrap();
        head = Head { seq: entry.seq, hash: entry.hash };
        entries.push(Arc::new(entry));
    }
    entries
}

/// What a guest asks for, in order.
#[derive(Clone, Copy)]
enum Ask {
    Observe(u32, &'static str),
    Call(u32, &'static str),
    Finish,
}
use Ask::{Call, Finish, Observe};

const WALL: &str = "wall-clock.now";
const MONOTONIC: &str = "monotonic-clock.now";
const MODEL: &str = "model.complete";
const SAY: &str = "session.say";
const TITLE: &str = "session.set-title";
const TOOLS: &str = "tools.call";

/// All that is recorded, in its order.
const ALL: [Ask; 6] =
    [Observe(0, WALL), Observe(0, MONOTONIC), Call(1, MODEL), Call(2, SAY), Observe(2, WALL), Call(3, TOOLS)];

/// Claims what is asked for; false where it is live.
fn claim(replay: &mut Replay, ask: Ask) -> Result<bool, Mismatch> {
    match ask {
        Observe(ordinal, function) => Ok(replay.observe(ordinal, function)?.is_some()),
        Call(ordinal, function) => Ok(replay.call(ordinal, function)?.is_some()),
        Finish => replay.unclaimed().map(|()| false),
    }
}

#[test]
fn what_is_recorded_is_handed_out_and_then_the_step_is_live() {
    let mut replay = Replay::new(&recorded());
    for ask in ALL {
        assert!(!replay.is_over());
        assert_eq!(claim(&mut replay, ask), Ok(true));
    }
    assert!(replay.is_over());
    replay.unclaimed().unwrap();
    for ask in [Observe(3, MONOTONIC), Call(4, SAY), Finish] {
        assert_eq!(claim(&mut replay, ask), Ok(false), "nothing is recorded of it");
    }
}

/// A difference inside of an observation is told by the entry that holds it.
#[test]
fn the_entry_of_what_was_observed_last_is_known() {
    let mut replay = Replay::new(&recorded());
    assert_eq!(replay.claimed_seq(), 0);
    let seqs = ALL.map(|ask| {
        claim(&mut replay, ask).unwrap();
        replay.claimed_seq()
    });
    assert_eq!(seqs, [1, 1, 1, 1, 6, 6]);
    claim(&mut replay, Observe(3, WALL)).unwrap();
    assert_eq!(replay.claimed_seq(), 6, "what is live is in no entry yet");
}

#[test]
fn a_call_comes_with_all_that_is_recorded_of_it() {
    let mut replay = Replay::new(&recorded()[1..]);
    let model = replay.call(1, MODEL).unwrap().unwrap();
    assert_eq!((model.seq(), model.function()), (2, MODEL));
    assert_eq!(model.started(0).map(|entry| entry.seq), Some(2));
    assert_eq!(model.ended(0).map(|entry| entry.seq), Some(3));
    assert!(model.ended(1).is_none() && model.asked(0, 0).is_none() && model.judged(0, 0).is_none());
}

/// After the first `claimed` of what is recorded the guest asks for something else.
#[track_caller]
fn mismatch(claimed: usize, ask: Ask, seq: u64, expected: &str, got: &str, field: &str) {
    let mut replay = Replay::new(&recorded());
    for ask in &ALL[..claimed] {
        assert_eq!(claim(&mut replay, *ask), Ok(true));
    }
    let expected = Mismatch { seq, expected: expected.into(), got: got.into(), field: field.into() };
    assert_eq!(claim(&mut replay, ask), Err(expected));
}

#[test]
fn another_function_is_a_mismatch() {
    mismatch(3, Call(2, TITLE), 5, "session.say as call 2", "session.set-title as call 2", "function");
    mismatch(5, Call(3, "session.emit"), 7, "tools.call as call 3", "session.emit as call 3", "function");
    mismatch(4, Observe(2, "poll"), 6, "wall-clock.now after call 2", "poll after call 2", "function");
}

#[test]
fn another_order_is_a_mismatch() {
    let (wall, monotonic) = ("wall-clock.now after call 0", "monotonic-clock.now after call 0");
    mismatch(0, Observe(0, MONOTONIC), 1, wall, monotonic, "function");
    mismatch(2, Call(1, SAY), 2, "model.complete as call 1", "session.say as call 1", "function");
    mismatch(
        3,
        Observe(1, WALL),
        6,
        "wall-clock.now after call 2",
        "wall-clock.now after call 1",
        "position",
    );
}

#[test]
fn a_missing_observation_is_a_mismatch() {
    mismatch(0, Call(1, MODEL), 1, "wall-clock.now after call 0", "model.complete as call 1", "function");
    mismatch(
        1,
        Call(1, MODEL),
        1,
        "monotonic-clock.now after call 0",
        "model.complete as call 1",
        "function",
    );
    mismatch(4, Call(3, TOOLS), 6, "wall-clock.now after call 2", "tools.call as call 3", "function");
    mismatch(4, Finish, 6, "wall-clock.now after call 2", "the end of the step", "function");
}

#[test]
fn an_observation_too_many_is_a_mismatch() {
    mismatch(
        2,
        Observe(0, WALL),
        6,
        "wall-clock.now after call 2",
        "wall-clock.now after call 0",
        "position",
    );
    mismatch(5, Observe(2, WALL), 7, "tools.call as call 3", "wall-clock.now after call 2", "function");
}

#[test]
fn what_is_left_unclaimed_at_the_end_is_a_mismatch() {
    mismatch(0, Finish, 1, "wall-clock.now after call 0", "the end of the step", "function");
    mismatch(5, Finish, 7, "tools.call as call 3", "the end of the step", "function");
}

#[test]
fn a_call_that_is_not_recorded_before_one_that_is_is_a_mismatch() {
    let entries: Vec<_> = recorded().into_iter().filter(|entry| entry.place.ordinal == 3).collect();
    let mut replay = Replay::new(&entries);
    let error = replay.call(1, MODEL).unwrap_err();
    let text = "entry 7: recorded tools.call as call 3, but the harness now asked for model.complete as call 1 \
                (first difference: position)";
    assert_eq!(error.to_string(), text);
    let fault = error.fault("0.1.0");
    assert_eq!((fault.reason.as_str(), fault.seq, fault.field.as_str()), ("mismatch", Some(7), "position"));
    assert!(replay.unclaimed().is_err(), "a mismatch claims nothing");
}

#[test]
fn markers_are_told_apart_by_their_function() {
    let custom = Fact::from(Custom { kind: "custom.note".into(), data: serde_json::json!(1) });
    let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
    let draft = Draft::agent(Place { ordinal: 1, ..STEP }, custom);
    let (entry, _) = seal(&pins::session(), Head::default(), terms, draft).unwrap();
    let mut replay = Replay::new(&[Arc::new(entry.clone())]);
    assert_eq!(replay.call(1, "session.emit").unwrap().unwrap().first().map(AsRef::as_ref), Some(&entry));
}
