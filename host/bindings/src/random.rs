//! Randomness by the handful: the functions of `wasi:random` that compute up to 64 KiB a call let other tasks
//! run in between. Where the bytes come from differs by the kind of plugin.

use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::random::{insecure, random};

use crate::data::Data;

/// The functions, with their interfaces in the version that wasmtime-wasi links; a test holds the two together.
pub(crate) const FUNCTIONS: [(&str, &str); 2] = [
    ("wasi:random/random@0.2.12", "get-random-bytes"),
    ("wasi:random/insecure@0.2.12", "get-insecure-random-bytes"),
];

type Bytes = fn(&mut Data, u64) -> Result<Vec<u8>>;

/// Puts paced functions in the place of WASI's; the linker must allow shadowing.
pub(crate) fn shadow(linker: &mut Linker<Data>, sources: [Bytes; 2]) -> Result<()> {
    for ((interface, function), bytes) in FUNCTIONS.into_iter().zip(sources) {
        linker.instance(interface)?.func_wrap_async(function, move |mut store, (length,): (u64,)| {
            Box::new(async move {
                let data = store.data_mut();
                data.pace().await;
                Ok((bytes(data, length)?,))
            })
        })?;
    }
    Ok(())
}

/// The machine's, for tools and hooks.
pub(crate) const MACHINE: [Bytes; 2] = [
    |data, length| random::Host::get_random_bytes(data.random(), length),
    |data, length| insecure::Host::get_insecure_random_bytes(data.random(), length),
];

/// What the imports say, for harnesses.
pub(crate) const RECORDED: [Bytes; 2] = [
    |data, length| random::Host::get_random_bytes(&mut data.ambient(), length),
    |data, length| insecure::Host::get_insecure_random_bytes(&mut data.ambient(), length),
];
