//! The host's side of the imports, as the tests need it: it notes what was asked and answers with
//! what it was given.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rewake_bindings::{HttpImports, LogImports, ModelImports, SessionImports, ToolsImports, http, log};
use rewake_wasi::WasiHost;
use wasmtime::Result;

#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) seen: Vec<String>,
    /// What polls get instead of being live, in order.
    pub(crate) replay: VecDeque<Vec<u32>>,
    /// How long a sleep really takes.
    pub(crate) sleep_ns: u64,
}

impl Recorder {
    fn note(&mut self, what: impl Into<String>) {
        self.seen.push(what.into());
    }
}

impl ModelImports for Recorder {}

impl ToolsImports for Recorder {}

impl SessionImports for Recorder {
    fn set_title(&mut self, title: String) -> BoxFuture<'_, Result<()>> {
        async move {
            // Once round the scheduler: the call really waits.
            tokio::task::yield_now().await;
            self.note(format!("title {title}"));
            Ok(())
        }
        .boxed()
    }
}

impl HttpImports for Recorder {
    fn fetch(
        &mut self,
        request: http::Request,
    ) -> BoxFuture<'_, Result<Result<http::Response, http::Error>>> {
        async move {
            self.note(format!("fetch {}", request.url));
            Ok(Err(http::Error::TimedOut))
        }
        .boxed()
    }
}

impl LogImports for Recorder {
    fn log(&mut self, level: log::Level, message: String) -> BoxFuture<'_, Result<()>> {
        self.note(format!("{level:?} {message}"));
        async { Ok(()) }.boxed()
    }
}

impl WasiHost for Recorder {
    fn observe_wall(&mut self) -> Result<Duration> {
        self.note("wall");
        Ok(Duration::new(1_000, 7))
    }

    fn observe_monotonic(&mut self) -> Result<u64> {
        self.note("monotonic");
        Ok(42)
    }

    fn observe_sleep(&mut self, duration_ns: u64) -> Result<u64> {
        self.note(format!("sleep {duration_ns}"));
        Ok(self.sleep_ns)
    }

    fn observe_sleep_until(&mut self, instant_ns: u64) -> Result<u64> {
        self.note(format!("sleep until {instant_ns}"));
        Ok(self.sleep_ns)
    }

    fn random_bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        self.note(format!("bytes {length}"));
        Ok(vec![5; length])
    }

    fn random_u64(&mut self) -> Result<u64> {
        self.note("u64");
        Ok(9)
    }

    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        self.note("seed");
        Ok((3, 4))
    }

    fn observe_ready<'a>(
        &'a mut self,
        function: &'static str,
        _: usize,
        _: usize,
        live: BoxFuture<'a, Result<Vec<u32>>>,
    ) -> BoxFuture<'a, Result<Vec<u32>>> {
        async move {
            if let Some(ready) = self.replay.pop_front() {
                return Ok(ready);
            }
            let ready = live.await?;
            self.note(format!("{function} {ready:?}"));
            Ok(ready)
        }
        .boxed()
    }
}
