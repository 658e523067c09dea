//! What kills its host must not loop (R5): after so many re-runs without progress the turn fails.

use proptest::prelude::*;
use rewake_core::decide;
use rewake_core::decide::{Input, LoadInput};
use rewake_core::fact::Fact;
use rewake_core::ids::HostId;
use rewake_core::limits::RERUNS_MAX;

use crate::bench::Bench;
use crate::check;
use crate::driver::run;
use crate::plan::{EndPlan, Op, Plan, StepPlan, config, op};
use crate::world::World;

fn deadly(ops: Vec<Op>) -> World {
    one_turn(vec![StepPlan { ops, ending: EndPlan::Done }])
}

fn one_turn(steps: Vec<StepPlan>) -> World {
    run(Plan {
        turn_steps: steps.len() as u32,
        steps,
        messages: 1,
        crashes: vec![],
        mischief: vec![],
        sneaks: vec![],
        snapshot_every: 3,
        unload_every: 0,
        cap_nanos: None,
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

/// What the re-runs were counted as.
fn again(world: &World) -> Vec<u32> {
    let counts = world.facts().filter_map(|fact| match fact {
        Fact::StepRerun(body) => Some(body.again),
        _ => None,
    });
    counts.collect()
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_step_that_kills_its_host_fails_its_turn(before in prop::collection::vec(op(), 0..4)) {
        let ops = before.into_iter().chain([Op::Kill]).collect();
        let world = deadly(ops);
        check::all(&world);
        prop_assert_eq!(failures(&world), ["reruns"]);
        prop_assert_eq!(again(&world), (1..=RERUNS_MAX).collect::<Vec<_>>());
        prop_assert_eq!(world.crashes, RERUNS_MAX + 1);
    }
}

#[test]
fn re_runs_that_get_further_are_not_counted_together() {
    let calls = RERUNS_MAX * 3;
    let world = deadly((0..calls).flat_map(|_| [Op::Say, Op::Stumble]).collect());
    check::all(&world);
    assert_eq!(failures(&world), Vec::<String>::new());
    assert_eq!(world.crashes, calls);
    assert_eq!(again(&world), vec![1; calls as usize]);
    let said = world.facts().filter(|fact| matches!(fact, Fact::AgentMessage(_))).count();
    assert_eq!(said, calls as usize);
}

/// R2: the start of a later step may be lost with the host that the step kills, and the end of the step before with it.
/// That one is run again, and then the start is written before the step runs: so the one that kills is given up, after
/// one host more. However many steps without effects went before it, one start at most is lost.
#[test]
fn a_step_whose_start_is_lost_is_given_up() {
    for before in [vec![Op::Say], vec![]] {
        let step = |ops: Vec<Op>| StepPlan { ops, ending: EndPlan::More };
        let mut steps = vec![step(before); 5];
        // The harness's step m takes plan 2m - 1, so that this is its fourth.
        steps[7 % 5] = step(vec![Op::Kill]);
        let world = one_turn(steps);
        check::all(&world);
        assert_eq!(failures(&world), ["reruns"]);
        let rerun = world.journal.iter().filter(|entry| matches!(entry.fact, Fact::StepRerun(_)));
        assert_eq!(rerun.map(|entry| entry.place.step).collect::<Vec<_>>(), [3, 4, 4, 4]);
        assert_eq!(world.crashes, RERUNS_MAX + 2);
    }
}

/// R5: what a host that died was doing counts, and what one that lost its lease and lived on was doing does not.
#[test]
fn a_re_run_because_of_a_lost_lease_does_not_count() {
    for again in [Some("lease"), Some("store"), None] {
        let (mut bench, start) = Bench::started("put");
        let load = LoadInput {
            host: HostId::parse("host_laws").unwrap(),
            host_version: "0.1.0".into(),
            snapshot_seq: None,
            folded: 0,
            rejected: vec![],
            again: again.map(str::to_owned),
        };
        let crashed = bench.session.load.crashed;
        let loaded = decide(&bench.session, Input::Load(load)).unwrap();
        bench.add_all(loaded.entries).unwrap();
        let (_, step) = bench.session.open_step().unwrap();
        let call = bench.session.calls[&start];
        assert_eq!((step.excused, call.excused), (again.is_some(), again.is_some()), "{again:?}");
        assert_eq!(bench.session.load.crashed, crashed + 1, "loads that come to no step are bounded still");
    }
}
