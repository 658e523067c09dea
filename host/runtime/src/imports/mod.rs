//! What a harness can import, one file a domain. None of them knows whether the step is being replayed:
//! they ask the recorder what is recorded, and perform what is not.

mod ambient;
mod files;
mod http;
mod judge;
mod model;
mod session;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rewake_bindings::{Imports, http as wit_http, log, model as wit_model, session as wit_session, types};
use rewake_wasi::{FileUse, WasiHost};
use rewake_wire::entry::FileAnswer;
use wasmtime::Result;

use crate::context::SessionContext;
use crate::record::Recorder;

/// Reads from the store in a task of its own. The driver polls its guest only while it waits for nothing else: a guest
/// that holds a connection to the store meanwhile would keep it from the driver itself, and from every other session.
async fn apart<T: Send + 'static>(read: impl Future<Output = T> + Send + 'static) -> Result<T> {
    Ok(tokio::spawn(read).await?)
}

/// The imports of one step.
pub(crate) struct StepImports {
    pub(crate) recorder: Recorder,
    pub(crate) cx: Arc<SessionContext>,
}

impl Imports for StepImports {
    fn model_complete(
        &mut self,
        request: wit_model::Request,
    ) -> BoxFuture<'_, Result<Result<wit_model::Completion, wit_model::Error>>> {
        Box::pin(model::complete(self, request))
    }

    fn tools_list(&mut self) -> BoxFuture<'_, Result<Vec<types::ToolDef>>> {
        Box::pin(async { Ok(tools::list(self)) })
    }

    fn tools_call(&mut self, uses: Vec<types::ToolUse>) -> BoxFuture<'_, Result<Vec<types::ToolResult>>> {
        Box::pin(tools::call(self, uses))
    }

    fn session_info(&mut self) -> BoxFuture<'_, Result<wit_session::SessionInfo>> {
        Box::pin(async { Ok(session::info(self)) })
    }

    fn session_events(
        &mut self,
        slice: wit_session::Slice,
    ) -> BoxFuture<'_, Result<Vec<wit_session::Event>>> {
        Box::pin(session::events(self, slice))
    }

    fn session_blob(
        &mut self,
        digest: String,
        offset: u32,
        length: u32,
    ) -> BoxFuture<'_, Result<std::result::Result<Vec<u8>, String>>> {
        Box::pin(session::blob(self, digest, offset, length))
    }

    fn session_say(&mut self, parts: Vec<types::Part>) -> BoxFuture<'_, Result<u32>> {
        Box::pin(session::say(self, parts))
    }

    fn session_emit(
        &mut self,
        kind: String,
        data: String,
    ) -> BoxFuture<'_, Result<std::result::Result<u32, String>>> {
        Box::pin(session::emit(self, kind, data))
    }

    fn session_set_title(&mut self, title: String) -> BoxFuture<'_, Result<()>> {
        Box::pin(session::set_title(self, title))
    }

    fn session_set_activity(&mut self, line: String) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            session::set_activity(self, line).await;
            Ok(())
        })
    }

    fn session_spawn(
        &mut self,
        _child: wit_session::Child,
    ) -> BoxFuture<'_, Result<std::result::Result<String, String>>> {
        self.recorder.count("session.spawn");
        Box::pin(async { Ok(Err("spawn is not available here".to_owned())) })
    }

    fn session_archive(
        &mut self,
        _handoff: Option<String>,
    ) -> BoxFuture<'_, Result<std::result::Result<(), String>>> {
        self.recorder.count("session.archive");
        Box::pin(async { Ok(Err("archive is not available here".to_owned())) })
    }

    fn http_fetch(
        &mut self,
        request: wit_http::Request,
    ) -> BoxFuture<'_, Result<std::result::Result<wit_http::Response, wit_http::Error>>> {
        Box::pin(http::fetch(self, request))
    }

    fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        self.recorder.log(level, &message);
        Ok(())
    }
}

impl WasiHost for StepImports {
    fn observe_wall(&mut self) -> Result<Duration> {
        ambient::wall(&mut self.recorder, self.cx.clock.as_ref())
    }

    fn observe_monotonic(&mut self) -> Result<u64> {
        ambient::monotonic(&mut self.recorder)
    }

    fn observe_sleep(&mut self, duration_ns: u64) -> Result<u64> {
        ambient::sleep(&mut self.recorder, duration_ns)
    }

    fn observe_sleep_until(&mut self, instant_ns: u64) -> Result<u64> {
        ambient::sleep_until(&mut self.recorder, instant_ns)
    }

    fn random_bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        Ok(ambient::random(&mut self.recorder, length))
    }

    fn random_u64(&mut self) -> Result<u64> {
        Ok(ambient::random_u64(&mut self.recorder))
    }

    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        Ok((ambient::random_u64(&mut self.recorder), ambient::random_u64(&mut self.recorder)))
    }

    fn replayed_ready(
        &mut self,
        function: &'static str,
        pollables: usize,
        ready_min: usize,
    ) -> Result<Option<Vec<u32>>> {
        ambient::replayed_ready(&mut self.recorder, function, pollables, ready_min)
    }

    fn observed_ready(&mut self, _function: &'static str, ready: &[u32]) -> Result<()> {
        ambient::observed_ready(&mut self.recorder, ready)
    }

    fn file_replayed(&mut self, asked: &FileUse) -> Result<Option<FileAnswer>> {
        files::replayed(&mut self.recorder, asked)
    }

    /// A harness's mounts are read-only: it changes nothing.
    fn file_may_change(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn file_observed(&mut self, asked: &FileUse, answer: &FileAnswer) -> Result<()> {
        files::observed(&mut self.recorder, asked, answer)
    }
}
