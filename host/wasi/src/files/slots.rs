//! How many files all guests of this process may have open together: each costs the process a descriptor,
//! and its own files and connections need some as well.
//!
//! It counts. What is open, `disk.rs` knows.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Where a process says nothing of its own limit.
const OPEN_MAX: usize = 4096;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// One open file of a guest; given back when it is dropped.
pub(super) struct Slot(());

impl Slot {
    /// # Errors
    /// If guests have as many files open as they may.
    pub(super) fn take() -> Result<Slot, ErrorCode> {
        if TAKEN.fetch_add(1, Ordering::Relaxed) < open_max() {
            return Ok(Slot(()));
        }
        TAKEN.fetch_sub(1, Ordering::Relaxed);
        Err(ErrorCode::InsufficientMemory)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Half of what the process may have open.
fn open_max() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| {
        let current = getrlimit(Resource::Nofile).current;
        current.and_then(|most| usize::try_from(most / 2).ok()).map_or(OPEN_MAX, |most| most.min(1 << 20))
    })
}
