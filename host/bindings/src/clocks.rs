//! The clocks of tools and hooks: this machine's, read in whole milliseconds. A finer clock tells a guest
//! what its neighbours do, by how long its own work takes.
//!
//! It knows time. What a harness reads is recorded, and rounded where it is observed.

use std::time::{Duration, Instant, SystemTime};

use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock};

/// The least step of every clock that a guest can read, in nanoseconds: a millisecond.
pub const CLOCK_RESOLUTION_NS: u32 = 1_000_000;

/// A time in nanoseconds, rounded down to what a guest may know of it.
#[must_use]
pub fn coarse_ns(ns: u64) -> u64 {
    ns - ns % u64::from(CLOCK_RESOLUTION_NS)
}

/// The machine's wall clock.
pub(crate) struct Wall;

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(u64::from(CLOCK_RESOLUTION_NS))
    }

    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Duration::new(now.as_secs(), now.subsec_nanos() - now.subsec_nanos() % CLOCK_RESOLUTION_NS)
    }
}

/// Time since the instance was made.
pub(crate) struct Monotonic(Instant);

impl Monotonic {
    pub(crate) fn new() -> Self {
        Monotonic(Instant::now())
    }
}

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        u64::from(CLOCK_RESOLUTION_NS)
    }

    fn now(&self) -> u64 {
        coarse_ns(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_tell_whole_milliseconds() {
        assert_eq!([0, 999_999, 1_000_000, 2_999_999].map(coarse_ns), [0, 0, 1_000_000, 2_000_000]);
        let monotonic = Monotonic::new();
        std::thread::sleep(Duration::from_millis(2));
        let read = monotonic.now();
        assert!(read >= 2_000_000 && read.is_multiple_of(1_000_000), "{read}");
        assert_eq!(Wall.now().subsec_nanos() % CLOCK_RESOLUTION_NS, 0);
    }
}
