//! What kills its host must not loop (R5): after so many re-runs without progress the turn fails.

use proptest::prelude::*;
use rewake_core::fact::Fact;
use rewake_core::limits::RERUNS_MAX;

use crate::check;
use crate::driver::run;
use crate::plan::{EndPlan, Op, Plan, StepPlan, config, op};
use crate::world::World;

fn deadly(ops: Vec<Op>) -> World {
    run(Plan {
        steps: vec![StepPlan { ops, ending: EndPlan::Done }],
        turn_steps: 1,
        messages: 1,
        crashes: vec![],
        mischief: vec![],
        snapshot_every: 3,
        unload_every: 0,
        calm: true,
    })
}

fn failures(world: &World) -> Vec<String> {
    let codes = world.facts().filter_map(|fact| match fact {
        Fact::TurnFailed(body) => Some(body.code.clone()),
        _ => None,
    });
    codes.collect()
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_step_that_kills_its_host_fails_its_turn(before in prop::collection::vec(op(), 0..4)) {
        let ops = before.into_iter().chain([Op::Kill]).collect();
        let world = deadly(ops);
        check::all(&world);
        prop_assert_eq!(failures(&world), ["reruns"]);
        let again: Vec<u32> = world.facts().filter_map(|fact| match fact {
            Fact::StepRerun(body) => Some(body.again),
            _ => None,
        }).collect();
        prop_assert_eq!(again, (1..=RERUNS_MAX).collect::<Vec<_>>());
        prop_assert_eq!(world.crashes, RERUNS_MAX + 1);
    }
}

#[test]
fn re_runs_that_get_further_are_not_counted_together() {
    let calls = usize::try_from(RERUNS_MAX).unwrap() * 3;
    let world = run(Plan {
        steps: vec![StepPlan { ops: vec![Op::Say; calls], ending: EndPlan::Done }],
        turn_steps: 1,
        messages: 1,
        // One message more before every crash: the load, the re-run, the message, the moment after it.
        crashes: [vec![13], vec![3; calls - 2]].concat(),
        mischief: vec![],
        snapshot_every: 0,
        unload_every: 0,
        calm: true,
    });
    check::all(&world);
    assert_eq!(failures(&world), Vec::<String>::new());
    assert!(world.crashes > RERUNS_MAX + 1, "{} crashes", world.crashes);
    assert_eq!(world.facts().filter(|fact| matches!(fact, Fact::AgentMessage(_))).count(), calls);
}
