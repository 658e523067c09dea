//! Faults: why a session takes no step here, as it is shown beside its status.

use rewake_core::error::Corrupt;
use rewake_store::StoreError;
use rewake_wire::Fault;

use super::Fatal;
use crate::HOST_VERSION;

/// A journal that cannot be understood, as it is shown.
pub(crate) fn corrupt_fault(corrupt: &Corrupt) -> Fault {
    Fault {
        reason: "corrupt".into(),
        seq: Some(corrupt.seq),
        expected: String::new(),
        got: String::new(),
        field: String::new(),
        detail: format!("the journal cannot be read back at entry {}: {}", corrupt.seq, corrupt.what),
        host_version: HOST_VERSION.into(),
    }
}

/// A store that contradicts itself about a session, as it is shown.
pub(crate) fn stored_fault(error: &StoreError) -> Fault {
    Fault {
        reason: "corrupt".into(),
        seq: None,
        expected: String::new(),
        got: String::new(),
        field: String::new(),
        detail: error.to_string(),
        host_version: HOST_VERSION.into(),
    }
}

pub(super) fn fault(reason: &str, seq: u64, detail: &str) -> Fatal {
    Fatal::Fault(Box::new(Fault {
        reason: reason.into(),
        seq: (seq > 0).then_some(seq),
        expected: String::new(),
        got: String::new(),
        field: String::new(),
        detail: detail.into(),
        host_version: HOST_VERSION.into(),
    }))
}
