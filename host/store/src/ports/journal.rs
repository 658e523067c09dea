//! The journal's port: creating a session, appending to it, reading it.

use rewake_core::Session;
use rewake_core::codec::Record;
use rewake_core::ids::{Digest, Head, SessionId};
use rewake_wire::Status;

use super::Answer;
use super::blobs::Blob;
use super::snapshots::SavedState;
use super::vouchers::Voucher;

/// The record of what happened, one writer a session.
pub trait Journal {
    /// Creates a session with its first entries, in one transaction: after a crash it is there with all
    /// of them, or not at all.
    ///
    /// # Errors
    /// `Exists` if it is there; `NotFound` for a bundle that was not put before; `Corrupt` if the
    /// records are no chain from its start.
    fn create(&self, new: NewSession) -> Answer<'_, ()>;

    /// Appends entries and all that belongs to them, in one transaction: after a crash all of it is
    /// there or none. The lease's epoch and the head are checked in the same transaction. If the future
    /// is dropped before a group took it in, it is withdrawn.
    ///
    /// # Errors
    /// `Fenced`, `RowTaken`, `RowChanged`, `InboxMoved`: nothing was written, here or of other sessions' doing.
    /// `Unknown`: the disk failed in the commit. `Corrupt`: the records are no chain from `expected`.
    fn append(&self, append: Append) -> Answer<'_, ()>;

    /// Records after a seq, ascending and whole; at most `limit`, and fewer if they are large. None: there
    /// are no more.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if a payload that was kept apart is gone.
    fn read<'a>(&'a self, session: &'a SessionId, after: u64, limit: u32) -> Answer<'a, Vec<Record>>;

    /// The newest entry's number and hash; none if there is no such session.
    fn head<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Head>>;
}

/// A session to be created.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id.
    pub session: SessionId,
    /// Whose it is; blobs are shared within a project.
    pub project: String,
    /// The epoch of its records: 0, as no lease was given yet.
    pub epoch: u64,
    /// Its first entries, from seq 1.
    pub records: Vec<Record>,
    /// What lists show.
    pub projection: Projection,
    /// The bundles it is pinned to.
    pub bundles: Vec<Digest>,
    /// What this machine's trust key says about its grants.
    pub vouchers: Vec<Voucher>,
}

/// What one transaction adds to a session.
#[derive(Clone, Debug)]
pub struct Append {
    /// The session.
    pub session: SessionId,
    /// The lease under which it is appended.
    pub epoch: u64,
    /// The head that the records follow.
    pub expected: Head,
    /// At least one.
    pub records: Vec<Record>,
    /// Inbox rows that these records accept; each must be untaken, and no row that stays untaken may be about it:
    /// who edited a message before it was accepted has edited it.
    pub taken: Vec<u64>,
    /// If given: refuse unless this is the inbox's last row (0: it has none). For the transaction that
    /// ends a session, so that nothing acknowledged is in no entry.
    pub inbox_through: Option<u64>,
    /// What the completed step saved, unless it saved the same as the step before.
    pub state: Option<SavedState>,
    /// Bytes that the records name by digest.
    pub blobs: Vec<Blob>,
    /// What lists show, after these records.
    pub projection: Projection,
}

/// What lists show of a session: changed in the transaction of the entries it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// The agent's name.
    pub agent: String,
    /// Its status.
    pub status: Status,
    /// Its title.
    pub title: Option<String>,
    /// Turns opened so far.
    pub turns: u32,
}

impl Projection {
    /// Of a folded session.
    pub fn of(session: &Session) -> Self {
        let summary = rewake_core::view::summary(session);
        Projection {
            agent: summary.agent,
            status: summary.status,
            title: summary.title,
            turns: summary.turns,
        }
    }

    /// Whether the session has ended for good and takes no more commands.
    pub fn ended(&self) -> bool {
        matches!(self.status, Status::Stopped | Status::Failed)
    }
}
