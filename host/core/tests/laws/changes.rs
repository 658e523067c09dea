//! Edits, cancellations and promotions of messages that wait (R1): what was acknowledged has its effect, whenever
//! it came, and whatever becomes of hosts.

use std::collections::BTreeMap;

use rewake_core::command::{Command, Row};
use rewake_core::decide::Then;
use rewake_core::entry::Place;
use rewake_core::fact::{CommandCanceled, CommandEdited, CommandPromoted, Fact, UserMessage};
use rewake_wire::{Part, Sender};

use crate::bench::Bench;
use crate::world::World;

/// What is acknowledged is refused by nothing but the session's end; what a message says is what its last edit says;
/// what was canceled is never told.
pub(crate) fn what_is_acknowledged_has_its_effect(world: &World) {
    let command = |n: u64| &world.rows[n as usize - 1].command;
    let mut says: BTreeMap<u64, Vec<Part>> = BTreeMap::new();
    for row in &world.rows {
        if let Command::Message { parts } = &row.command {
            says.insert(row.n, parts.clone());
        }
    }
    let mut edits_of: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for row in world.rows.iter().filter(|row| matches!(row.command, Command::Edit { .. })) {
        edits_of.entry(row.command.target().expect("an edit has one")).or_default().push(row.n);
    }
    for fact in world.facts() {
        match fact {
            Fact::CommandEdited(body) => {
                let sent = Command::Edit { target: body.target, parts: body.after.clone() };
                assert_eq!(command(body.n), &sent);
                let said = says.insert(body.target, body.after.clone());
                assert_eq!(said.as_ref(), Some(&body.before), "what it said before stays in the journal");
                let next = edits_of.get_mut(&body.target).map(|left| left.remove(0));
                assert_eq!(next, Some(body.n), "edits are taken in one after the other");
            }
            Fact::CommandCanceled(body) => {
                assert_eq!(command(body.n), &Command::Cancel { target: body.target });
                assert!(says.remove(&body.target).is_some(), "it waits");
            }
            Fact::UserMessage(body) => {
                assert_eq!(says.remove(&body.n).as_ref(), Some(&body.parts), "it says what it was told to");
                let left = edits_of.remove(&body.n).unwrap_or_default();
                assert_eq!(left, vec![0; 0], "edits that were acknowledged before it was taken in");
            }
            Fact::CommandRejected(body) if command(body.n).target().is_some() => {
                assert!(world.view.ended.is_some(), "it was acknowledged, and its session goes on");
            }
            _ => {}
        }
    }
}

/// What a step is given of a message is what that says.
pub(crate) fn steps_see_what_was_said_last(world: &World) {
    let mut said: BTreeMap<u64, &[Part]> = BTreeMap::new();
    for fact in world.facts() {
        match fact {
            Fact::UserMessage(body) => {
                said.insert(body.n, &body.parts);
            }
            Fact::StepStarted(body) => {
                for message in &body.input.messages {
                    assert_eq!(said.get(&message.n), Some(&message.parts.as_slice()));
                }
            }
            _ => {}
        }
    }
}

/// A promoted message is accepted before all others, the last one first, and by itself.
pub(crate) fn promoted_messages_come_alone_and_first(world: &World) {
    let mut promoted: Vec<u64> = Vec::new();
    let mut taken_alone = None;
    let mut commits = world.commits.iter().copied().peekable();
    for entry in &world.journal {
        match &entry.fact {
            Fact::CommandPromoted(body) => {
                promoted.retain(|n| *n != body.target);
                promoted.push(body.target);
            }
            Fact::UserMessage(body) => {
                assert_eq!(taken_alone, None, "message {} came with a promoted one", body.n);
                if let Some(next) = promoted.pop() {
                    assert_eq!(body.n, next, "a promoted message waits");
                    taken_alone = Some(next);
                }
            }
            fact => promoted.retain(|n| !fact.rows().any(|row| row == *n)),
        }
        if commits.next_if_eq(&entry.seq).is_some() {
            taken_alone = None;
        }
    }
}

