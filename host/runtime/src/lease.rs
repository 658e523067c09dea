//! Keeping a session's lease, on a clock that counts suspended time (journal.md R0): an effect begins only
//! while the lease outlasts a margin.

use std::sync::Arc;

use rewake_store::{Lease, Store, StoreError};
use rustix::time::{ClockId, clock_gettime};
use tracing::warn;

use crate::driver::Fatal;

/// How long a lease lasts, in milliseconds.
pub(crate) const LEASE_MS: u64 = 15_000;
/// How much of it must be left when an effect begins, in milliseconds.
const MARGIN_MS: u64 = 3_000;
/// How long after a failed renewal the next is tried, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// Keeps one lease.
pub(crate) struct Keeper {
    store: Arc<dyn Store>,
    lease: Lease,
    /// When the lease was last asked for and given, on the boot clock, in milliseconds.
    asked_ms: u64,
    /// When it is to be asked for again.
    due_ms: u64,
}

impl Keeper {
    /// For a lease that was asked for at `asked_ms` of [`boot_ms`].
    pub(crate) fn new(store: Arc<dyn Store>, lease: Lease, asked_ms: u64) -> Self {
        Keeper { store, lease, asked_ms, due_ms: asked_ms + LEASE_MS / 3 }
    }

    /// Sees to it that an effect may begin: the lease outlasts the margin, or is renewed so that it does.
    ///
    /// # Errors
    /// If neither.
    pub(crate) async fn ensure(&mut self) -> Result<(), Fatal> {
        if !self.outlasts_margin() {
            self.renew().await?;
        }
        if self.outlasts_margin() { Ok(()) } else { Err(Fatal::LeaseLost) }
    }

    /// Sees to it that the session is still this host's by its own clock. Guests must not run on without it.
    ///
    /// # Errors
    /// If the lease has run out, since it could not be renewed.
    pub(crate) fn check(&self) -> Result<(), Fatal> {
        if boot_ms() < self.asked_ms + LEASE_MS { Ok(()) } else { Err(Fatal::LeaseLost) }
    }

    fn outlasts_margin(&self) -> bool {
        boot_ms() + MARGIN_MS < self.asked_ms + LEASE_MS
    }

    /// Whether it is time to renew: after a third of the lease, so that two renewals may fail.
    pub(crate) fn is_due(&self) -> bool {
        boot_ms() >= self.due_ms
    }

    /// Renews the lease.
    ///
    /// # Errors
    /// If another host has it.
    pub(crate) async fn renew(&mut self) -> Result<(), Fatal> {
        let asked_ms = boot_ms();
        match self.store.renew(&self.lease, LEASE_MS).await {
            Ok(lease) => {
                self.lease = lease;
                self.asked_ms = asked_ms;
                self.due_ms = asked_ms + LEASE_MS / 3;
                Ok(())
            }
            Err(error @ (StoreError::Fenced { .. } | StoreError::Busy { .. })) => Err(error.into()),
            Err(error) => {
                warn!(%error, "the lease could not be renewed");
                self.due_ms = asked_ms + RETRY_MS;
                Ok(())
            }
        }
    }

    /// Gives the lease back, so that the next host need not wait.
    pub(crate) async fn release(&self) {
        if let Err(error) = self.store.release(&self.lease).await {
            warn!(%error, "the lease was not given back; it runs out by itself");
        }
    }
}

/// Milliseconds since this machine started, suspended time included.
pub(crate) fn boot_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}

#[cfg(test)]
mod tests {
    use rewake_core::ids::{HostId, SessionId, Timestamp};
    use rewake_store::memory::MemoryStore;

    use super::*;

    /// A lease that nobody renews ends by this machine's clock, whatever the store can be asked.
    #[tokio::test]
    async fn a_lease_that_has_run_out_is_lost() {
        let lease = Lease {
            session: SessionId::parse("ses_1").unwrap(),
            host: HostId::parse("host_1").unwrap(),
            epoch: 1,
            expires_at: Timestamp(0),
        };
        let keeper = |ago_ms: u64| {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            Keeper::new(store, lease.clone(), boot_ms().saturating_sub(ago_ms))
        };
        assert!(keeper(0).check().is_ok() && keeper(0).ensure().await.is_ok());
        // It cannot begin anything, and may still end what it began.
        let late = keeper(LEASE_MS - MARGIN_MS + 1);
        assert!(late.check().is_ok() && !late.outlasts_margin());
        assert!(matches!(keeper(LEASE_MS).check(), Err(Fatal::LeaseLost)));
    }
}
