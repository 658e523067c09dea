//! A loaded session's fold and what of it is not on the disk yet. Seals, folds and writes; decides nothing.

use std::sync::Arc;

use rewake_core::codec::{self, Record, Seal};
use rewake_core::command::Row;
use rewake_core::decide;
use rewake_core::decide::{Decision, Input};
use rewake_core::entry::{Draft, Entry};
use rewake_core::error::Refusal;
use rewake_core::fact::Fact;
use rewake_core::ids::Head;
use rewake_core::session::Session;
use rewake_store::{Append, Blob, Projection, SavedState, Store, StoreError};
use tokio::time::Instant;

use super::Fatal;
use crate::live::{Followers, Live, Shown};

/// Salts that are fetched at once.
const SALTS: usize = 64;

/// The fold, and its unwritten end.
pub(super) struct Ledger {
    store: Arc<dyn Store>,
    pub(super) session: Box<Session>,
    epoch: u64,
    /// The head that is on the disk.
    durable: Head,
    staged: Staged,
    /// Where it goes back to, while messages are accepted that are not on the disk: somebody may still change them.
    before: Option<Before>,
    followers: Followers,
    /// Random bytes that were fetched and not used yet.
    salts: Vec<[u8; 16]>,
}

/// What is folded and not on the disk.
#[derive(Clone, Default)]
struct Staged {
    records: Vec<Record>,
    entries: Vec<Arc<Entry>>,
    /// When the first of it was staged.
    since: Option<Instant>,
    taken: Vec<u64>,
    blobs: Vec<Blob>,
    state: Option<SavedState>,
}

/// The fold before messages were accepted, and what was staged by then. No guest runs while they are, so that all
/// that is staged since is of deciding, and can be decided again.
struct Before {
    session: Box<Session>,
    staged: Staged,
}

impl Ledger {
    pub(super) fn new(
        store: Arc<dyn Store>,
        session: Box<Session>,
        epoch: u64,
        followers: Followers,
    ) -> Self {
        let durable = session.head;
        let (staged, before, salts) = (Staged::default(), None, Vec::new());
        Ledger { store, session, epoch, durable, staged, before, followers, salts }
    }

    /// What comes of an input.
    pub(super) fn decide(&self, input: Input) -> Result<Decision, Refusal> {
        decide(&self.session, input)
    }

    /// Seals drafts and folds them; they are not on the disk yet.
    pub(super) fn stage(&mut self, drafts: Vec<Draft>) -> Result<Vec<Arc<Entry>>, Fatal> {
        if self.before.is_none() && drafts.iter().any(|draft| matches!(draft.fact, Fact::UserMessage(_))) {
            self.before = Some(Before { session: self.session.clone(), staged: self.staged.clone() });
        }
        // Before anything is staged: of what was decided together, all is or nothing.
        let salts = drafts.iter().map(|_| self.salt()).collect::<Result<Vec<_>, Fatal>>()?;
        let mut staged = Vec::with_capacity(drafts.len());
        for (draft, salt) in drafts.into_iter().zip(salts) {
            let seal = Seal { epoch: self.epoch, at: self.store.now(), salt };
            let (entry, record) = codec::seal(&self.session.id, self.session.head, seal, draft)?;
            let entry = Arc::new(entry);
            self.session.apply_shared(&entry)?;
            self.staged.since.get_or_insert_with(Instant::now);
            self.staged.taken.extend(entry.fact.rows());
            self.staged.records.push(record);
            self.staged.entries.push(Arc::clone(&entry));
            staged.push(entry);
        }
        Ok(staged)
    }

    /// A salt that was never used. Some are fetched at once: each is a call of the kernel otherwise.
    fn salt(&mut self) -> Result<[u8; 16], Fatal> {
        if let Some(salt) = self.salts.pop() {
            return Ok(salt);
        }
        let mut salts = [[0; 16]; SALTS];
        getrandom::fill(salts.as_flattened_mut())
            .map_err(|error| Fatal::Host(format!("no randomness: {error}")))?;
        let [salt, others @ ..] = salts;
        self.salts.extend(others);
        Ok(salt)
    }

