//! Reading a session back: its entries, verified, and what they come to.

use rewake_core::codec;
use rewake_core::entry::Entry;
use rewake_core::ids::{Head, SessionId};
use rewake_core::session::{Ended, Session};
use rewake_store::Store;

use super::cases::Stands;
use super::report::Finding;

/// Entries read at once.
const PAGE: u32 = 500;

/// A session's journal, read to its end.
pub(super) struct Journal {
    pub(super) entries: Vec<Entry>,
    pub(super) session: Session,
}

impl Journal {
    /// Reads and folds it.
    pub(super) async fn read(store: &dyn Store, id: &SessionId) -> Result<Journal, Finding> {
        let broken = |what: String| Finding::of(format!("the journal cannot be replayed: {what}"));
        let mut session = Session::new(id.clone());
        let mut entries = Vec::new();
        let mut head = Head::default();
        loop {
            let records = store.read(id, head.seq, PAGE).await.map_err(|error| broken(error.to_string()))?;
            if records.is_empty() {
                return Ok(Journal { entries, session });
            }
            for record in records {
                let entry = codec::open(id, head, &record).map_err(|error| broken(error.to_string()))?;
                session.apply(&entry).map_err(|error| broken(error.to_string()))?;
                head = Head { seq: entry.seq, hash: entry.hash };
                entries.push(entry);
            }
        }
    }

    /// How the session stands.
    pub(super) fn stands(&self) -> Stands {
        match (&self.session.ended, &self.session.turn) {
            (Some(Ended::Failed), _) => Stands::Failed,
            (Some(_), _) => Stands::Stopped,
            (None, Some(_)) => Stands::Waiting,
            (None, None) => Stands::Idle,
        }
    }
}
