//! The deadline of a session's lease, as its guests see it. Knows a clock; renewing the lease is in `lease.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;

/// How often a guest that waits for a renewal reads the deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Until when a guest may begin an effect, in milliseconds of the boot clock. Guests act between two checks of the
/// driver, so they check for themselves. Without a keeper, as in a replay or a single call, there is no deadline.
pub struct LeaseDeadline(AtomicU64);

impl Default for LeaseDeadline {
    fn default() -> Self {
        LeaseDeadline(AtomicU64::new(u64::MAX))
    }
}

impl LeaseDeadline {
    /// Waits until a request may leave or a file may change. If the lease is lost, the driver drops the waiting
    /// guest; if the process was only suspended, the driver renews the lease.
    pub(crate) async fn wait(&self, clock: &dyn Clock) {
        while clock.boot_ms() >= self.0.load(Ordering::Acquire) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Moves the deadline, after the lease was renewed.
    pub fn set(&self, until_ms: u64) {
        self.0.store(until_ms, Ordering::Release);
    }
}
