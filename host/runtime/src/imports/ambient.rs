//! The world around a harness: clocks, sleeping, polling, randomness (journal.md R7). Readings are
//! observations, in whole milliseconds; randomness is a stream made from the step's seed and so needs no record.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rewake_core::difference::Difference;
use rewake_core::fact::Observed;
use rewake_wasi::{CLOCK_RESOLUTION_NS, coarse_ns};
use wasmtime::{Result, bail};

use crate::record::{Recorder, misfit};
use rewake_sandbox::clock::Clock;

/// Clocks are read at once: nothing is waited for.
fn now<T>(reading: impl Future<Output = Result<T>>) -> Result<T> {
    reading.now_or_never().unwrap_or_else(|| bail!("a clock was waited for"))
}

pub(super) fn wall(recorder: &mut Recorder, clock: &dyn Clock) -> Result<Duration> {
    let replayed = |recorded| match recorded {
        Observed::Wall(seconds, nanoseconds) => Ok(Duration::new(seconds, nanoseconds)),
        other => Err(misfit(&other)),
    };
    now(recorder.observe("wall-clock.now", replayed, async |_| {
        let now = clock.wall();
        let now = Duration::new(now.as_secs(), now.subsec_nanos() - now.subsec_nanos() % CLOCK_RESOLUTION_NS);
        Ok((Observed::Wall(now.as_secs(), now.subsec_nanos()), now))
    }))
}

pub(super) fn monotonic(recorder: &mut Recorder) -> Result<u64> {
    let replayed = |recorded| match recorded {
        Observed::Monotonic(ns) => Ok(ns),
        other => Err(misfit(&other)),
    };
    now(recorder.observe("monotonic-clock.now", replayed, async |recorder| {
        let ns = coarse_ns(recorder.monotonic_ns());
        Ok((Observed::Monotonic(ns), ns))
    }))
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
    let replayed = |recorded| match recorded {
        // What is recorded is when it began and when it ends; the same call ends as long after its beginning.
        Observed::Deadline(now, at) if at != of(now) => {
            let shown = |at: u64| format!("{} ns after it was called", at.saturating_sub(now));
            let (expected, got) = (shown(at), shown(of(now)));
            Err(Difference { path: field.to_owned(), expected, got })
        }
        Observed::Deadline(_, at) => Ok(at),
        other => Err(misfit(&other)),
    };
    let at = now(recorder.observe("monotonic-clock.subscribe", replayed, async |recorder| {
        let now = recorder.monotonic_ns();
        Ok((Observed::Deadline(now, of(now)), of(now)))
    }))?;
    Ok(at.saturating_sub(recorder.monotonic_ns()))
}

/// A poll. The guest may wait now: what it observed before goes to the disk, so that a sleep that is cut resumes with
/// its old deadline.
pub(super) async fn ready(
    recorder: &mut Recorder,
    function: &'static str,
    pollables: usize,
    ready_min: usize,
    live: BoxFuture<'_, Result<Vec<u32>>>,
) -> Result<Vec<u32>> {
    let replayed = |recorded| {
        let Observed::Ready(ready) = recorded else { return Err(misfit(&recorded)) };
        let fits = ready.last().is_none_or(|last| (*last as usize) < pollables);
        if fits && ready.len() >= ready_min {
            return Ok(ready);
        }
        let expected = format!("in which {ready:?} were ready");
        let got = format!("of {pollables}, of which at least {ready_min} must be: {function}");
        Err(Difference { path: "pollables".to_owned(), expected, got })
    };
    let live = async |recorder: &mut Recorder| {
        recorder.write_observed();
        let ready = live.await?;
        Ok((Observed::Ready(ready.clone()), ready))
    };
    recorder.observe("poll", replayed, live).await
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
