//! Reading a session back: the newest snapshot that holds, and the entries after it; every one verified.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::maybe_done;
use rewake_core::codec;
use rewake_core::entry::Entry;
use rewake_core::error::Corrupt;
use rewake_core::fact::{Created, Fact};
use rewake_core::ids::{Digest, Head, SessionId};
use rewake_core::session::Session;
use rewake_store::{Snapshot, Store, StoreError};
use thiserror::Error;
use tracing::warn;

/// Entries read at once.
pub(crate) const PAGE: u32 = 1_000;
/// Version of a snapshot's bytes.
pub(crate) const SNAPSHOT_VERSION: u32 = 1;

/// Why a session cannot be replayed.
#[derive(Debug, Error)]
pub(crate) enum Unreadable {
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A session, read back.
pub(crate) struct Folded {
    /// Elsewhere than in the futures that hand it on: each would have room for it.
    pub(crate) session: Box<Session>,
    /// The snapshot it began from.
    pub(crate) snapshot_seq: Option<u64>,
    /// Entries folded after it.
    pub(crate) folded: u64,
    /// Snapshots that could not be used, and why.
    pub(crate) rejected: Vec<(u64, String)>,
    /// The hash of its first entry, which has its pins.
    pub(crate) pinned_by: Digest,
}

/// Reads a session back.
pub(crate) async fn fold(store: &dyn Store, id: &SessionId) -> Result<Folded, Unreadable> {
    let mut rejected = Vec::new();
    let mut below = u64::MAX;
    let mut pinned_by = Digest::default();
    let (mut session, snapshot_seq) = loop {
        let snapshot = match store.newest_snapshot(id, below).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => break (Session::new(id.clone()), None),
            // A cache that cannot be read is none.
            Err(error @ (StoreError::Damaged { .. } | StoreError::Corrupt { .. })) => {
                warn!(session = %id, %error, "its snapshots cannot be read");
                break (Session::new(id.clone()), None);
            }
            Err(error) => return Err(error.into()),
        };
        below = snapshot.seq;
        match open(store, id, &snapshot).await? {
            Ok((session, hash)) => {
                pinned_by = hash;
                break (session, Some(snapshot.seq));
            }
            Err(why) => rejected.push((snapshot.seq, why)),
        }
    };
    let folded = fold_whole(store, &mut session, |entry| {
        if entry.seq == 1 {
            pinned_by = entry.hash;
        }
    })
    .await?;
    Ok(Folded { session: Box::new(session), snapshot_seq, folded, rejected, pinned_by })
}

/// The pins that a session was created with, and the hash of their entry; none if there is no such session.
pub(crate) async fn first_entry(
    store: &dyn Store,
    id: &SessionId,
) -> Result<Option<(Box<Created>, Digest)>, Unreadable> {
    let records = store.read(id, 0, 1).await?;
    let Some(record) = records.first() else { return Ok(None) };
    let entry = codec::open(id, Head::default(), record)?;
    Ok(match entry.fact {
        Fact::SessionCreated(created) => Some((Box::new(created), entry.hash)),
        _ => None,
    })
}

/// Folds to the journal's end, and sees that it ends where the session's row says. Both are written in one
/// transaction: a row that is ahead tells of entries that are gone.
pub(crate) async fn fold_whole(
    store: &dyn Store,
    session: &mut Session,
    mut each: impl FnMut(Arc<Entry>),
) -> Result<u64, Unreadable> {
    let mut folded = 0;
    let mut before = None;
    loop {
        folded += fold_on(store, session, &mut each).await?;
        let head = session.head;
        let told = store.head(&session.id).await?.unwrap_or_default();
        if told == head {
            return Ok(folded);
        }
        // Beside a host that appends the row is ahead of what was read, until the rest is read too.
        if told.seq > head.seq && before != Some(head) {
            before = Some(head);
            continue;
        }
        return Err(Corrupt::at_end(head, told).into());
    }
}

