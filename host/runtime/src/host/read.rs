//! What can be told of a session from its store alone. Loads nothing and needs no host.

use rewake_core::codec;
use rewake_core::fact::{Created, Fact};
use rewake_core::ids::{Head, SessionId};
use rewake_core::view;
use rewake_store::{Store, StoreError};
use rewake_wire::Event;

use super::HostError;
use crate::audit::{self, Verified};
use crate::driver::corrupt_fault;

/// The events of a session after a seq, oldest first; at most `limit`.
///
/// # Errors
/// If the store cannot be read, or the journal not be understood.
pub async fn events(
    store: &dyn Store,
    id: &SessionId,
    after: u64,
    limit: u32,
) -> Result<Vec<Event>, HostError> {
    let mut prev = match after {
        0 => Head::default(),
        after => match store.read(id, after - 1, 1).await?.first() {
            Some(record) if record.seq == after => Head { seq: after, hash: record.hash },
            _ => return Ok(Vec::new()),
        },
    };
    let mut events = Vec::new();
    for record in store.read(id, after, limit).await? {
        let entry = codec::open(id, prev, &record).map_err(|corrupt| HostError::Faulted {
            session: id.clone(),
            fault: Box::new(corrupt_fault(&corrupt)),
        })?;
        prev = Head { seq: entry.seq, hash: entry.hash };
        events.push(view::event(id, &entry));
    }
    Ok(events)
}

/// Verifies a session's journal. Changes nothing.
///
/// # Errors
/// If the store cannot be read.
pub async fn verify(store: &dyn Store, id: &SessionId) -> Result<Verified, StoreError> {
    audit::verify(store, id).await
}

/// What a session was created with.
///
/// # Errors
/// If the store cannot be read, or the first entry not be understood.
pub async fn pins(store: &dyn Store, id: &SessionId) -> Result<Option<Created>, HostError> {
    let records = store.read(id, 0, 1).await?;
    let Some(record) = records.first() else { return Ok(None) };
    match codec::open(id, Head::default(), record).map(|entry| entry.fact) {
        Ok(Fact::SessionCreated(created)) => Ok(Some(created)),
        Ok(_) => Ok(None),
        Err(corrupt) => {
            Err(HostError::Faulted { session: id.clone(), fault: Box::new(corrupt_fault(&corrupt)) })
        }
    }
}
