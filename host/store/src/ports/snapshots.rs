//! The ports of what makes loading fast: snapshots of folds, and states that steps saved. Both are
//! caches of the journal: losing one costs time, never a fact.

use rewake_core::ids::{Digest, SessionId};

use super::Answer;

/// A folded session at a seq.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The newest entry it holds.
    pub seq: u64,
    /// That entry's chain hash.
    pub hash: Digest,
    /// Version of the bytes' shape.
    pub version: u32,
    /// The fold, encoded.
    pub bytes: Vec<u8>,
    /// The saved state that the fold names; kept as long as the snapshot.
    pub state: Option<Digest>,
}

/// The newest snapshots of every session.
pub trait Snapshots {
    /// Keeps a snapshot, and removes all but the newest two of its session. One at the same seq is
    /// replaced.
    ///
    /// # Errors
    /// `NotFound` for the session, or for a state that is not kept any more.
    fn put_snapshot<'a>(&'a self, session: &'a SessionId, snapshot: Snapshot) -> Answer<'a, ()>;

    /// The newest snapshot below a seq; `u64::MAX` for the newest of all.
    ///
    /// # Errors
    /// `NotFound`.
    fn newest_snapshot<'a>(&'a self, session: &'a SessionId, below: u64) -> Answer<'a, Option<Snapshot>>;
}

/// What a step saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// The author's version of it.
    pub version: u32,
    /// Of the bytes.
    pub digest: Digest,
    /// As the harness gave them.
    pub bytes: Vec<u8>,
    /// Seq of the `step.completed` that names it.
    pub step_seq: u64,
}

/// States are written by [`super::Journal::append`]: those of the last two steps that saved a new one,
/// and those that kept snapshots name. Older ones are deleted by the append that makes them old.
pub trait States {
    /// A state by its digest; none if it is not kept any more.
    ///
    /// # Errors
    /// `NotFound` for the session; `Corrupt` if the bytes are not those of the digest.
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>>;
}
