//! Running a seed: one life after another, each ended where the seed says so, until all its sessions have settled. What
//! must hold of what is left is checked elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use rewake_store::Inbox as _;

use crate::evidence::{Evidence, announced};
use crate::faults::Which;
use crate::plan::{Plan, Purpose, choices};
use crate::process::{Life, Process};
use crate::scene::Scene;
use crate::sim::{Lie, Sim};
use crate::stage::Stage;

/// Lives of one seed.
const LIVES_MAX: u32 = 40;

/// What a run is made with beside its seed.
#[derive(Clone, Debug)]
pub(crate) struct With {
    /// What goes wrong.
    pub(crate) faults: Which,
    pub(crate) lie: Option<Lie>,
}

/// What came of a run.
pub(crate) struct Ran {
    /// Of each of its sessions.
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) actions: Vec<String>,
    pub(crate) counts: BTreeMap<String, u64>,
    /// Why it came to no end, or what showed on the way.
    pub(crate) failure: Option<String>,
    pub(crate) sim: Arc<Sim>,
}

/// Runs a seed to its end.
pub(crate) fn run(stage: &Stage, seed: u64, plan: &Plan, with: With) -> Ran {
    let templates = || plan.sessions.iter().map(|talk| stage.session(talk));
    let store = Stage::store(templates()).now_or_never().expect("memory answers at once");
    let scenes = plan
        .sessions
        .iter()
        .map(|talk| Scene::new(seed, stage.session(talk), talk, plan.walls, &with.faults));
    let sim = Sim::new(store, stage.data().to_owned(), confine(seed, scenes.collect()));
    sim.lock().lie = with.lie;
    let mut failure = None;
    let mut hosts = 0;
    let mut lives = 0;
    while failure.is_none() {
        if lives > 0 {
            sim.lock().scenes.iter_mut().for_each(|scene| scene.disturbances += 1);
        }
        lives += 1;
        let life = one_life(stage, plan.snapshot_entries, &sim, &mut hosts);
        if let Err(why) = all_announced(&sim) {
            failure = Some(why);
            break;
        }
        match life {
            Life::Killed if lives < LIVES_MAX => sim.note(format!("life {lives} was killed")),
            Life::Killed => failure = Some(format!("it does not settle in {lives} lives")),
            Life::Settled => break,
            Life::Stuck(why) => failure = Some(why),
        }
    }
    let evidence = (0..plan.sessions.len()).map(|session| evidence(&sim, session)).collect();
    let mut state = sim.lock();
    state.scenes.iter().for_each(Scene::wipe);
    let (actions, counts) = (std::mem::take(&mut state.actions), std::mem::take(&mut state.counts));
    drop(state);
    Ran { evidence, actions, counts, failure, sim }
}

/// Of several sessions, one may be all that something goes wrong with, and nothing may happen to the process.
fn confine(seed: u64, mut scenes: Vec<Scene>) -> Vec<Scene> {
    let mut chooser = choices(seed, 1, Purpose::World);
    if scenes.len() > 1 && chooser.one_in(2) {
        for (at, scene) in scenes.iter_mut().enumerate() {
            scene.faults.confine(at == 0);
        }
    }
    scenes
}

fn all_announced(sim: &Sim) -> Result<(), String> {
    sim.lock().scenes.iter().try_for_each(|scene| announced(&scene.entries, &scene.log()))
}

fn evidence(sim: &Sim, session: usize) -> Evidence {
    let mut state = sim.lock();
    let hosts = state.hosts.clone();
    let scene = &mut state.scenes[session];
    let through = sim.inner.through(&scene.id).now_or_never().expect("memory").expect("readable");
    Evidence {
        entries: std::mem::take(&mut scene.entries),
        through,
        sent: scene.crowd.sent.clone(),
        broken_promises: std::mem::take(&mut scene.broken_promises),
        begun: std::mem::take(&mut scene.begun),
        accepted: std::mem::take(&mut scene.accepted),
        takeovers: std::mem::take(&mut scene.takeovers),
        disturbances: scene.disturbances,
        hosts,
    }
}

/// One thread, a clock that passes when nothing is left to do, and guests' files used in place: only what a load does with
/// folders is left to chance. Dropping it ends everything that its hosts do.
fn one_life(stage: &Stage, snapshot_entries: u64, sim: &Arc<Sim>, hosts: &mut u32) -> Life {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let seen = sim.clone();
    // Before any time passes: what was done is seen when it was done.
    builder.on_thread_park(move || seen.see());
    let runtime = builder.enable_time().start_paused(true).max_blocking_threads(1).build();
    let runtime = runtime.expect("a runtime");
    let life = runtime.block_on(async {
        let life = Process::new(stage, snapshot_entries, sim, hosts).live().await;
        sim.end();
        life
    });
    drop(runtime);
    sim.lock().see(true);
    life
}
