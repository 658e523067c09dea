//! What must hold of every journal that a settled run leaves, whatever happened to its hosts.

use std::collections::{BTreeMap, BTreeSet};

use rewake_core::Session;
use rewake_core::effect::Effect;
use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{Decision as Verdict, Fact, ModelOutcome, RequestedUse};
use rewake_core::limits::RERUNS_MAX;
use rewake_wire::Usage;

use crate::world::World;
use crate::{changes, contexts, imports, inbox, pins, spend, starts};

/// Every law at once.
pub(crate) fn all(world: &World) {
    every_call_ends_once(world);
    writers_are_alone(world);
    every_turn_ends_once_and_last(world);
    once_is_once(world);
    nothing_runs_that_was_not_let_pass(world);
    reruns_are_counted(world);
    usage_is_added_up(world);
    every_fold_is_its_snapshot(world);
    spend::it_adds_up(world);
    inbox::every_row_is_taken_once(world);
    inbox::interrupts_end_what_they_name(world);
    changes::what_is_acknowledged_has_its_effect(world);
    changes::steps_see_what_was_said_last(world);
    changes::promoted_messages_come_alone_and_first(world);
    contexts::steps_are_given_what_was_taken(world);
    starts::hooks_hear_of_every_load(world);
    imports::they_stand_between_turns(world);
}

/// The start that an entry ends.
pub(crate) fn ends(fact: &Fact) -> Option<u64> {
    match fact {
        Fact::ModelCompleted(body) => Some(body.start),
        Fact::ModelLost(body) => Some(body.start),
        Fact::ToolCompleted(body) => body.start,
        Fact::ToolLost(body) => Some(body.start),
        Fact::HookVerdict(body) => Some(body.start),
        _ => None,
    }
}

fn is_start(fact: &Fact) -> bool {
    matches!(fact, Fact::ModelStarted(_) | Fact::ToolStarted(_) | Fact::HookStarted(_))
}

/// R4, `N-A1`: of uses that see one directory, a writer is alone; and they start in the order of the request.
fn writers_are_alone(world: &World) {
    let mut open: BTreeMap<u64, (Place, String)> = BTreeMap::new();
    let mut started: BTreeMap<Place, String> = BTreeMap::new();
    for entry in &world.journal {
        if let Fact::ToolStarted(body) = &entry.fact {
            let overlap = open.values().find(|(_, other)| pins::waits(&body.name, other));
            assert_eq!(overlap, None, "{} overlaps it", body.name);
            let later = started.range(entry.place..).find(|(place, other)| {
                place.ordinal == entry.place.ordinal
                    && place.is_in_step(entry.place.turn, entry.place.step)
                    && pins::waits(&body.name, other)
            });
            assert_eq!(later, None, "{:?} starts after it", entry.place);
            open.insert(entry.seq, (entry.place, body.name.clone()));
            started.insert(entry.place, body.name.clone());
        }
        if let Some(start) = ends(&entry.fact) {
            open.remove(&start);
        }
    }
}

fn every_call_ends_once(world: &World) {
    let mut open = BTreeMap::new();
    for entry in &world.journal {
        if is_start(&entry.fact) {
            open.insert(entry.seq, entry);
        }
        if let Some(start) = ends(&entry.fact) {
            let begun = open.remove(&start).unwrap_or_else(|| panic!("{start} ends twice, or never began"));
            assert_eq!(begun.place, entry.place, "a call ends where it began");
        }
        if entry.fact.is_turn_end() {
            assert!(open.is_empty(), "a turn ends with open calls: {open:?}");
        }
    }
    assert!(open.is_empty(), "a settled session has open calls: {open:?}");
}

fn every_turn_ends_once_and_last(world: &World) {
    let commits: BTreeSet<u64> = world.commits.iter().copied().collect();
    let mut open = None;
    let mut turns = 0;
    for entry in &world.journal {
        if let Fact::TurnStarted(_) = entry.fact {
            turns += 1;
            assert_eq!(open.replace(entry.place.turn), None, "a turn starts while another is open");
            assert_eq!(entry.place.turn, turns, "turns are numbered without gaps");
        } else if entry.fact.is_turn_end() {
            assert_eq!(open.take(), Some(entry.place.turn), "a turn ends that is not open");
            assert!(commits.contains(&entry.seq), "a turn's end is the last entry of its transaction");
        } else if entry.place.step > 0 {
            assert_eq!(open, Some(entry.place.turn), "{} stands outside its turn", entry.fact.kind());
        }
    }
    assert_eq!(open, None, "a settled session has an open turn");
}

