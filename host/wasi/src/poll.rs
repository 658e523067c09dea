//! `wasi:io/poll` as guests see it: which pollables are ready is an observation of a harness.
//!
//! It knows to ask [`WasiHost`](crate::WasiHost) before a poll and to tell it after one. How a live
//! poll waits is wasmtime-wasi's business.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, ensure};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi_io::bindings::wasi::io::poll;

use crate::WasiData;
use crate::ambient::Ambient;

const POLL: &str = "wasi:io/poll.poll";
const READY: &str = "wasi:io/poll.pollable.ready";
const BLOCK: &str = "wasi:io/poll.pollable.block";

/// Puts polls that [`WasiHost`](crate::WasiHost) hears of in the place of WASI's; the linker must allow shadowing.
pub(crate) fn shadow<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    poll::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)
}

/// Checks a recorded answer against what the guest asks now: recorded bytes are not trusted to fit.
fn check(function: &str, ready: &[u32], polled: usize, ready_min: usize) -> Result<()> {
    let ascending = ready.is_sorted_by(|a, b| a < b);
    let known = ready.last().is_none_or(|last| (*last as usize) < polled);
    ensure!(
        ascending && known && ready.len() >= ready_min,
        "{function} asks about {polled} pollables, but the recorded answer is {ready:?}"
    );
    Ok(())
}

impl poll::Host for Ambient<'_> {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> Result<Vec<u32>> {
        if let Some(ready) = self.imports.replayed_ready(POLL, pollables.len(), 1)? {
            check(POLL, &ready, pollables.len(), 1)?;
            return Ok(ready);
        }
        let mut ready = poll::Host::poll(self.clocks.table, pollables).await?;
        // One order for what is ready at the same time, whichever future was asked first.
        ready.sort_unstable();
        self.imports.observed_ready(POLL, &ready)?;
        Ok(ready)
    }
}

impl poll::HostPollable for Ambient<'_> {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> Result<bool> {
        if let Some(ready) = self.imports.replayed_ready(READY, 1, 0)? {
            check(READY, &ready, 1, 0)?;
            return Ok(!ready.is_empty());
        }
        let ready = poll::HostPollable::ready(self.clocks.table, pollable).await?;
        let indexes: &[u32] = if ready { &[0] } else { &[] };
        self.imports.observed_ready(READY, indexes)?;
        Ok(ready)
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        if let Some(ready) = self.imports.replayed_ready(BLOCK, 1, 1)? {
            return check(BLOCK, &ready, 1, 1);
        }
        poll::HostPollable::block(self.clocks.table, pollable).await?;
        self.imports.observed_ready(BLOCK, &[0])
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        poll::HostPollable::drop(self.clocks.table, pollable)
    }
}
