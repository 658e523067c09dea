//! The clocks that a host judges by: one that leases are kept by, and the wall clock. Given to a host as its store
//! is, so that a test can have them leap, stand still and go back. Knows no session.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// The clocks of the machine that a host runs on.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the machine started, suspended time included. Never goes back.
    fn boot_ms(&self) -> u64;

    /// Time since 1970, as people set it: it may go back. What it is told is no part of any decision of a host.
    fn wall(&self) -> Duration;
}

/// This machine's.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn boot_ms(&self) -> u64 {
        let now = clock_gettime(ClockId::Boottime);
        u64::try_from(now.tv_sec).unwrap_or(0) * 1_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
    }

    fn wall(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}