fn once_is_once(world: &World) {
    let mut once = BTreeSet::new();
    for entry in &world.journal {
        match &entry.fact {
            Fact::ToolStarted(body) if body.class == Effect::Once => {
                once.insert(entry.seq);
                assert!(world.performed.get(&entry.hash).is_none_or(|times| *times == 1));
            }
            Fact::CallRetried(body) => assert!(!once.contains(&body.start), "a `once` call is repeated"),
            _ => {}
        }
    }
    let keys: BTreeSet<_> =
        world.journal.iter().filter(|entry| is_start(&entry.fact)).map(|entry| entry.hash).collect();
    assert!(world.performed.keys().all(|key| keys.contains(key)), "something unannounced was performed");
}

/// R4: a tool starts after every hook that must judge it let it pass; what is refused does nothing.
fn nothing_runs_that_was_not_let_pass(world: &World) {
    let mut uses: BTreeMap<_, RequestedUse> = BTreeMap::new();
    let mut passed = BTreeSet::new();
    let mut refused = BTreeSet::new();
    for entry in &world.journal {
        match &entry.fact {
            Fact::ToolsRequested(body) => {
                let places = (0u32..).map(|index| entry.place.at_index(index));
                uses.extend(places.zip(body.uses.iter().cloned()));
            }
            Fact::HookVerdict(body) if body.decision != Verdict::Deny => {
                passed.insert((entry.place, body.hook));
            }
            Fact::ToolCompleted(body) if body.start.is_none() => {
                refused.insert(entry.place);
            }
            Fact::ToolStarted(body) => {
                let asked = &uses[&entry.place];
                assert_eq!((&body.name, body.arguments), (&asked.name, asked.arguments));
                assert!(asked.hooks.iter().all(|hook| passed.contains(&(entry.place, *hook))));
                assert!(!refused.contains(&entry.place), "a refused use was started");
            }
            _ => {}
        }
    }
}

/// A step is run again at most so often without having got any further.
fn reruns_are_counted(world: &World) {
    let mut last: Option<&Entry> = None;
    for entry in &world.journal {
        match (&entry.fact, last) {
            (Fact::StepRerun(body), _) => {
                assert!(body.again <= RERUNS_MAX, "a step is run again for ever");
                last = Some(entry);
            }
            (Fact::TurnFailed(body), Some(rerun)) if body.code == "reruns" => {
                let Fact::StepRerun(body) = &rerun.fact else { unreachable!("only those are kept") };
                assert_eq!((body.again, rerun.place.turn), (RERUNS_MAX, entry.place.turn));
            }
            (Fact::TurnFailed(body), None) => assert_ne!(body.code, "reruns"),
            _ => {}
        }
    }
}

/// What models counted stands in every turn's end, and all of it in the session.
fn usage_is_added_up(world: &World) {
    let (mut of_turn, mut of_all) = (Usage::default(), Usage::default());
    for fact in world.facts() {
        let told = match fact {
            Fact::ModelCompleted(body) => {
                if let ModelOutcome::Completion { usage, .. } = &body.outcome {
                    of_turn = of_turn.plus(*usage);
                    of_all = of_all.plus(*usage);
                }
                continue;
            }
            Fact::TurnCompleted(body) => body.usage,
            Fact::TurnInterrupted(body) => body.usage,
            Fact::TurnFailed(body) => body.usage,
            _ => continue,
        };
        assert_eq!(told, std::mem::take(&mut of_turn));
    }
    assert_eq!(world.view.usage, of_all);
}

/// `fold(journal[..n])` is the snapshot at n, as it is written and read again.
fn every_fold_is_its_snapshot(world: &World) {
    let mut folded = Session::new(world.id.clone());
    for entry in &world.journal {
        folded.apply(entry).expect("what was committed folds");
        let snapshot = serde_json::to_vec(&folded).expect("a session is plain data");
        let read: Session = serde_json::from_slice(&snapshot).expect("a snapshot is read as it was written");
        assert_eq!(read, folded, "the snapshot at {} is not the fold", entry.seq);
    }
    assert_eq!(folded, world.view);
}
