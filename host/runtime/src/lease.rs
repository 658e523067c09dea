//! Keeping a session's lease, on a clock that counts suspended time (journal.md R0): an effect begins only
//! while the lease outlasts a margin, and a host believes in its lease a margin less long than the store does.

use std::sync::Arc;

use rewake_store::{Lease, Store, StoreError};
use thiserror::Error;
use tracing::warn;

use rewake_sandbox::clock::Clock;
use rewake_sandbox::lease_deadline::LeaseDeadline;

/// How long a lease lasts in the store, in milliseconds.
pub const LEASE_MS: u64 = 15_000;
/// The margin, in milliseconds: so much of what a host has of its lease must be left when an effect begins, and so
/// much later than that ends it is another's to take.
pub const MARGIN_MS: u64 = 3_000;
/// How long a host has a lease since it asked for it, in milliseconds. Who takes over waits one margin more.
const HELD_MS: u64 = LEASE_MS - MARGIN_MS;
/// How long after a failed renewal the next is tried, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// Why a keeper cannot keep its lease.
#[derive(Debug, Error)]
pub(crate) enum LeaseError {
    #[error("the lease has run out")]
    Lost,
    /// The lease belongs to another host.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps one lease.
pub(crate) struct Keeper {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    lease: Lease,
    /// When the lease was last asked for and given, on the boot clock, in milliseconds.
    asked_ms: u64,
    /// When it is to be asked for again.
    due_ms: u64,
    /// The deadline that the session's guests read.
    deadline: Arc<LeaseDeadline>,
}

impl Keeper {
    /// For a lease that was asked for at `asked_ms` of the boot clock.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, lease: Lease, asked_ms: u64) -> Self {
        Keeper { store, clock, lease, asked_ms, due_ms: asked_ms + HELD_MS / 3, deadline: Arc::default() }
    }

    /// Keeps this deadline of a session's guests up to date from now on.
    pub(crate) fn tell(&mut self, deadline: Arc<LeaseDeadline>) {
        self.deadline = deadline;
        self.set_deadline();
    }

    fn set_deadline(&self) {
        self.deadline.set(self.asked_ms + HELD_MS - MARGIN_MS);
    }

    /// Sees to it that an effect may begin: the lease outlasts the margin, or is renewed so that it does.
    ///
    /// # Errors
    /// If neither.
    pub(crate) async fn ensure(&mut self) -> Result<(), LeaseError> {
        if !self.outlasts_margin() {
            self.renew().await?;
        }
        if self.outlasts_margin() { Ok(()) } else { Err(LeaseError::Lost) }
    }

    /// Sees to it that the session is still this host's by its own clock. Guests must not run on without it.
    ///
    /// # Errors
    /// If the lease has run out, since it could not be renewed.
    pub(crate) fn check(&self) -> Result<(), LeaseError> {
        if self.clock.boot_ms() < self.asked_ms + HELD_MS { Ok(()) } else { Err(LeaseError::Lost) }
    }

    fn outlasts_margin(&self) -> bool {
        self.clock.boot_ms() + MARGIN_MS < self.asked_ms + HELD_MS
    }

    /// Whether it is time to renew: after a third of what it has, so that several renewals may fail.
    pub(crate) fn is_due(&self) -> bool {
        self.clock.boot_ms() >= self.due_ms
    }

    /// Renews the lease.
    ///
    /// # Errors
    /// If another host has it.
    pub(crate) async fn renew(&mut self) -> Result<(), LeaseError> {
        let asked_ms = self.clock.boot_ms();
        match self.store.renew(&self.lease, LEASE_MS).await {
            Ok(lease) => {
                self.lease = lease;
                self.asked_ms = asked_ms;
                self.due_ms = asked_ms + HELD_MS / 3;
                self.set_deadline();
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

    /// Whether the store gives the lease to this host once more.
    pub(crate) async fn is_confirmed(&self) -> bool {
        self.store.renew(&self.lease, LEASE_MS).await.is_ok()
    }

    /// Gives the lease back, so that the next host need not wait. False, if the store did not take it.
    pub(crate) async fn release(&self) -> bool {
        give_back(self.store.as_ref(), &self.lease).await
    }
}

/// Gives a lease back; one that is another's by now stays with it. False, if the store did not take it.
pub(crate) async fn give_back(store: &dyn Store, lease: &Lease) -> bool {
    let released = store.release(lease).await;
    if let Err(error) = &released {
        warn!(%error, "the lease was not released; it expires, or ends when this process is seen to be gone");
    }
    released.is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use rewake_core::ids::{HostId, SessionId, Timestamp};
    use rewake_store::memory::MemoryStore;

    use super::*;

    /// A clock that stands where it was set.
    #[derive(Default)]
    struct Set(AtomicU64);

    impl Clock for Set {
        fn boot_ms(&self) -> u64 {
            self.0.load(Ordering::SeqCst)
        }

        fn wall(&self) -> Duration {
            Duration::ZERO
        }
    }

    /// A lease that nobody renews ends by this machine's clock, whatever the store can be asked; and a margin
    /// before another can have it.
    #[tokio::test]
    async fn a_lease_that_has_run_out_is_lost() {
        let lease = Lease {
            session: SessionId::parse("ses_1").unwrap(),
            host: HostId::parse("host_1").unwrap(),
            epoch: 1,
            expires_at: Timestamp(0),
        };
        let clock = Arc::new(Set::default());
        let keeper = |passed_ms: u64| {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            clock.0.store(1_000 + passed_ms, Ordering::SeqCst);
            Keeper::new(store, clock.clone(), lease.clone(), 1_000)
        };
        assert!(keeper(0).check().is_ok() && keeper(0).ensure().await.is_ok());
        assert!(keeper(HELD_MS - MARGIN_MS - 1).ensure().await.is_ok());
        // It cannot begin anything, and may still end what it began.
        let mut late = keeper(HELD_MS - MARGIN_MS);
        assert!(late.check().is_ok());
        assert!(matches!(late.ensure().await, Err(LeaseError::Lost)));
        assert!(keeper(HELD_MS - 1).check().is_ok());
        assert!(matches!(keeper(LEASE_MS - MARGIN_MS).check(), Err(LeaseError::Lost)));
    }
}
