//! SessionStart (hooks.md): `startup` until a hook's verdict on it is recorded, `resume` once on every later
//! load, always before the load's first step.

use std::collections::BTreeSet;

use rewake_core::fact::{Fact, HookEvent, Source};
use rewake_core::firing::matches;

use crate::driver::run;
use crate::pins::{self, GREETER, SETUP, WELCOME};
use crate::plan::{EndPlan, Op, Plan, StepPlan};
use crate::world::World;

/// What one load did about SessionStart.
#[derive(Clone, Debug, Default)]
struct Load {
    seq: u64,
    started: Vec<(u32, Source)>,
    judged: BTreeSet<u32>,
    /// Hooks that have a `startup` verdict from an earlier load.
    before: BTreeSet<u32>,
    stepped: bool,
}

pub(crate) fn hooks_hear_of_every_load(world: &World) {
    let mut startup = BTreeSet::new();
    let mut startup_verdicts = Vec::new();
    let mut loads = 0u64;
    let mut load = Load::default();
    for entry in &world.journal {
        match &entry.fact {
            Fact::SessionLoaded(_) => {
                loads += 1;
                load = Load { seq: entry.seq, before: startup.clone(), ..Load::default() };
            }
            Fact::HookStarted(body) => {
                let Some(source) = body.source else { continue };
                assert!(!load.stepped, "a hook hears of the start after a step");
                load.started.push((body.hook, source));
                let of_hook = load.started.iter().filter(|(hook, _)| *hook == body.hook);
                assert_eq!(of_hook.count(), 1, "a hook is told twice of one load");
                match source {
                    Source::Startup => assert!(!startup.contains(&body.hook), "startup is told once"),
                    Source::Resume => assert!(loads > 1, "the first load is no resume"),
                }
            }
            Fact::HookVerdict(body) if entry.place.step == 0 => {
                let asked = &world.journal[body.start as usize - 1].fact;
                let Fact::HookStarted(asked) = asked else { panic!("{asked:?} asks no hook") };
                if asked.source == Some(Source::Startup) {
                    startup.insert(body.hook);
                    startup_verdicts.push(body.hook);
                }
                // What became of a `resume` of the load before is no word on this one.
                if asked.source == Some(Source::Startup) || body.start > load.seq {
                    load.judged.insert(body.hook);
                }
            }
            Fact::StepStarted(_) | Fact::StepRerun(_) if !load.stepped => {
                load.stepped = true;
                assert_eq!(load.judged, due(loads, &load.before), "load {loads} before its first step");
            }
            _ => {}
        }
    }
    let distinct: BTreeSet<_> = startup_verdicts.iter().copied().collect();
    assert_eq!(distinct.len(), startup_verdicts.len(), "a hook has two startup verdicts");
}

/// The hooks that must have answered before a load's first step.
fn due(loads: u64, before: &BTreeSet<u32>) -> BTreeSet<u32> {
    let hooks = pins::created().hooks;
    let of_start = (0u32..).zip(&hooks).filter(|(_, pin)| pin.event == HookEvent::SessionStart);
    of_start
        .filter(|(hook, pin)| {
            let is_new = matches(&pin.matcher, "startup") && !before.contains(hook);
            is_new || loads > 1 && matches(&pin.matcher, "resume")
        })
        .map(|(hook, _)| hook)
        .collect()
}

/// One idle turn after another, unloaded between them.
fn unloaded(crashes: Vec<u8>) -> World {
    let world = run(Plan {
        steps: vec![StepPlan { ops: vec![Op::Say], ending: EndPlan::Done }],
        turn_steps: 1,
        messages: 3,
        crashes,
        mischief: vec![],
        sneaks: vec![],
        snapshot_every: 0,
        unload_every: 1,
        cap_nanos: None,
        calm: true,
    });
    hooks_hear_of_every_load(&world);
    world
}

fn told(world: &World) -> Vec<(u32, Source)> {
    let told = world.facts().filter_map(|fact| match fact {
        Fact::HookStarted(body) => body.source.map(|source| (body.hook, source)),
        _ => None,
    });
    told.collect()
}

#[test]
fn startup_is_told_at_the_first_turn_and_resume_at_the_first_of_every_later_load() {
    let told = told(&unloaded(vec![]));
    assert_eq!(told[..2], [(GREETER, Source::Startup), (SETUP, Source::Startup)]);
    let rest: Vec<_> = told[2..].to_vec();
    assert!(!rest.is_empty());
    for pair in rest.chunks(2) {
        assert_eq!(pair, [(GREETER, Source::Resume), (WELCOME, Source::Resume)]);
    }
}

#[test]
fn a_host_that_dies_while_hooks_are_told_leaves_none_untold() {
    for first in 0..24 {
        for second in [0, 1, 2, 5, 9] {
            let world = unloaded(vec![first, second]);
            let startups = told(&world).iter().filter(|(_, source)| *source == Source::Startup).count();
            assert_eq!(startups, 2, "a start that stands in the journal is asked again, not anew");
        }
    }
}
