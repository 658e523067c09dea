//! What can be told of a session from its store alone. Loads nothing and needs no host.

use rewake_core::codec;
use rewake_core::error::Corrupt;
use rewake_core::fact::{Created, Fact};
use rewake_core::ids::{Head, SessionId};
use rewake_core::session::Session;
use rewake_core::view;
use rewake_store::{Store, StoreError};
use rewake_wire::Event;

use super::HostError;
use crate::driver::corrupt_fault;
use crate::load::{self, Unreadable};
use crate::replay_check::{self, Verified};

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
    replay_check::verify(store, id).await
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

/// What a session's journal comes to.
#[derive(Debug)]
pub struct Standing {
    /// The fold, as far as the journal can be read.
    pub session: Session,
    /// Why it cannot be read to its end.
    pub corrupt: Option<Corrupt>,
}

/// What a session's journal comes to: from the newest snapshot that holds, as loading does it.
///
/// # Errors
/// If the store cannot be read, or has no such session.
pub async fn standing(store: &dyn Store, id: &SessionId) -> Result<Standing, StoreError> {
    match load::fold(store, id).await {
        Ok(folded) => Ok(Standing { session: *folded.session, corrupt: None }),
        Err(Unreadable::Store(error)) => Err(error),
        Err(Unreadable::Corrupt(corrupt)) => {
            let session = load::fold_below(store, id, corrupt.seq).await?;
            Ok(Standing { session, corrupt: Some(corrupt) })
        }
    }
}