fn message(text: &str) -> Command {
    Command::Message { parts: vec![Part::text(text)] }
}

fn edit(target: u64, text: &str) -> Command {
    Command::Edit { target, parts: vec![Part::text(text)] }
}

/// Accepts what is due until nothing is, or a step or hooks are to run; gives the kinds, and what messages say.
fn settle(bench: &mut Bench, rows: &[Row]) -> (Vec<String>, Vec<Vec<Part>>) {
    let (mut kinds, mut said) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let decision = bench.due_with(rows);
        if decision.entries.is_empty() || decision.then != Then::Again {
            return (kinds, said);
        }
        for draft in &decision.entries {
            kinds.push(draft.fact.kind().to_owned());
            if let Fact::UserMessage(body) = &draft.fact {
                said.push(body.parts.clone());
            }
        }
        if matches!(decision.entries[0].fact, Fact::StepStarted(_)) {
            return (kinds, said);
        }
        bench.add_all(decision.entries).unwrap();
    }
    panic!("it goes round and round: {kinds:?}");
}

fn texts(texts: &[&str]) -> Vec<Vec<Part>> {
    texts.iter().map(|text| vec![Part::text(*text)]).collect()
}

#[test]
fn all_edits_come_before_a_batch_and_the_last_one_counts() {
    let mut bench = Bench::loaded();
    let rows = bench.sent(vec![message("a"), message("b"), edit(1, "c"), edit(2, "d"), edit(1, "e")]);
    let (kinds, said) = settle(&mut bench, &rows);
    let edited = "command.edited";
    let expected = [edited, edited, edited, "user.message", "user.message", "turn.started"];
    assert_eq!(kinds, expected);
    assert_eq!(said, texts(&["e", "d"]));
    assert!(bench.session.edits.is_empty());
}

#[test]
fn a_message_that_was_taken_back_is_accounted_for_and_never_told() {
    let mut bench = Bench::loaded();
    let rows = bench.sent(vec![message("a"), edit(1, "b"), Command::Cancel { target: 1 }, message("c")]);
    let (kinds, said) = settle(&mut bench, &rows);
    let expected = ["command.edited", "command.canceled", "user.message", "turn.started"];
    assert_eq!(kinds, expected);
    assert_eq!(said, texts(&["c"]));
    assert!((1..=4).all(|n| bench.session.taken.contains(n)));
}

#[test]
fn a_promoted_message_ends_the_turn_it_names_and_opens_the_next_alone() {
    let mut bench = Bench::in_step();
    let mut rows = bench.sent(vec![message("a"), message("b"), message("c"), edit(4, "d")]);
    rows.extend(bench.sent(vec![Command::Promote { target: 4, turn: Some(1) }]));
    let first = bench.due_with(&rows);
    assert!(!first.drops_guest, "the edit comes first, by its number");
    bench.add_all(first.entries).unwrap();
    let second = bench.due_with(&rows);
    assert!(second.drops_guest);
    bench.add_all(second.entries).unwrap();
    assert_eq!(bench.session.turn, None);
    let (kinds, said) = settle(&mut bench, &rows);
    assert_eq!(
        (kinds, said),
        (vec!["user.message".into(), "turn.started".into(), "step.started".into()], texts(&["d"]))
    );
    assert!(bench.session.promoted.is_empty());
}

#[test]
fn a_promotion_for_an_earlier_turn_ends_none_and_still_comes_first() {
    let mut bench = Bench::in_step();
    let interrupt = bench.due(vec![Command::Interrupt { turn: 1 }]);
    bench.add_all(interrupt.entries).unwrap();
    let opened = bench.due(vec![message("again")]);
    bench.add_all(opened.entries).unwrap();
    let rows = bench.sent(vec![message("a"), message("b"), Command::Promote { target: 5, turn: Some(1) }]);
    let decision = bench.due_with(&rows);
    assert!(!decision.drops_guest);
    bench.add_all(decision.entries).unwrap();
    assert_eq!(bench.session.turn.as_ref().map(|turn| turn.number), Some(2), "the second turn goes on");
    let interrupt = bench.sent(vec![Command::Interrupt { turn: 2 }]);
    let decision = bench.due_with(&[rows.clone(), interrupt].concat());
    bench.add_all(decision.entries).unwrap();
    assert_eq!(settle(&mut bench, &rows).1, texts(&["b"]));
}

