//! What a guest asks of its host, as one trait that the runtime implements.
//!
//! It knows the calls and their types. It does not know who answers them, or whether an answer is
//! performed or read from the journal: that is the implementation's to decide, call by call.
//!
//! Every method traps unless it is implemented, so an implementation for a kind of plugin grants
//! exactly what it names. An `Err` is always a trap: the instance is dead after it. What a guest
//! may know about is in the contract's own errors.

use std::any::Any;
use std::time::Duration;

use futures_util::future::BoxFuture;
use wasmtime::{Result, bail};

use crate::files::{FileAnswer, FileUse};
use crate::types::{Json, Part, ToolDef, ToolResult, ToolUse};
use crate::{http, log, model, session};

/// The most bytes of randomness that a guest gets in one call; asking for more traps.
pub(crate) const RANDOM_BYTES_MAX: u64 = 64 * 1024;

/// The host's side of a guest's imports.
///
/// `Any`, so that whoever put an implementation into a Store gets it back as what it is.
pub trait Imports: Any + Send {
    /// `model.complete`.
    fn model_complete(
        &mut self,
        request: model::Request,
    ) -> BoxFuture<'_, Result<Result<model::Completion, model::Error>>> {
        let _ = request;
        refuse("rewake:plugin/model.complete")
    }

    /// `tools.list-tools`.
    fn tools_list(&mut self) -> BoxFuture<'_, Result<Vec<ToolDef>>> {
        refuse("rewake:plugin/tools.list-tools")
    }

    /// `tools.call`; the results are in the order of the calls.
    fn tools_call(&mut self, uses: Vec<ToolUse>) -> BoxFuture<'_, Result<Vec<ToolResult>>> {
        let _ = uses;
        refuse("rewake:plugin/tools.call")
    }

    /// `session.info`.
    fn session_info(&mut self) -> BoxFuture<'_, Result<session::SessionInfo>> {
        refuse("rewake:plugin/session.info")
    }

    /// `session.events`.
    fn session_events(&mut self, slice: session::Slice) -> BoxFuture<'_, Result<Vec<session::Event>>> {
        let _ = slice;
        refuse("rewake:plugin/session.events")
    }

    /// `session.blob`; offset and length are in bytes.
    fn session_blob(
        &mut self,
        digest: String,
        offset: u32,
        length: u32,
    ) -> BoxFuture<'_, Result<Result<Vec<u8>, String>>> {
        let _ = (digest, offset, length);
        refuse("rewake:plugin/session.blob")
    }

    /// `session.say`; returns the message's seq.
    fn session_say(&mut self, parts: Vec<Part>) -> BoxFuture<'_, Result<u32>> {
        let _ = parts;
        refuse("rewake:plugin/session.say")
    }

    /// `session.emit`; returns the marker's seq.
    fn session_emit(&mut self, kind: String, data: Json) -> BoxFuture<'_, Result<Result<u32, String>>> {
        let _ = (kind, data);
        refuse("rewake:plugin/session.emit")
    }

    /// `session.set-title`.
    fn session_set_title(&mut self, title: String) -> BoxFuture<'_, Result<()>> {
        let _ = title;
        refuse("rewake:plugin/session.set-title")
    }

    /// `session.set-activity`.
    fn session_set_activity(&mut self, line: String) -> BoxFuture<'_, Result<()>> {
        let _ = line;
        refuse("rewake:plugin/session.set-activity")
    }

    /// `session.spawn`; returns the child's id.
    fn session_spawn(&mut self, child: session::Child) -> BoxFuture<'_, Result<Result<String, String>>> {
        let _ = child;
        refuse("rewake:plugin/session.spawn")
    }

    /// `session.archive`.
    fn session_archive(&mut self, handoff: Option<String>) -> BoxFuture<'_, Result<Result<(), String>>> {
        let _ = handoff;
        refuse("rewake:plugin/session.archive")
    }

    /// `http.fetch`.
    fn http_fetch(
        &mut self,
        request: http::Request,
    ) -> BoxFuture<'_, Result<Result<http::Response, http::Error>>> {
        let _ = request;
        refuse("rewake:plugin/http.fetch")
    }

    /// `log.log`. Called often: it must not wait.
    fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        let _ = (level, message);
        refused("rewake:plugin/log.log")
    }

    // What a guest sees of the world around it.

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
    /// [`observe_monotonic`](Imports::observe_monotonic) reads `instant_ns`.
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
