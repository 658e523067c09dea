//! Seeds, many at a time: each is run and checked.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use rewake_core::ids::SessionId;
use rewake_core::session::{self, Session};
use rewake_runtime::{Host, host};
use rewake_sandbox::clock::MachineClock;
use rewake_store::MemoryStore;

use crate::check::{self, Checked};
use crate::evidence::Evidence;
use crate::faults::Which;
use crate::plan::{People, Plan};
use crate::run::{Ran, With, run};
use crate::stage::Stage;
use crate::store::FaultStore;
use crate::transcript::{has_losses, transcript};

/// Seeds of a usual run.
const SEEDS: u64 = 10_000;
/// How many tests share them.
const SHARDS: u64 = 4;
/// What happened last, for anyone who reads of a failure.
const SHOWN: usize = 60;

const FAULTS: With = With { faults: Which::Drawn, lie: None };
const QUIET: With = With { faults: Which::Nothing, lie: None };

/// Everything that must hold of a run: what is left of each session, what is kept beside it, and that its steps do
/// the same again.
pub(crate) fn judge(stage: &Stage, plan: &Plan, ran: &Ran) -> Checked {
    if let Some(failure) = &ran.failure {
        return Err(failure.clone());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let host = replayer(stage, plan, ran);
    for (talk, evidence) in plan.sessions.iter().zip(&ran.evidence) {
        check::all(evidence)?;
        let id = &stage.session(talk).id;
        folds(&ran.sim.inner, id, evidence)?;
        runtime.block_on(async {
            let verified = host::verify(&ran.sim.inner, id).await.map_err(|error| error.to_string())?;
            if let Some(broken) = verified.broken {
                return Err(format!("verify: {broken}"));
            }
            let replayed = host.replay(id).await;
            match replayed.map_err(|error| error.to_string())?.mismatch {
                Some(mismatch) => Err(format!("replay: {mismatch:?}")),
                None => Ok(()),
            }
        })?;
    }
    Ok(())
}

/// A host that only reads what a run left.
fn replayer(stage: &Stage, plan: &Plan, ran: &Ran) -> Host {
    let store = Arc::new(FaultStore { sim: ran.sim.clone(), host: 0 });
    stage.host(0, &[], plan.snapshot_entries, store, Arc::new(MachineClock))
}

/// R9: the fold from a snapshot is the fold from the start.
fn folds(store: &MemoryStore, id: &SessionId, evidence: &Evidence) -> Checked {
    let whole = session::fold(id.clone(), &evidence.entries).map_err(|corrupt| corrupt.to_string())?;
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
    let mut count = |what: &str, times: u64| *totals.entry(what.to_owned()).or_default() += times;
    ran.counts.iter().for_each(|(what, times)| count(what, *times));
    count("sessions", ran.evidence.len() as u64);
    for evidence in &ran.evidence {
        evidence.entries.iter().for_each(|entry| count(entry.fact.kind(), 1));
        count("hosts", evidence.hosts.len() as u64);
        count("takeovers", evidence.takeovers.len() as u64);
        count("effects", evidence.begun.len() as u64);
        count(
            "effects late by a standstill",
            evidence.begun.iter().filter(|begun| begun.excused_ms > 0).count() as u64,
        );
        let is_beside = ran.evidence.len() > 1 && evidence.disturbances == 0;
        count("undisturbed beside others", u64::from(is_beside));
    }
    for (at, evidence) in ran.evidence.iter().enumerate() {
        if plan.sessions[at].people != People::Calm || has_losses(&evidence.entries) {
            continue;
        }
        count("compared", 1);
        let alone = plan.alone(at);
        let quiet = run(stage, seed, &alone, QUIET);
        let failure = quiet.failure.clone().map_or(Ok(()), Err);
        if let Err(why) = failure.and_then(|()| check::all(&quiet.evidence[0])) {
            fail(seed, &alone, &quiet, &format!("without faults: {why}"));
        }
        let (expected, got) = (transcript(&quiet.evidence[0].entries), transcript(&evidence.entries));
        if expected != got {
            let why = format!("the transcripts of {at} differ\nexpected {expected:#?}\ngot {got:#?}");
            fail(seed, &plan, &ran, &why);
        }
    }
}

fn fail(seed: u64, plan: &Plan, ran: &Ran, why: &str) -> ! {
    let last = |lines: &[String]| lines[lines.len().saturating_sub(SHOWN)..].join("\n  ");
    let mut left = String::new();
    for evidence in &ran.evidence {
        let entries = evidence.entries.iter().map(|entry| {
            let shown = String::from_utf8_lossy(&entry.fact.encode()).into_owned();
            format!("{} {} {:?} {shown}", entry.seq, entry.fact.kind(), entry.place)
        });
        let entries: Vec<String> = entries.collect();
        let _ = write!(left, "entries:\n  {}\nwritten: {:?}\n", last(&entries), evidence.log());
    }
    panic!(
        "seed {seed}: {why}\n{plan:#?}\nactions:\n  {}\n{left}seed {seed}: {why}\nalone: REWAKE_SIM_SEED={seed} cargo \
         test -p rewake-tests --test simulation one_seed",
        last(&ran.actions),
    );
}

/// What every shard of the default seeds comes to, by the beginnings of what is counted: a check of what never happens
/// is none.
const REACHED: [&str; 28] = [
    "KillBefore",
    "KillAfter",
    "KillSoon",
    "Unknown",
    "Io",
    "Busy",
    "Frozen",
    "TakenOver",
    "Asleep",
    "Stolen",
    "Seized",
    "LetGo",
    "Set(",
    "renewal Fails",
    "renewal LateThere",
    "renewal LateBack",
    "renewal Refused",
    "killed before a lease",
    "killed after a lease",
    "stood still between check and act",
    "a group with one fenced member",
    "a send of which nobody knows",
    "a snapshot that is damaged",
    "a snapshot that is not kept",
    "takeovers",
    "effects late by a standstill",
    "undisturbed beside others",
    "compared",
];

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
    if seeds == SEEDS && until.is_none() {
        let never = REACHED
            .iter()
            .find(|what| !totals.iter().any(|(key, times)| *times > 0 && key.starts_with(**what)));
        assert_eq!(never, None, "what no seed reaches is not checked: {totals:?}");
    }
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

/// The course of a run: what was appended and what went wrong, in order, session by session: what two of them write at
/// one moment is written in any order where they are on two hosts. Tools and hooks of one call end in any order (R4),
/// so that what one append holds stands sorted.
fn course(ran: &Ran) -> Vec<(String, String)> {
    let mut session = String::new();
    let mut lines = Vec::new();
    for line in &ran.actions {
        if let Some((host, appended)) = line.split_once(" appends ") {
            let (of, appended) = appended.split_once(": ").unwrap_or_default();
            session = of.to_owned();
            let mut words: Vec<&str> = appended.split(' ').collect();
            words.sort_unstable();
            lines.push((session.clone(), format!("{host} appends {}", words.join(" "))));
        } else if line.starts_with("  ") && !line.contains("ses_") {
            lines.push((session.clone(), line.clone()));
        }
    }
    lines.sort_by(|(one, _), (two, _)| one.cmp(two));
    lines
}

/// Seeds that are run twice.
const TWICE: u64 = 60;

/// The same seed takes the same course. What a load does with folders is done on a thread of its own, whose answers a
/// busy machine may put before or after what another host does: hardly any run differs, and then once.
#[test]
fn a_seed_is_what_happens() {
    let stage = Stage::new();
    let first = env("REWAKE_SIM_SEED").unwrap_or(0);
    let mut again = 0;
    for seed in first..first + TWICE {
        let plan = Plan::of(seed);
        let once = || {
            let ran = run(&stage, seed, &plan, FAULTS);
            (course(&ran), ran.evidence.iter().map(|one| transcript(&one.entries)).collect::<Vec<_>>())
        };
        let (one, two) = (once(), once());
        if one != two {
            again += 1;
            let three = once();
            assert!(three == one || three == two, "seed {seed}: {one:#?} {two:#?}");
            let lines = one.0.iter().zip(&two.0).find(|(one, two)| one != two);
            tell(&format!("seed {seed} took two courses, from here on: {lines:#?}"));
        }
    }
    assert!(again <= 1, "{again} seeds took two courses");
}

/// A seed alone, to look at it.
#[test]
fn one_seed() {
    let stage = Stage::new();
    one(&stage, env("REWAKE_SIM_SEED").unwrap_or(0), &mut BTreeMap::new());
}
