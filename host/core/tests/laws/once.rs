//! Calls in flight when the host dies (R5): what may be repeated is, what may not is told as unknown.

use rewake_core::effect::Effect;
use rewake_core::fact::{Fact, Lost};

use crate::check;
use crate::driver::run;
use crate::pins::TOOLS;
use crate::plan::{EndPlan, Op, Plan, StepPlan, Use};
use crate::world::World;

fn one_use(tool: usize, crash: u8) -> World {
    let world = run(Plan {
        steps: vec![StepPlan {
            ops: vec![Op::Tools(vec![Use { tool, guard: None, adviser: None }]), Op::Say],
            ending: EndPlan::Done,
        }],
        turn_steps: 1,
        messages: 1,
        crashes: vec![crash],
        mischief: vec![],
        sneaks: vec![],
        snapshot_every: 0,
        unload_every: 0,
        cap_nanos: None,
        calm: true,
    });
    check::all(&world);
    world
}

#[test]
fn wherever_the_host_dies_a_call_is_performed_as_its_class_says() {
    for (tool, (name, effect)) in TOOLS.iter().enumerate() {
        let mut in_flight = 0;
        for crash in 0..40 {
            let world = one_use(tool, crash);
            let start = world.journal.iter().find(|entry| matches!(entry.fact, Fact::ToolStarted(_)));
            let times = start.map_or(0, |start| world.performed.get(&start.hash).copied().unwrap_or(0));
            let lost = world.facts().filter(|fact| matches!(fact, Fact::ToolLost(_))).count();
            let done = world.facts().filter(|fact| matches!(fact, Fact::ToolCompleted(_))).count();
            let retried = world.facts().filter(|fact| matches!(fact, Fact::CallRetried(_))).count();
            assert_eq!(lost + done, 1, "{name}, crash at {crash}");
            if *effect == Effect::Once {
                assert!(times <= 1, "{name}, crash at {crash}");
                assert_eq!(lost == 1, world.lost_once);
                in_flight += lost;
            } else {
                assert_eq!((lost, done), (0, 1), "{name}, crash at {crash}");
                assert!(times >= 1);
                in_flight += usize::from(times == 2 || retried > 0);
            }
            let is_of_host = |fact: &Fact| !matches!(fact, Fact::ToolLost(body) if body.why != Lost::Host);
            assert!(world.facts().all(is_of_host));
        }
        assert!(
            in_flight >= 2,
            "some of the crashes hit {name} in flight, before and after it was performed"
        );
    }
}
