//! What loaded sessions take while nothing is done: memory, and the looks at what nobody tells. Each point is a
//! process of its own, which this program starts.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rewake_core::ids::SessionId;
use rewake_core::limits::SNAPSHOT_ENTRIES;
use rewake_policy::limits::CompileLimits;
use rewake_runtime::{Config, Host};
use rewake_store::{OpenOptions, Sessions as _, SqliteStore};
use serde::{Deserialize, Serialize};

use crate::bed::{Bed, Component, Places, Plan, Session};
use crate::bench::Bench;
use crate::facts::resident_bytes;
use crate::report::{Row, Target, Unit};
use crate::stats::Spread;
use crate::{Failed, Result};

/// Sessions that the figure is about.
const SESSIONS: usize = 10_000;
/// Sessions that are made side by side.
const SIDE_BY_SIDE: usize = 32;
/// Sessions of one page of a list.
const PAGE: u32 = 1_000;
/// How long a process rests before it looks at itself, and for how long it does.
const RESTS: Duration = Duration::from_secs(2);

/// What a process that loaded sessions says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Loaded {
    bytes: u64,
    /// Processors that it kept busy while nothing was done.
    processors: f64,
    /// Seconds that loading took.
    took_s: f64,
}

pub(super) async fn sessions(bench: &mut Bench) -> Result<Vec<Row>> {
    let count = bench.pick(SESSIONS, SESSIONS / 10);
    let dir = made(&bench.places, count).await?;
    let none = point(&bench.places, dir.path().to_owned(), 0)?;
    let some = point(&bench.places, dir.path().to_owned(), count / 10)?;
    let all = point(&bench.places, dir.path().to_owned(), count)?;
    let mib = |one: &Loaded| one.bytes as f64 / f64::from(1 << 20);
    let more = at_all(count, mib(&some) - mib(&none), mib(&all) - mib(&none));
    let processors = at_all(count, some.processors, all.processors);
    let note = format!(
        "a process with none takes {:.0} MiB; loading took {:.2} ms a session of {count}",
        mib(&none),
        all.took_s * 1e3 / count as f64
    );
    let row = Row::new("memory of 10,000 loaded idle sessions", Unit::Mib, Spread::only(more));
    let busy = Row::new("they keep busy", Unit::Processors, Spread::only(processors));
    Ok(vec![row.target(Target::at_most(250.0)).note(note), busy])
}

/// What [`SESSIONS`] come to by a line through a tenth of so many, and so many.
fn at_all(count: usize, tenth: f64, all: f64) -> f64 {
    let each = (all - tenth) / (0.9 * count as f64);
    all + each * (SESSIONS - count) as f64
}

/// Sessions that each have had a turn.
async fn made(places: &Places, count: usize) -> Result<tempfile::TempDir> {
    let bed = Bed::durable(places).await?;
    let bundle = bed.bundle(&[Component::tools()])?;
    let mut made = 0;
    while made < count {
        let mut tasks = Vec::new();
        for _ in made..(made + SIDE_BY_SIDE).min(count) {
            let id = bed.create(&bundle, None).await?;
            let host = bed.host.clone();
            tasks.push(tokio::spawn(async move {
                let mut session = Session::load(&host, &id).await?;
                session.turn(&Plan::calls(3)).await?;
                session.unload().await;
                Ok::<(), Failed>(())
            }));
        }
        made += tasks.len();
        for task in tasks {
            task.await??;
        }
    }
    Ok(bed.close().await)
}

/// Has a process load so many sessions of a data folder, and asks what that takes.
fn point(places: &Places, data: PathBuf, count: usize) -> Result<Loaded> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--loaded", &count.to_string()]).arg(data);
    command.arg("--cache").arg(&places.cache).arg("--guests").arg(&places.guests);
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the process with {count} sessions ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Loads so many sessions, and says what that takes, as JSON.
pub(crate) async fn loaded(places: &Places, data: PathBuf, count: usize) -> Result<String> {
    let store = SqliteStore::open(&data.join("journal.db"), OpenOptions::default()).await?;
    let ids = newest(&store, count).await?;
    let config = Config {
        data,
        cache: places.cache.clone(),
        snapshot_entries: SNAPSHOT_ENTRIES,
        rules: None,
        trust: places.trust(),
        compiler: None,
        compile: CompileLimits::default(),
        mocks: None,
    };
    let host = Host::open(&config, std::sync::Arc::new(store))?;
    let since = std::time::Instant::now();
    for id in &ids {
        // Nobody follows: anyone who holds a session only to have it run does not.
        drop(Session::load(&host, id).await?);
    }
    let took_s = since.elapsed().as_secs_f64();
    tokio::time::sleep(RESTS).await;
    let before = processor_s();
    tokio::time::sleep(RESTS).await;
    let processors = (processor_s() - before) / RESTS.as_secs_f64();
    // The process ends as one that is killed, so that the next one need not wait for the leases: a host that ends
    // in order without giving them back is taken for one that lives elsewhere.
    std::mem::forget(host);
    Ok(serde_json::to_string(&Loaded { bytes: resident_bytes(), processors, took_s })?)
}

async fn newest(store: &SqliteStore, count: usize) -> Result<Vec<SessionId>> {
    let mut ids: Vec<SessionId> = Vec::new();
    while ids.len() < count {
        let page = store.list_sessions(PAGE, ids.last().cloned()).await?;
        if page.is_empty() {
            return Err(format!("there are only {} sessions", ids.len()).into());
        }
        for session in page.into_iter().take(count - ids.len()) {
            ids.push(SessionId::parse(&session.id)?);
        }
    }
    Ok(ids)
}

/// Seconds of processors that this process has used.
fn processor_s() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_take_is_told_from_fewer() {
        let line = |count: f64| 7.0 + 0.01 * count;
        assert!((at_all(1_000, line(100.0), line(1_000.0)) - line(10_000.0)).abs() < 1e-6);
        assert_eq!(at_all(SESSIONS, 1.0, 5.0), 5.0, "all of them are what they are");
    }
}
