//! Random runs: the laws hold whatever people do and wherever hosts die; and where nothing was in flight
//! that may not be repeated, a disturbed run comes to the same as an undisturbed one.

use proptest::prelude::*;
use rewake_core::fact::Fact;

use crate::check;
use crate::driver::run;
use crate::plan::{Plan, config, quiet, wild};
use crate::world::World;

/// Crashes after which no call was tried too often and no step given up.
const HARMLESS_CRASHES: usize = 3;

proptest! {
    #![proptest_config(config(200))]

    /// A09, B23: after random runs with crashes, the state is the fold of the journal, and the laws hold.
    #[test]
    fn the_laws_hold_whatever_happens(plan in wild()) {
        check::all(&run(plan));
    }

    #[test]
    fn crashes_leave_no_trace_in_what_was_said_and_done(
        plan in quiet(),
        crashes in prop::collection::vec(0..60u8, 1..=HARMLESS_CRASHES),
    ) {
        let undisturbed = run(plan.clone());
        let disturbed = run(Plan { crashes, ..plan });
        check::all(&undisturbed);
        check::all(&disturbed);
        prop_assert_eq!(undisturbed.crashes, 0);
        if !disturbed.lost_once {
            prop_assert_eq!(transcript(&disturbed), transcript(&undisturbed));
        }
    }
}

/// What people and the harness can see of a run, without seqs, loads, re-runs and attempts.
fn transcript(world: &World) -> Vec<String> {
    let mut seen: Vec<_> = world
        .journal
        .iter()
        .filter(|entry| {
            matches!(
                entry.fact,
                Fact::UserMessage(_)
                    | Fact::UserAnswer(_)
                    | Fact::AgentMessage(_)
                    | Fact::AgentTitle(_)
                    | Fact::Custom(_)
                    | Fact::ModelCompleted(_)
                    | Fact::ToolCompleted(_)
                    | Fact::ToolLost(_)
                    | Fact::QuestionAsked(_)
                    | Fact::TurnStarted(_)
                    | Fact::TurnCompleted(_)
                    | Fact::TurnFailed(_)
                    | Fact::TurnInterrupted(_)
                    | Fact::StepCompleted(_)
                    | Fact::StepAborted(_)
            )
        })
        .map(|entry| (entry.place, entry.fact.kind().to_owned(), content(&entry.fact)))
        .collect();
    // The uses of one request end in any order (R4).
    seen.sort();
    seen.into_iter().map(|(place, kind, content)| format!("{place:?} {kind} {content}")).collect()
}

fn content(fact: &Fact) -> String {
    let mut value: serde_json::Value = serde_json::from_slice(&fact.encode()).expect("facts are JSON");
    if let Some(fields) = value.as_object_mut() {
        fields.remove("start");
        // What died with its host counts as all that it could have cost.
        fields.remove("cost");
    }
    value.to_string()
}

#[test]
fn enough_disturbed_runs_are_compared() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(config(1));
    let crashes = prop::collection::vec(0..60u8, 1..=HARMLESS_CRASHES);
    let compared = (0..100).filter(|_| {
        let plan = quiet().new_tree(&mut runner).expect("a plan").current();
        let crashes = crashes.new_tree(&mut runner).expect("crashes").current();
        let world = run(Plan { crashes, ..plan });
        world.crashes > 0 && !world.lost_once
    });
    assert!(compared.count() > 50);
}

#[test]
fn the_random_runs_reach_what_they_are_to_try() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(config(1));
    let mut kinds = std::collections::BTreeSet::new();
    let (mut crashes, mut refused, mut overtaken, mut interrupted) = (0, 0, 0, 0);
    for _ in 0..150 {
        let world = run(wild().new_tree(&mut runner).expect("a plan").current());
        crashes += world.crashes;
        refused += world.refused;
        overtaken += world.overtaken;
        let ends = |fact: &&Fact| matches!(fact, Fact::CommandPromoted(body) if body.turn.is_some());
        interrupted += world.facts().filter(ends).count();
        kinds.extend(world.facts().map(|fact| fact.kind().to_owned()));
    }
    assert!(crashes > 150, "{crashes} crashes");
    // Messages are changed before they are accepted, while they are, and too late.
    let changes = (refused, overtaken, interrupted);
    assert!(refused > 5 && overtaken > 30 && interrupted > 10, "{changes:?}");
    let unreached: Vec<_> = rewake_core::fact::KINDS
        .iter()
        .map(|(kind, _)| *kind)
        .filter(|kind| !kinds.contains(*kind))
        .collect();
    // Requests have laws of their own in `http.rs`, narrowed grants in `grants.rs`, labels and caps in `settings.rs`.
    let expected = [
        "session.titled",
        "model.lost",
        "http.started",
        "http.completed",
        "http.lost",
        "snapshot.taken",
        "snapshot.rejected",
        "grants.changed",
        "session.labelled",
        "budget.changed",
    ];
    assert!(unreached.iter().all(|kind| expected.contains(kind)), "never reached: {unreached:?}");
}
