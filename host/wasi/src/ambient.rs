//! WASI clocks and randomness as guests see them: through [`WasiHost`], so that they are counted, and can be
//! recorded and replayed for a harness.
//!
//! It knows how WASI's calls map to observations. Waiting itself is wasmtime-wasi's, for as long as
//! [`WasiHost`] says. Polls are in `poll.rs`.

use wasmtime::component::{HasData, Linker, Resource};
use wasmtime::{Result, ensure};
use wasmtime_wasi::clocks::WasiClocksCtxView;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use crate::WasiData;
use crate::clocks::CLOCK_RESOLUTION_NS;
use crate::host::WasiHost;

/// The most bytes of randomness that a guest gets in one call; asking for more traps.
const RANDOM_BYTES_MAX: u64 = 64 * 1024;

/// What the shadowing interfaces need of a Store's data.
pub struct Ambient<'a> {
    /// Answers, or is told.
    pub imports: &'a mut dyn WasiHost,
    /// WASI's own clocks, which do the waiting.
    pub clocks: WasiClocksCtxView<'a>,
}

impl HasData for Ambient<'static> {
    type Data<'a> = Ambient<'a>;
}

/// Puts the imports' clocks and randomness in the place of WASI's; the linker must allow shadowing.
pub(crate) fn shadow<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    wall_clock::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)?;
    monotonic_clock::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)?;
    random::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)?;
    insecure::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)?;
    insecure_seed::add_to_linker::<T, Ambient<'static>>(linker, T::ambient)
}

impl Ambient<'_> {
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        ensure!(
            length <= RANDOM_BYTES_MAX,
            "the plugin asked for {length} random bytes in one call; the most is {RANDOM_BYTES_MAX}"
        );
        let bytes = self.imports.random_bytes(length as usize)?;
        ensure!(
            bytes.len() as u64 == length,
            "{} random bytes were supplied where {length} were asked for",
            bytes.len()
        );
        Ok(bytes)
    }
}

impl wall_clock::Host for Ambient<'_> {
    fn now(&mut self) -> Result<wall_clock::Datetime> {
        let since_epoch = self.imports.observe_wall()?;
        Ok(wall_clock::Datetime { seconds: since_epoch.as_secs(), nanoseconds: since_epoch.subsec_nanos() })
    }

    // A constant: the machine's own resolution would be an observation nobody records.
    fn resolution(&mut self) -> Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime { seconds: 0, nanoseconds: CLOCK_RESOLUTION_NS })
    }
}

impl monotonic_clock::Host for Ambient<'_> {
    fn now(&mut self) -> Result<u64> {
        self.imports.observe_monotonic()
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(u64::from(CLOCK_RESOLUTION_NS))
    }

    fn subscribe_duration(&mut self, duration_ns: u64) -> Result<Resource<DynPollable>> {
        let left_ns = self.imports.observe_sleep(duration_ns)?;
        monotonic_clock::Host::subscribe_duration(&mut self.clocks, left_ns)
    }

    // As a duration: the guest's clock and this machine's do not share a zero.
    fn subscribe_instant(&mut self, instant_ns: u64) -> Result<Resource<DynPollable>> {
        let left_ns = self.imports.observe_sleep_until(instant_ns)?;
        monotonic_clock::Host::subscribe_duration(&mut self.clocks, left_ns)
    }
}

impl random::Host for Ambient<'_> {
    fn get_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.bytes(length)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        self.imports.random_u64()
    }
}

impl insecure::Host for Ambient<'_> {
    fn get_insecure_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        self.imports.random_u64()
    }
}

impl insecure_seed::Host for Ambient<'_> {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        self.imports.insecure_seed()
    }
}
