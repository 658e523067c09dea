//! What the host needs of a store, and what each method promises about a crash. No port knows how.
//!
//! Common to all: a method that returned `Ok` has its effect on the disk. A future that is dropped
//! before it returned may or may not have had its effect. An error other than `Unknown` had none.

mod blobs;
mod bundles;
mod inbox;
mod installed;
mod journal;
mod leases;
mod sessions;
mod snapshots;
mod vouchers;

use futures_util::future::BoxFuture;
use rewake_core::ids::Timestamp;

pub use blobs::{Blob, Blobs};
pub use bundles::{Bundle, BundleName, Bundles};
pub use inbox::{Arrivals, Inbox};
pub use installed::{Install, Installed, Installs};
pub use journal::{Append, Journal, NewSession, Projection};
pub use leases::{Lease, Leases};
pub use sessions::Sessions;
pub use snapshots::{SavedState, Snapshot, Snapshots, States};
pub(crate) use vouchers::VOUCHERS_MAX;
pub use vouchers::{Voucher, Vouchers};

/// What a port's method returns.
pub type Answer<'a, T> = BoxFuture<'a, crate::Result<T>>;

/// All ports of one store.
pub trait Store:
    Journal
    + Inbox
    + Leases
    + Snapshots
    + States
    + Blobs
    + Bundles
    + Installs
    + Sessions
    + Vouchers
    + Send
    + Sync
    + 'static
{
    /// The store's clock: the one by which leases end and entries are dated.
    fn now(&self) -> Timestamp;
}
