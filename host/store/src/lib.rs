//! Where sessions are kept. Ports (traits) say what the host needs of a store and what each method
//! promises about a crash; [`sqlite`] keeps the promises with one file, [`memory`] with none.
//! Decides nothing about sessions: that is `rewake-core`'s. The feature `testing` adds what tests need: failures on
//! request, and a file changed past its guards.
//!
//! Start with `ports`, then `sqlite/writer.rs`.

mod checks;
#[cfg(test)]
mod contract;
mod cut;
mod error;
mod host_lock;
pub mod memory;
pub(crate) mod ports;
pub mod sqlite;
#[cfg(any(test, feature = "testing"))]
pub mod tamper;

pub use cut::CutStore;
pub use error::{Position, Result, StoreError};
pub use host_lock::HostLock;
pub use memory::MemoryStore;
pub use ports::{
    Answer, Append, Arrivals, Blob, Blobs, Bundle, BundleName, Bundles, Inbox, Install, Installed, Installs,
    Journal, Lease, Leases, NewSession, Projection, SavedState, Sessions, Snapshot, Snapshots, States, Store,
    Voucher, Vouchers,
};
pub use sqlite::{OpenOptions, SqliteStore};
