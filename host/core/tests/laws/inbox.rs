//! The inbox (R1): each acknowledged row stands in exactly one entry; an interrupt ends the turn it names.

use std::collections::BTreeMap;

use rewake_core::command::{Command, Row};
use rewake_core::decide::{Input, StepEnd, StepOutcome};
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{Ending, Fact, Next, Scope, TurnSteered, UserMessage};
use rewake_core::limits::{BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, MESSAGE_BYTES_MAX};

use crate::bench::{Bench, ended};
use crate::world::World;
use rewake_core::decide;
use rewake_wire::Sender;

pub(crate) fn every_row_is_taken_once(world: &World) {
    let mut taken: BTreeMap<u64, u32> = BTreeMap::new();
    for n in world.facts().flat_map(Fact::rows) {
        *taken.entry(n).or_default() += 1;
    }
    let rows: BTreeMap<u64, u32> = world.rows.iter().map(|row| (row.n, 1)).collect();
    assert_eq!(taken, rows, "each row in exactly one entry, and no entry without its row");
}

pub(crate) fn interrupts_end_what_they_name(world: &World) {
    let mut open = None;
    let mut interrupted = None;
    for entry in &world.journal {
        match &entry.fact {
            Fact::TurnStarted(_) => open = Some(entry.place.turn),
            Fact::UserInterrupt(body) => {
                let sent = &world.rows[body.n as usize - 1].command;
                assert_eq!(sent, &Command::Interrupt { turn: body.turn });
                assert_eq!(open, Some(body.turn), "an interrupt ends the turn it names");
                interrupted = open;
            }
            Fact::UserStop(_) => interrupted = open,
            Fact::CommandPromoted(body) if body.turn.is_some() => {
                let sent = &world.rows[body.n as usize - 1].command;
                assert_eq!(sent, &Command::Promote { target: body.target, turn: body.turn });
                assert_eq!(open, body.turn, "a promotion ends the turn it names");
                interrupted = open;
            }
            Fact::CommandRejected(body) => {
                if let Command::Interrupt { turn } = &world.rows[body.n as usize - 1].command {
                    let is_stopped = interrupted.is_some() || world.view.ended.is_some();
                    assert!(open != Some(*turn) || is_stopped, "a turn's own interrupt is rejected");
                }
            }
            Fact::TurnInterrupted(_) => {
                assert_eq!(interrupted.take(), Some(entry.place.turn), "nobody interrupted the turn");
                open = None;
            }
            fact if fact.is_turn_end() => open = None,
            _ => {}
        }
    }
}

fn message(text: &str) -> Command {
    Command::Message { parts: vec![rewake_wire::Part::text(text)] }
}

fn stop() -> Command {
    Command::Stop { reason: "enough".into() }
}

/// C65: controls are accepted before messages, and a stop before all; they join no batch.
#[test]
fn controls_come_before_messages_and_a_stop_before_all() {
    for (commands, expected) in [
        (vec![message("a"), Command::Interrupt { turn: 1 }], "user.interrupt"),
        (vec![Command::Interrupt { turn: 1 }, message("a"), stop()], "user.stop"),
        (vec![message("a"), Command::Interrupt { turn: 7 }], "command.rejected"),
        (vec![Command::Answer { question: "q".into(), value: "1".into() }], "command.rejected"),
    ] {
        let mut bench = Bench::in_step();
        let decision = bench.due(commands.clone());
        assert_eq!(decision.entries[0].fact.kind(), expected, "{commands:?}");
    }
}

#[test]
fn a_stop_answers_every_row_and_ends_the_turn_last() {
    let mut bench = Bench::in_step();
    let decision = bench.due(vec![message("a"), Command::Interrupt { turn: 1 }, stop(), message("b")]);
    assert!(decision.drops_guest);
    let kinds: Vec<_> = decision.entries.iter().map(|draft| draft.fact.kind().to_owned()).collect();
    let expected = [
        "user.stop",
        "step.aborted",
        "command.rejected",
        "command.rejected",
        "command.rejected",
        "session.stopped",
        "turn.interrupted",
    ];
    assert_eq!(kinds, expected);
    bench.add_all(decision.entries).unwrap();
    let after = bench.due(vec![message("c")]);
    assert_eq!((after.entries.len(), after.then), (0, rewake_core::decide::Then::Ended));
}

