//! WASI as guests see it: files, clocks, randomness and polls of our own, the rest from wasmtime-wasi.
//!
//! Every function that tells a guest something goes to [`WasiHost`], where it is counted, and recorded for a harness.
//! Generic over a Store's data, as wasmtime-wasi is; does not know the plugin contract.

mod ambient;
mod clocks;
mod files;
mod host;
mod pace;
mod poll;
mod random;

use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi::WasiView;

pub use ambient::Ambient;
pub use clocks::{CLOCK_RESOLUTION_NS, coarse_ns};
pub use files::{Access, DEPTH_MAX, FileUse, Files, Mount, Opened, Quota, Volume};
pub use host::WasiHost;
pub use pace::Pace;

/// The data of a Store whose guests see this WASI.
pub trait WasiData: WasiView + 'static {
    /// For `wasi:filesystem` and the streams of files.
    fn files(&mut self) -> Files<'_>;

    /// For clocks, randomness and polls.
    fn ambient(&mut self) -> Ambient<'_>;

    /// How long other tasks have waited for this guest.
    fn pace(&mut self) -> &mut Pace;
}

/// Links WASI, with our functions in the place of those that tell a guest something.
///
/// # Errors
/// A name that is defined twice, which is a bug.
pub fn add_to_linker<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    files::shadow(linker)?;
    ambient::shadow(linker)?;
    random::shadow(linker)?;
    poll::shadow(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

#[cfg(test)]
mod tests {
    use wasmtime::Engine;
    use wasmtime_wasi::{WasiCtxView, WasiView};

    use super::*;

    struct Data;

    impl WasiView for Data {
        fn ctx(&mut self) -> WasiCtxView<'_> {
            unreachable!("nothing is called")
        }
    }

    /// What stands in the place of single functions of WASI must have the name of the interface that is
    /// linked: another version of it would be served by nobody's.
    #[test]
    fn what_is_shadowed_is_what_is_linked() {
        let engine = Engine::default();
        let streams = files::STREAMS.map(|function| (files::STREAMS_INTERFACE, function));
        for (interface, function) in streams.into_iter().chain(random::FUNCTIONS) {
            let mut linker = Linker::<Data>::new(&engine);
            wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
            let twice = linker.instance(interface).unwrap().func_wrap(function, |_, (): ()| Ok(()));
            assert!(twice.is_err(), "{interface} has no {function}");
        }
    }
}
