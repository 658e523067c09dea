//! Randomness by the handful: the functions of `wasi:random` that compute up to 64 KiB a call let other tasks
//! run in between. Where the bytes come from, the imports say.

use wasmtime::Result;
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::random::{insecure, random};

use crate::WasiData;
use crate::ambient::Ambient;

/// The functions, with their interfaces in the version that wasmtime-wasi links; a test holds the two together.
pub(crate) const FUNCTIONS: [(&str, &str); 2] = [
    ("wasi:random/random@0.2.12", "get-random-bytes"),
    ("wasi:random/insecure@0.2.12", "get-insecure-random-bytes"),
];

type Bytes = fn(&mut Ambient<'_>, u64) -> Result<Vec<u8>>;

const SOURCES: [Bytes; 2] = [
    |ambient, length| random::Host::get_random_bytes(ambient, length),
    |ambient, length| insecure::Host::get_insecure_random_bytes(ambient, length),
];

/// Puts paced functions in the place of WASI's; the linker must allow shadowing.
pub(crate) fn shadow<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    for ((interface, function), bytes) in FUNCTIONS.into_iter().zip(SOURCES) {
        linker.instance(interface)?.func_wrap_async(function, move |mut store, (length,): (u64,)| {
            Box::new(async move {
                let data = store.data_mut();
                data.pace().keep().await;
                Ok((bytes(&mut data.ambient(), length)?,))
            })
        })?;
    }
    Ok(())
}
