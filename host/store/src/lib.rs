//! Where sessions are kept. Ports (traits) say what the host needs of a store and what each method
//! promises about a crash; [`sqlite`] keeps the promises with one file. Decides nothing about sessions: that is
//! `rewake-core`'s. The feature `testing` adds what tests need: a store in memory, a file changed past its guards, and
//! the checks that every store must pass.
//!
//! Start with [`ports`], then `sqlite/writer.rs`.

mod checks;
#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod cut;
mod error;
mod host_lock;
#[cfg(any(test, feature = "testing"))]
pub mod memory;
pub mod ports;
pub mod sqlite;
#[cfg(any(test, feature = "testing"))]
pub mod tamper;

pub use cut::CutStore;
pub use error::{Position, Result, StoreError};
pub use host_lock::HostLock;
#[cfg(any(test, feature = "testing"))]
pub use memory::MemoryStore;
pub use ports::{
    Answer, Append, Arrivals, Blob, Blobs, Bundle, BundleName, Bundles, Inbox, Install, Installed, Installs,
    Journal, Lease, Leases, NewSession, Projection, SavedState, Sessions, Snapshot, Snapshots, States, Store,
};
pub use sqlite::{OpenOptions, SqliteStore};