#[test]
fn an_interrupt_for_an_earlier_turn_ends_nothing() {
    let mut bench = Bench::in_step();
    let decision = bench.due(vec![Command::Interrupt { turn: 1 }]);
    bench.add_all(decision.entries).unwrap();
    let opened = bench.due(vec![message("again")]);
    bench.add_all(opened.entries).unwrap();
    assert_eq!(bench.session.turn.as_ref().map(|turn| turn.number), Some(2));
    let late = bench.due(vec![Command::Interrupt { turn: 1 }]);
    assert!(!late.drops_guest);
    bench.add_all(late.entries).unwrap();
    assert_eq!(bench.session.turn.as_ref().map(|turn| turn.number), Some(2), "the second turn goes on");
}

#[test]
fn a_turn_takes_in_a_batch_and_leaves_the_rest() {
    let big = "x".repeat(MESSAGE_BYTES_MAX);
    for (messages, taken) in [
        (vec![message("a"); BATCH_MESSAGES_MAX + 1], BATCH_MESSAGES_MAX),
        (vec![message(&big); 6], BATCH_BYTES_MAX / MESSAGE_BYTES_MAX),
        (vec![message(&big)], 1),
    ] {
        let decision = Bench::loaded().due(messages);
        let of_users = decision.entries.iter().filter(|draft| matches!(draft.fact, Fact::UserMessage(_)));
        assert_eq!(of_users.count(), taken);
        let Some(Fact::TurnStarted(body)) = decision.entries.last().map(|draft| &draft.fact) else {
            panic!("messages open a turn, not {:?}", decision.entries)
        };
        assert_eq!(body.commands, (1..=taken as u64).collect::<Vec<_>>());
    }
}

/// What the last entry of a turn's end says waits.
fn pending(entries: &[Draft]) -> Option<u32> {
    match &entries.last()?.fact {
        Fact::TurnCompleted(body) => Some(body.pending),
        Fact::TurnInterrupted(body) => Some(body.pending),
        Fact::TurnFailed(body) => Some(body.pending),
        _ => None,
    }
}

/// A client is told once that there is nothing more to do: where a turn's end says that nothing waits.
#[test]
fn a_turn_s_end_counts_the_messages_that_open_the_next() {
    let sent = || vec![message("a"), message("b"), message("c")];
    let with = |last: Vec<Command>| [sent(), last].concat();
    for (last, expected) in [
        (vec![Command::Interrupt { turn: 1 }], 3),
        (vec![Command::Interrupt { turn: 1 }, Command::Cancel { target: 3 }], 2),
        (vec![Command::Promote { target: 4, turn: Some(1) }], 3),
        (vec![stop()], 0),
    ] {
        let decision = Bench::in_step().due(with(last.clone()));
        assert_eq!(pending(&decision.entries), Some(expected), "{last:?}");
    }
    let step_ends = |bench: &Bench, outcome: StepOutcome, rows: &[Row]| {
        let end = StepEnd { outcome, rows: rows.to_vec(), ..ended(Next::Done) };
        pending(&decide(&bench.session, Input::StepEnd(end)).unwrap().entries)
    };
    let mut bench = Bench::in_step();
    let rows = bench.sent(sent());
    let broken = |scope| {
        let (code, detail) = ("own".into(), String::new());
        StepOutcome::Broken { how: Ending::Failed, scope, code, detail }
    };
    assert_eq!(step_ends(&bench, ended(Next::Done).outcome, &rows), Some(3));
    assert_eq!(step_ends(&bench, ended(Next::Done).outcome, &[]), Some(0));
    assert_eq!(step_ends(&bench, broken(Scope::Turn), &rows), Some(3));
    assert_eq!(step_ends(&bench, broken(Scope::Session), &rows), Some(0), "they are all answered");
    // One that was accepted and that no step was told opens the next turn too, unless this one ends badly.
    let steered = UserMessage { n: 2, sender: Sender::System, parts: vec![rewake_wire::Part::text("a")] };
    bench.add(Place::turn(1), steered).unwrap();
    bench.add(Place::turn(1), TurnSteered { commands: vec![2] }).unwrap();
    assert_eq!(step_ends(&bench, ended(Next::Done).outcome, &rows), Some(3));
    assert_eq!(step_ends(&bench, broken(Scope::Turn), &rows), Some(2));
}