    /// Keeps a saved state; it goes to the disk with the step's completion, which is staged next. A transaction has one
    /// state: that of a step before, whose completion is staged, is written first.
    pub(super) async fn save(&mut self, state: SavedState) -> Result<(), Fatal> {
        if self.staged.state.as_ref().is_some_and(|before| before.digest != state.digest) {
            self.flush(None).await?;
        }
        self.staged.state = Some(state);
        Ok(())
    }

    /// Keeps bytes that staged entries name; they go to the disk with them.
    pub(super) fn keep(&mut self, blobs: Vec<Blob>) {
        self.staged.blobs.extend(blobs);
    }

    /// Whether something is not on the disk.
    pub(super) fn is_dirty(&self) -> bool {
        self.staged.since.is_some()
    }

    /// What is not on the disk.
    pub(super) fn staged(&self) -> impl Iterator<Item = &Fact> {
        self.staged.entries.iter().map(|entry| &entry.fact)
    }

    /// Since when something is not on the disk; none, if all is.
    pub(super) fn unwritten_since(&self) -> Option<Instant> {
        self.staged.since
    }

    /// Writes everything staged, in one transaction. `inbox_through`: refuse if a row has come since.
    ///
    /// With `Overtaken` the fold is what it was before the messages were accepted, and what was staged before them
    /// is staged still: the caller decides again.
    pub(super) async fn flush(&mut self, inbox_through: Option<u64>) -> Result<(), Fatal> {
        if !self.is_dirty() {
            return Ok(());
        }
        let before = self.before.take();
        let Staged { records, entries, taken, blobs, state, since: _ } = std::mem::take(&mut self.staged);
        let append = Append {
            session: self.session.id.clone(),
            epoch: self.epoch,
            expected: self.durable,
            records,
            taken,
            inbox_through,
            state,
            blobs,
            projection: Projection::of(&self.session),
        };
        match (self.store.append(append).await, before) {
            (Err(StoreError::RowChanged { .. }), Some(before)) => {
                self.go_back(before);
                return Err(Fatal::Overtaken);
            }
            (written, _) => written?,
        }
        self.durable = self.session.head;
        if !self.followers.is_followed() {
            return Ok(());
        }
        for entry in entries {
            self.followers.tell(Live::Entry(Shown::new(&self.session.id, entry)));
        }
        Ok(())
    }

    /// Whether one of these rows is about a message that is accepted and not on the disk: then the fold goes back, as
    /// it would be refused as too late, and is not.
    pub(super) fn goes_back(&mut self, rows: &[Row]) -> bool {
        let Some(before) = &self.before else { return false };
        let staged = &self.staged.taken[before.staged.taken.len()..];
        let is_about = |row: &Row| row.command.target().is_some_and(|n| staged.contains(&n));
        let is_overtaken = rows.iter().any(is_about);
        if let Some(before) = self.before.take_if(|_| is_overtaken) {
            self.go_back(before);
        }
        is_overtaken
    }

    fn go_back(&mut self, before: Before) {
        let Before { session, staged } = before;
        self.session = session;
        self.staged = staged;
    }

    /// Stages and writes entries that end the session, if no row has come to the inbox since `through`.
    ///
    /// Returns false, with the fold as it was, if one has.
    pub(super) async fn end(&mut self, drafts: Vec<Draft>, through: u64) -> Result<bool, Fatal> {
        self.flush(None).await?;
        let before = self.session.clone();
        self.stage(drafts)?;
        match self.flush(Some(through)).await {
            // What has come may be about a message that was to be answered.
            Err(Fatal::Store(StoreError::InboxMoved { .. } | StoreError::RowChanged { .. })) => {
                self.session = before;
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }
}