/// Folds what follows the session's head, and hands each entry on once it is folded; returns how many they
/// were. If one cannot be folded, the head is still at the one before it.
pub(crate) async fn fold_on(
    store: &dyn Store,
    session: &mut Session,
    mut each: impl FnMut(Arc<Entry>),
) -> Result<u64, Unreadable> {
    let mut folded = 0;
    let id = session.id.clone();
    let mut next = maybe_done(store.read(&id, session.head.seq, PAGE));
    loop {
        (&mut next).await;
        let records = Pin::new(&mut next).take_output().expect("it was waited for, and is taken once")?;
        let Some(last) = records.last() else { return Ok(folded) };
        // Begun now, so that it is read while this page is folded.
        next = maybe_done(store.read(&id, last.seq, PAGE));
        let _ = (&mut next).now_or_never();
        for record in &records {
            let entry = codec::open(&id, session.head, record)?;
            let entry = Arc::new(entry);
            session.apply_shared(&entry)?;
            folded += 1;
            each(entry);
        }
    }
}

/// The fold of the entries below one that cannot be folded.
pub(crate) async fn fold_below(store: &dyn Store, id: &SessionId, seq: u64) -> Result<Session, StoreError> {
    let mut session = Session::new(id.clone());
    loop {
        let left = u32::try_from(seq.saturating_sub(session.head.seq + 1)).unwrap_or(PAGE).min(PAGE);
        let records = if left == 0 { Vec::new() } else { store.read(id, session.head.seq, left).await? };
        if records.is_empty() {
            return Ok(session);
        }
        for record in &records {
            // A snapshot may have hidden that an older one is broken too.
            let before = session.clone();
            let folded = codec::open(id, session.head, record).and_then(|entry| session.apply(&entry));
            if folded.is_err() {
                return Ok(before);
            }
        }
    }
}

/// A snapshot's bytes: the digest of the fold, and the fold.
pub(crate) fn seal_snapshot(session: &Session) -> Vec<u8> {
    let fold = serde_json::to_vec(session).expect("a fold holds nothing that JSON cannot");
    let mut bytes = Digest::of(&fold).0.to_vec();
    bytes.extend(fold);
    bytes
}

pub(crate) fn open_snapshot(bytes: &[u8]) -> Result<Session, String> {
    let (digest, fold) = bytes.split_at_checked(32).ok_or("it is too short")?;
    if Digest::of(fold).0 != digest {
        return Err("its bytes are not those that were kept".into());
    }
    let session: Session =
        serde_json::from_slice(fold).map_err(|error| format!("it does not decode: {error}"))?;
    session.check().map_err(str::to_owned)?;
    Ok(session)
}

/// A snapshot's session, and the hash of the entry with its pins; or why the snapshot cannot be used. The pins are
/// compared, since grants depend on them, and a snapshot from elsewhere can hold any.
async fn open(
    store: &dyn Store,
    id: &SessionId,
    snapshot: &Snapshot,
) -> Result<Result<(Session, Digest), String>, StoreError> {
    if snapshot.version != SNAPSHOT_VERSION {
        return Ok(Err(format!("it is of version {}, this host reads {SNAPSHOT_VERSION}", snapshot.version)));
    }
    let session = match open_snapshot(&snapshot.bytes) {
        Ok(session) => session,
        Err(why) => return Ok(Err(why)),
    };
    let head = Head { seq: snapshot.seq, hash: snapshot.hash };
    if session.id != *id || session.head != head {
        return Ok(Err("it is of another session or another entry than it says".into()));
    }
    let at = store.read(id, snapshot.seq.saturating_sub(1), 1).await?;
    match at.first() {
        Some(record) if record.seq == snapshot.seq && record.hash == snapshot.hash => {}
        _ => {
            let why = format!("the journal's entry {} is another than it was made from", snapshot.seq);
            return Ok(Err(why));
        }
    }
    match first_entry(store, id).await {
        Ok(Some((created, hash))) if session.created.as_deref() == Some(&*created) => Ok(Ok((session, hash))),
        Ok(_) | Err(Unreadable::Corrupt(_)) => Ok(Err("it holds other pins than the first entry".into())),
        Err(Unreadable::Store(error)) => Err(error),
    }
}
