//! What a guest asks of its host through WASI, as one trait.
//!
//! It knows the calls and their types. It does not know who answers them, or whether an answer is performed or read
//! from the journal: the implementation decides that, call by call.

use std::any::Any;
use std::time::Duration;

use futures_util::future::BoxFuture;
use wasmtime::{Result, bail};

use rewake_wire::entry::FileAnswer;

use crate::files::FileUse;

/// The host's side of WASI.
///
/// Every method traps unless it is implemented. An `Err` is always a trap: the instance is dead after it. `Any`, so
/// that the owner of a Store can take its implementation out again as its own type.
pub trait WasiHost: Any + Send {
    /// `wall-clock.now`: the time since 1970-01-01T00:00:00Z.
    fn observe_wall(&mut self) -> Result<Duration> {
        refused("wasi:clocks/wall-clock.now")
    }

    /// `monotonic-clock.now`: nanoseconds since a moment of the implementation's choice.
    fn observe_monotonic(&mut self) -> Result<u64> {
        refused("wasi:clocks/monotonic-clock.now")
    }

    /// `monotonic-clock.subscribe-duration`: how many of `duration_ns` nanoseconds are really left
    /// to wait.
    fn observe_sleep(&mut self, duration_ns: u64) -> Result<u64> {
        let _ = duration_ns;
        refused("wasi:clocks/monotonic-clock.subscribe-duration")
    }

    /// `monotonic-clock.subscribe-instant`: how many nanoseconds are left until the clock of
    /// [`observe_monotonic`](WasiHost::observe_monotonic) reads `instant_ns`.
    fn observe_sleep_until(&mut self, instant_ns: u64) -> Result<u64> {
        let _ = instant_ns;
        refused("wasi:clocks/monotonic-clock.subscribe-instant")
    }

    /// `random.get-random-bytes` and its insecure sibling: exactly `length` bytes, which is at
    /// most 64 KiB.
    fn random_bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let _ = length;
        refused("wasi:random/random.get-random-bytes")
    }

    /// `random.get-random-u64` and its insecure sibling.
    fn random_u64(&mut self) -> Result<u64> {
        refused("wasi:random/random.get-random-u64")
    }

    /// `insecure-seed.insecure-seed`: what Rust seeds its hash maps with.
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        refused("wasi:random/insecure-seed.insecure-seed")
    }

    /// Asked before a guest polls: the recorded answer, or none when it is to be polled live.
    ///
    /// The answer is the ascending indexes of what was ready; where `function` asks about a single
    /// pollable (`pollable.ready`, `pollable.block`) that is `[0]` or nothing. An answer must be of fewer than
    /// `pollables` indexes, and of at least `ready_min`.
    fn replayed_ready(
        &mut self,
        function: &'static str,
        pollables: usize,
        ready_min: usize,
    ) -> Result<Option<Vec<u32>>> {
        let _ = (pollables, ready_min);
        refused(function)
    }

    /// Told what a live poll found, in the same form.
    fn observed_ready(&mut self, function: &'static str, ready: &[u32]) -> Result<()> {
        let _ = ready;
        refused(function)
    }

    /// Asked before a guest's use of a file is performed: the recorded answer, or none when it is to be
    /// performed.
    fn file_replayed(&mut self, asked: &FileUse) -> Result<Option<FileAnswer>> {
        let _ = asked;
        refused("wasi:filesystem")
    }

    /// Waits until the guest may change a file; asked before every use that may, and is performed.
    fn file_may_change(&mut self) -> BoxFuture<'_, Result<()>> {
        refuse("wasi:filesystem")
    }

    /// Told what came of a use of a file that was performed, or refused.
    fn file_observed(&mut self, asked: &FileUse, answer: &FileAnswer) -> Result<()> {
        let _ = (asked, answer);
        refused("wasi:filesystem")
    }
}

fn refused<T>(function: &'static str) -> Result<T> {
    bail!("{function} is not importable by this kind of plugin")
}

fn refuse<T: Send + 'static>(function: &'static str) -> BoxFuture<'static, Result<T>> {
    Box::pin(async move { refused(function) })
}
