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

    /// A poll: which of so many pollables are ready, as ascending indexes. `live` polls them, if the answer is not
    /// known otherwise. Where `function` asks about a single one (`pollable.ready`, `pollable.block`), the answer is
    /// `[0]` or nothing. At least `ready_min` must be ready.
    fn observe_ready<'a>(
        &'a mut self,
        function: &'static str,
        pollables: usize,
        ready_min: usize,
        live: BoxFuture<'a, Result<Vec<u32>>>,
    ) -> BoxFuture<'a, Result<Vec<u32>>> {
        let _ = (pollables, ready_min, live);
        refuse(function)
    }

    /// A use of a file. `live` performs it, if the answer is not known otherwise. If it may change something, it waits
    /// until the guest may do that.
    fn use_file<'a>(
        &'a mut self,
        asked: &'a FileUse,
        may_change: bool,
        live: BoxFuture<'a, Result<FileAnswer>>,
    ) -> BoxFuture<'a, Result<FileAnswer>> {
        let _ = (asked, may_change, live);
        refuse("wasi:filesystem")
    }

    /// The end of a use whose call was dropped while it was performed.
    fn file_settled(&mut self, asked: &FileUse, answer: &FileAnswer) -> Result<()> {
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
