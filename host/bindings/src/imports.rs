//! What a guest asks of its host, as one trait that the runtime implements.
//!
//! It knows the calls and their types. It does not know who answers them, or whether an answer is
//! performed or read from the journal: that is the implementation's to decide, call by call.
//!
//! Every method traps unless it is implemented, so an implementation for a kind of plugin grants
//! exactly what it names. An `Err` is always a trap: the instance is dead after it. What a guest
//! may know about is in the contract's own errors.

use futures_util::future::BoxFuture;
use rewake_wasi::WasiHost;
use wasmtime::{Result, bail};

use crate::types::{Json, Part, ToolDef, ToolResult, ToolUse};
use crate::{http, log, model, session};

/// The host's side of a guest's imports.
///
/// WASI's half of it is [`WasiHost`].
pub trait Imports: WasiHost {
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
}

fn refused<T>(function: &'static str) -> Result<T> {
    bail!("{function} is not importable by this kind of plugin")
}

fn refuse<T: Send + 'static>(function: &'static str) -> BoxFuture<'static, Result<T>> {
    Box::pin(async move { refused(function) })
}