#[test]
fn the_last_promoted_comes_first_and_each_by_itself() {
    let mut bench = Bench::loaded();
    let promote = |target| Command::Promote { target, turn: None };
    let rows = bench.sent(vec![
        message("a"),
        message("b"),
        message("c"),
        promote(2),
        promote(3),
        promote(2),
        Command::Cancel { target: 3 },
    ]);
    let (kinds, said) = settle(&mut bench, &rows);
    assert_eq!(kinds.iter().filter(|kind| *kind == "command.promoted").count(), 3);
    assert_eq!(said, texts(&["b"]));
    assert_eq!(bench.session.promoted, [0; 0], "the other one was taken back");
}

/// What is due is asked of the rows that are given: one that is not among them holds nobody up. Nor does promoting a
/// message again cancel that another one was.
#[test]
fn a_promoted_message_holds_nobody_up_and_is_not_forgotten() {
    let mut bench = Bench::loaded();
    let promote = |target| Command::Promote { target, turn: None };
    let sent = vec![message("a"), message("b"), message("c"), promote(2), promote(3), promote(2)];
    let rows = bench.sent(sent);
    for _ in 0..3 {
        let promoted = bench.due_with(&rows);
        bench.add_all(promoted.entries).unwrap();
    }
    assert_eq!(bench.session.promoted, [3, 2]);
    assert_eq!(settle(&mut bench.clone(), &rows[..1]).1, texts(&["a"]));
    assert_eq!(settle(&mut bench.clone(), &rows[..2]).1, texts(&["b"]));
    assert_eq!(settle(&mut bench, &[&rows[..1], &rows[2..3]].concat()).1, texts(&["c"]));
}

#[test]
fn what_is_about_a_message_that_is_gone_or_somebody_elses_is_rejected() {
    let mut bench = Bench::in_turn();
    let trigger = |row: &Row| Row { sender: Sender::Trigger("daily".into()), ..row.clone() };
    for about in [edit(1, "x"), Command::Cancel { target: 1 }, Command::Promote { target: 1, turn: Some(1) }]
    {
        let rows = bench.sent(vec![about.clone()]);
        let decision = bench.due_with(&rows);
        let [draft] = &decision.entries[..] else { panic!("one entry, not {decision:?}") };
        assert_eq!(draft.fact.kind(), "command.rejected", "{about:?}: the first message is taken in");
        assert!(!decision.drops_guest);
    }
    let rows = bench.sent(vec![message("a"), edit(5, "b")]);
    let decision = bench.due_with(&[rows[0].clone(), trigger(&rows[1])]);
    assert_eq!(decision.entries[0].fact.kind(), "command.rejected", "no trigger edits an operator's message");
}

#[test]
fn what_cannot_be_is_no_entry() {
    let sender = || Sender::Operator("ada".into());
    let parts = |text: &str| vec![Part::text(text)];
    let edited = |n, target| CommandEdited { n, sender: sender(), target, before: vec![], after: parts("x") };
    let refused = |fact: Fact| {
        let mut bench = Bench::in_turn();
        bench.add(Place::default(), edited(2, 3)).unwrap();
        bench.add(Place::turn(1), fact).is_err()
    };
    let said = |text| UserMessage { n: 3, sender: sender(), parts: parts(text) };
    assert!(!refused(said("x").into()) && refused(said("y").into()), "it says what its edit says");
    for target in [1, 2] {
        assert!(refused(edited(4, target).into()));
        assert!(refused(CommandCanceled { n: 4, sender: sender(), target }.into()));
        assert!(refused(CommandPromoted { n: 4, sender: sender(), target, turn: None }.into()));
    }
    assert!(refused(edited(2, 3).into()), "its own row twice");
    assert!(!refused(CommandCanceled { n: 4, sender: sender(), target: 3 }.into()));
}
