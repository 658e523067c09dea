//! Seeds, many at a time: each is run and checked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use rewake_core::session::{self, Session};
use rewake_runtime::host;
use rewake_store::MemoryStore;

use crate::check::{self, Checked};
use crate::faults::Which;
use crate::plan::{People, Plan};
use crate::run::{Ran, With, run};
use crate::stage::Stage;
use crate::transcript::{has_losses, transcript};

/// Seeds of a usual run.
const SEEDS: u64 = 10_000;
/// How many tests share them.
const SHARDS: u64 = 4;
/// What happened last, for whoever reads of a failure.
const SHOWN: usize = 60;

const FAULTS: With = With { faults: Which::Drawn, lie: None };
const QUIET: With = With { faults: Which::Nothing, lie: None };

/// Everything that must hold of a run: what is left, what is kept beside it, and that its steps do the same again.
pub(crate) fn judge(stage: &Stage, plan: &Plan, ran: &Ran) -> Checked {
    if let Some(failure) = &ran.failure {
        return Err(failure.clone());
    }
    check::all(&ran.evidence)?;
    folds(ran)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let (store, id) = (&ran.sim.inner, &ran.sim.id);
        let verified = host::verify(store, id).await.map_err(|error| error.to_string())?;
        if let Some(broken) = verified.broken {
            return Err(format!("verify: {broken}"));
        }
        let store = std::sync::Arc::new(crate::store::FaultStore { sim: ran.sim.clone(), host: 0 });
        let replayed = stage.host(plan.snapshot_entries, store).replay(id).await;
        match replayed.map_err(|error| error.to_string())?.mismatch {
            Some(mismatch) => Err(format!("replay: {mismatch:?}")),
            None => Ok(()),
        }
    })
}

/// R9: the fold from a snapshot is the fold from the start.
fn folds(ran: &Ran) -> Checked {
    let (store, id): (&MemoryStore, _) = (&ran.sim.inner, &ran.sim.id);
    let whole = session::fold(id.clone(), &ran.evidence.entries).map_err(|corrupt| corrupt.to_string())?;
    let standing = host::standing(store, id).now_or_never().expect("memory answers at once");
    let standing: Session = standing.map_err(|error| error.to_string())?.session;
    if whole == standing {
        Ok(())
    } else {
        Err("folds: a snapshot and its tail are not the whole".to_owned())
    }
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Runs a seed, and what belongs to it; how often each thing went wrong.
fn one(stage: &Stage, seed: u64, totals: &mut BTreeMap<String, u64>) {
    let plan = Plan::of(seed);
    let ran = run(stage, seed, &plan, FAULTS);
    if let Err(why) = judge(stage, &plan, &ran) {
        fail(seed, &plan, &ran, &why);
    }
    for (what, times) in &ran.counts {
        *totals.entry(what.clone()).or_default() += times;
    }
    for entry in &ran.evidence.entries {
        *totals.entry(entry.fact.kind().to_owned()).or_default() += 1;
    }
    *totals.entry("hosts".into()).or_default() += ran.evidence.hosts.len() as u64;
    if plan.people == People::Calm && !has_losses(&ran.evidence.entries) {
        let quiet = run(stage, seed, &plan, QUIET);
        if let Err(why) = judge(stage, &plan, &quiet) {
            fail(seed, &plan, &quiet, &format!("without faults: {why}"));
        }
        let (expected, got) = (transcript(&quiet.evidence.entries), transcript(&ran.evidence.entries));
        if expected != got {
            fail(seed, &plan, &ran, &format!("the transcripts differ\nexpected {expected:#?}\ngot {got:#?}"));
        }
        *totals.entry("compared".into()).or_default() += 1;
    }
}

fn fail(seed: u64, plan: &Plan, ran: &Ran, why: &str) -> ! {
    let entries = ran.evidence.entries.iter().map(|entry| {
        let shown = String::from_utf8_lossy(&entry.fact.encode()).into_owned();
        format!("{} {} {:?} {shown}", entry.seq, entry.fact.kind(), entry.place)
    });
    let entries: Vec<String> = entries.collect();
    let last = |lines: &[String]| lines[lines.len().saturating_sub(SHOWN)..].join("\n  ");
    panic!(
        "seed {seed}: {why}\n{plan:#?}\nactions:\n  {}\nentries:\n  {}\nwritten: {:?}\nseed {seed}: {why}\nalone: \
         REWAKE_SIM_SEED={seed} cargo test -p rewake-tests --test simulation one_seed",
        last(&ran.actions),
        last(&entries),
        ran.evidence.log,
    );
}

/// Runs the seeds of a shard.
fn shard(nth: u64) {
    let seeds = env("REWAKE_SIM_SEEDS").unwrap_or(SEEDS);
    let first = env("REWAKE_SIM_FIRST").unwrap_or(0);
    let until = env("REWAKE_SIM_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let stage = Stage::new();
    let began = Instant::now();
    let mut totals = BTreeMap::new();
    let mut count = 0;
    for seed in (first..first + seeds).filter(|seed| seed % SHARDS == nth) {
        if until.is_some_and(|until| Instant::now() > until) {
            break;
        }
        one(&stage, seed, &mut totals);
        count += 1;
    }
    let each =
        began.elapsed().as_secs_f64() * 1_000.0 / f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    tell(&format!("shard {nth}: {count} of {} seeds, {each:.1} ms each: {totals:?}", seeds.div_ceil(SHARDS)));
}

#[expect(clippy::print_stdout, reason = "how far it got is what whoever runs many seeds wants to know")]
fn tell(line: &str) {
    println!("{line}");
}

#[test]
fn seeds_0() {
    shard(0);
}

#[test]
fn seeds_1() {
    shard(1);
}

#[test]
fn seeds_2() {
    shard(2);
}

#[test]
fn seeds_3() {
    shard(3);
}

/// The course of a run: what was appended and what went wrong, in order. Tools and hooks of one call end in any order
/// (R4), so that what one append holds stands sorted.
fn course(ran: &Ran) -> Vec<String> {
    let line = |line: &String| match line.split_once(" appends ") {
        Some((host, appended)) => {
            let mut words: Vec<&str> = appended.split(' ').collect();
            words.sort_unstable();
            Some(format!("{host} appends {}", words.join(" ")))
        }
        None => (line.starts_with("  ") && !line.contains("ses_")).then(|| line.clone()),
    };
    ran.actions.iter().filter_map(line).collect()
}

/// The same seed takes the same course. A guest that has computed for a millisecond gives way, and a busy machine
/// makes milliseconds of nothing: a run that was held up so may differ, and is run once more.
#[test]
fn a_seed_is_what_happens() {
    let stage = Stage::new();
    let first = env("REWAKE_SIM_SEED").unwrap_or(0);
    let mut again = 0;
    for seed in first..first + env("REWAKE_SIM_SEEDS").unwrap_or(60) {
        let plan = Plan::of(seed);
        let once = || {
            let ran = run(&stage, seed, &plan, FAULTS);
            (course(&ran), transcript(&ran.evidence.entries))
        };
        let (one, two) = (once(), once());
        if one != two {
            again += 1;
            let three = once();
            assert!(three == one || three == two, "seed {seed}: {one:#?} {two:#?}");
        }
    }
    tell(&format!("{again} run once more"));
}

/// A seed alone, to look at it.
#[test]
fn one_seed() {
    let stage = Stage::new();
    one(&stage, env("REWAKE_SIM_SEED").unwrap_or(0), &mut BTreeMap::new());
}
