//! `wasi:io/poll` as guests see it: which pollables are ready is an observation of a harness.
//!
//! It knows that [`WasiHost`] answers a poll, or has it polled. How a live poll waits is wasmtime-wasi's business.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, ensure};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi_io::bindings::wasi::io::poll;

use crate::ambient::Ambient;
use crate::{WasiData, WasiHost};

const POLL: &str = "wasi:io/poll.poll";
const READY: &str = "wasi:io/poll.pollable.ready";
const BLOCK: &str = "wasi:io/poll.pollable.block";

/// Puts polls that [`WasiHost`] hears of in the place of WASI's; the linker must allow shadowing.
pub(crate) fn shadow<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    poll::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)
}

impl Ambient<'_> {
    /// One poll. Recorded bytes are not trusted to fit what the guest asks now.
    async fn observed<'a>(
        imports: &'a mut dyn WasiHost,
        function: &'static str,
        polled: usize,
        ready_min: usize,
        live: impl Future<Output = Result<Vec<u32>>> + Send + 'a,
    ) -> Result<Vec<u32>> {
        let ready = imports.observe_ready(function, polled, ready_min, Box::pin(live)).await?;
        let ascending = ready.is_sorted_by(|a, b| a < b);
        let known = ready.last().is_none_or(|last| (*last as usize) < polled);
        ensure!(
            ascending && known && ready.len() >= ready_min,
            "{function} asks about {polled} pollables, but the recorded answer is {ready:?}"
        );
        Ok(ready)
    }
}

impl poll::Host for Ambient<'_> {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> Result<Vec<u32>> {
        let (polled, table) = (pollables.len(), &mut *self.clocks.table);
        let live = async move {
            let mut ready = poll::Host::poll(table, pollables).await?;
            // One order for what is ready at the same time, whichever future was asked first.
            ready.sort_unstable();
            Ok(ready)
        };
        Self::observed(self.imports, POLL, polled, 1, live).await
    }
}

impl poll::HostPollable for Ambient<'_> {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> Result<bool> {
        let table = &mut *self.clocks.table;
        let live = async move {
            let is_ready = poll::HostPollable::ready(table, pollable).await?;
            Ok(is_ready.then_some(0).into_iter().collect())
        };
        Ok(!Self::observed(self.imports, READY, 1, 0, live).await?.is_empty())
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        let table = &mut *self.clocks.table;
        let live = async move { poll::HostPollable::block(table, pollable).await.map(|()| vec![0]) };
        Self::observed(self.imports, BLOCK, 1, 1, live).await.map(|_| ())
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        poll::HostPollable::drop(self.clocks.table, pollable)
    }
}
