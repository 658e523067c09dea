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
use rewake_bindings::{LogImports, log};
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

impl LogImports for StepImports {
    fn log(&mut self, level: log::Level, message: String) -> BoxFuture<'_, Result<()>> {
        self.recorder.log(level, &message);
        Box::pin(async { Ok(()) })
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

    fn observe_ready<'a>(
        &'a mut self,
        function: &'static str,
        pollables: usize,
        ready_min: usize,
        live: BoxFuture<'a, Result<Vec<u32>>>,
    ) -> BoxFuture<'a, Result<Vec<u32>>> {
        Box::pin(ambient::ready(&mut self.recorder, function, pollables, ready_min, live))
    }

    /// A harness's mounts are read-only: it changes nothing.
    fn use_file<'a>(
        &'a mut self,
        asked: &'a FileUse,
        _may_change: bool,
        live: BoxFuture<'a, Result<FileAnswer>>,
    ) -> BoxFuture<'a, Result<FileAnswer>> {
        Box::pin(files::use_file(&mut self.recorder, asked, live))
    }
}
