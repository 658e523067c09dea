//! Faults: why a session takes no step here, as it is shown beside its status.

use rewake_core::error::Corrupt;
use rewake_store::StoreError;
use rewake_wire::Fault;

use super::Fatal;
use crate::HOST_VERSION;

/// A journal that cannot be understood, as it is shown.
pub(crate) fn corrupt_fault(corrupt: &Corrupt) -> Fault {
    let detail = format!("the journal cannot be replayed at entry {}: {}", corrupt.seq, corrupt.what);
    Fault::plain("corrupt", Some(corrupt.seq), detail, HOST_VERSION)
}

/// A store that contradicts itself about a session, as it is shown.
pub(crate) fn stored_fault(error: &StoreError) -> Fault {
    Fault::plain("corrupt", None, error.to_string(), HOST_VERSION)
}

pub(super) fn fault(reason: &str, seq: u64, detail: &str) -> Fatal {
    let seq = (seq > 0).then_some(seq);
    Fatal::Fault(Box::new(Fault::plain(reason, seq, detail.to_owned(), HOST_VERSION)))
}
