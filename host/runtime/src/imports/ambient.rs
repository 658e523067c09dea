//! The world around a harness: clocks, sleeping, polling, randomness (journal.md R7). Readings are
//! observations, in whole milliseconds; randomness is a stream made from the step's seed and so needs no record.

use std::time::Duration;

use rewake_core::difference::Difference;
use rewake_core::fact::Observed;
use rewake_wasi::{CLOCK_RESOLUTION_NS, coarse_ns};
use wasmtime::{Result, bail};

use crate::record::Recorder;
use rewake_sandbox::clock::Clock;

pub(super) fn wall(recorder: &mut Recorder, clock: &dyn Clock) -> Result<Duration> {
    let observed = recorder.observe("wall-clock.now", |_| {
        let now = clock.wall();
        Observed::Wall(now.as_secs(), now.subsec_nanos() - now.subsec_nanos() % CLOCK_RESOLUTION_NS)
    })?;
    match observed {
        Observed::Wall(seconds, nanoseconds) => Ok(Duration::new(seconds, nanoseconds)),
        other => bail!("recorded {}", other.function()),
    }
}

pub(super) fn monotonic(recorder: &mut Recorder) -> Result<u64> {
    let observed = recorder
        .observe("monotonic-clock.now", |recorder| Observed::Monotonic(coarse_ns(recorder.monotonic_ns())))?;
    match observed {
        Observed::Monotonic(ns) => Ok(ns),
        other => bail!("recorded {}", other.function()),
    }
}

/// How much is really left to wait. What is recorded is the deadline, so that a step that goes live
/// sleeps only for what is left of it.
pub(super) fn sleep(recorder: &mut Recorder, duration_ns: u64) -> Result<u64> {
    deadline(recorder, "duration", |now| now.saturating_add(duration_ns))
}

pub(super) fn sleep_until(recorder: &mut Recorder, instant_ns: u64) -> Result<u64> {
    deadline(recorder, "instant", |_| instant_ns)
}

fn deadline(recorder: &mut Recorder, field: &str, of: impl Fn(u64) -> u64) -> Result<u64> {
    const FUNCTION: &str = "monotonic-clock.subscribe";
    let observed = recorder.observe(FUNCTION, |recorder| {
        let now = recorder.monotonic_ns();
        Observed::Deadline(now, of(now))
    })?;
    match observed {
        // What is recorded is when it began and when it ends; the same call ends as long after its beginning.
        Observed::Deadline(now, at) if at != of(now) => {
            let shown = |at: u64| format!("{} ns after it was called", at.saturating_sub(now));
            let (expected, got) = (shown(at), shown(of(now)));
            Err(recorder.misread(FUNCTION, Difference { path: field.to_owned(), expected, got }))
        }
        Observed::Deadline(_, at) => Ok(at.saturating_sub(recorder.monotonic_ns())),
        other => bail!("recorded {}", other.function()),
    }
}

/// The guest may wait now: what it observed before goes to the disk, so that a sleep that is cut goes on
/// to its deadline and does not begin anew.
pub(super) fn replayed_ready(
    recorder: &mut Recorder,
    function: &str,
    pollables: usize,
    ready_min: usize,
) -> Result<Option<Vec<u32>>> {
    match recorder.recorded("poll")? {
        Some(Observed::Ready(ready)) => {
            let fits = ready.last().is_none_or(|last| (*last as usize) < pollables);
            if fits && ready.len() >= ready_min {
                return Ok(Some(ready));
            }
            let expected = format!("in which {ready:?} were ready");
            let got = format!("of {pollables}, of which at least {ready_min} must be: {function}");
            Err(recorder.misread("poll", Difference { path: "pollables".to_owned(), expected, got }))
        }
        Some(other) => bail!("recorded {}", other.function()),
        None => {
            recorder.write_observed();
            Ok(None)
        }
    }
}

pub(super) fn observed_ready(recorder: &mut Recorder, ready: &[u32]) -> Result<()> {
    recorder.observed(Observed::Ready(ready.to_vec()))
}

pub(super) fn random(recorder: &mut Recorder, length: usize) -> Vec<u8> {
    recorder.count("random");
    let mut bytes = vec![0; length];
    recorder.fill_random(&mut bytes);
    bytes
}

pub(super) fn random_u64(recorder: &mut Recorder) -> u64 {
    recorder.count("random");
    let mut bytes = [0; 8];
    recorder.fill_random(&mut bytes);
    u64::from_le_bytes(bytes)
}
