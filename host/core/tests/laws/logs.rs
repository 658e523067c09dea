//! Diagnostics: what a turn keeps of them is bounded, however many guests say them, and the rest is counted.

use rewake_core::decide::{Input, StepEnd, StepOutcome, decide};
use rewake_core::entry::Place;
use rewake_core::fact::{Fact, LogLevel, LogLine, LogLines, Next};
use rewake_core::limits::{LOG_TURN_BYTES_MAX, LOG_TURN_LINES_MAX};

use crate::bench::{Bench, STEP, USE, refused};

fn lines(count: usize, bytes: usize) -> LogLines {
    let line = LogLine { level: LogLevel::Info, text: "x".repeat(bytes) };
    LogLines { component: "laws/agent:loop".into(), lines: vec![line; count], dropped: 1 }
}

/// What the journal keeps of lines that are said at a place: how many, and how many it says were dropped.
fn kept(bench: &mut Bench, place: Place, said: LogLines) -> (usize, u64) {
    bench.record(place, said).expect("diagnostics are never refused");
    let (_, step) = bench.session.open_step().expect("a step is open");
    match &step.entries.last().expect("an entry of it").fact {
        Fact::LogLines(kept) => (kept.lines.len(), kept.dropped),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_lines_of_a_turn_are_bounded() {
    let mut bench = Bench::in_step();
    assert_eq!(kept(&mut bench, STEP, lines(LOG_TURN_LINES_MAX - 2, 1)), (LOG_TURN_LINES_MAX - 2, 1));
    assert_eq!(kept(&mut bench, USE, lines(5, 1)), (2, 4));
    assert_eq!(kept(&mut bench, USE, lines(5, 1)), (0, 6));
}

#[test]
fn the_bytes_of_a_turn_are_bounded() {
    let mut bench = Bench::in_step();
    assert_eq!(kept(&mut bench, USE, lines(3, LOG_TURN_BYTES_MAX / 2)), (2, 2));
    assert_eq!(kept(&mut bench, USE, lines(1, 1)), (0, 2));
}

/// What a step says at its end counts with it, and the next turn has room again.
#[test]
fn a_step_s_end_counts_and_another_turn_does_not() {
    let mut bench = Bench::in_step();
    kept(&mut bench, USE, lines(LOG_TURN_LINES_MAX - 1, 1));
    let outcome = StepOutcome::Completed { next: Next::Done, state: None, calls: Default::default() };
    let logs = Some(lines(3, 1));
    let end = StepEnd { outcome, ordinal: 0, observed: vec![], logs, rows: vec![] };
    let ended = decide(&bench.session, Input::StepEnd(end)).expect("it ends");
    let said = ended.entries.iter().find_map(|draft| match &draft.fact {
        Fact::LogLines(said) => Some((said.lines.len(), said.dropped)),
        _ => None,
    });
    assert_eq!(said, Some((1, 3)));
    // Lines that belong to no open turn, such as a hook's at the session's end, are not of its count.
    let at = Place::default();
    let before = bench.session.turn.as_ref().map(|turn| turn.logged);
    bench.record(at, lines(3, 1)).expect("diagnostics are never refused");
    assert_eq!(bench.session.turn.as_ref().map(|turn| turn.logged), before);
}

#[test]
fn lines_of_a_step_that_is_not_open_are_refused() {
    let bench = Bench::in_step();
    refused(&bench, Place::step(1, 2), lines(1, 1), "it belongs to a step that is not open");
}
