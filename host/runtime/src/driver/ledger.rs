//! A loaded session's fold and what of it is not on the disk yet. Seals, folds and writes; decides nothing.

use std::sync::Arc;

use rewake_core::codec::{self, Record, Seal};
use rewake_core::decide::{Decision, Input};
use rewake_core::entry::{Draft, Entry};
use rewake_core::error::Refusal;
use rewake_core::ids::Head;
use rewake_core::session::Session;
use rewake_core::{decide, view};
use rewake_store::{Append, Blob, Projection, SavedState, Store, StoreError};

use super::Fatal;
use crate::live::{Followers, Live};

/// The fold, and its unwritten end.
pub(super) struct Ledger {
    store: Arc<dyn Store>,
    pub(super) session: Session,
    epoch: u64,
    /// The head that is on the disk.
    durable: Head,
    records: Vec<Record>,
    entries: Vec<Entry>,
    taken: Vec<u64>,
    blobs: Vec<Blob>,
    state: Option<SavedState>,
    followers: Followers,
}

impl Ledger {
    pub(super) fn new(store: Arc<dyn Store>, session: Session, epoch: u64, followers: Followers) -> Self {
        let durable = session.head;
        Ledger {
            store,
            session,
            epoch,
            durable,
            records: Vec::new(),
            entries: Vec::new(),
            taken: Vec::new(),
            blobs: Vec::new(),
            state: None,
            followers,
        }
    }

    /// What comes of an input.
    pub(super) fn decide(&self, input: Input) -> Result<Decision, Refusal> {
        decide(&self.session, input)
    }

    /// Seals drafts and folds them; they are not on the disk yet.
    pub(super) fn stage(&mut self, drafts: Vec<Draft>) -> Result<Vec<Entry>, Fatal> {
        let mut staged = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|error| Fatal::Host(format!("no randomness: {error}")))?;
            let seal = Seal { epoch: self.epoch, at: self.store.now(), salt };
            let (entry, record) = codec::seal(&self.session.id, self.session.head, seal, draft)?;
            self.session.apply(&entry)?;
            self.taken.extend(entry.fact.row());
            self.records.push(record);
            self.entries.push(entry.clone());
            staged.push(entry);
        }
        Ok(staged)
    }

    /// Keeps a saved state; it goes to the disk with the step's completion.
    pub(super) fn save(&mut self, state: SavedState) {
        self.state = Some(state);
    }

    /// Keeps bytes that staged entries name; they go to the disk with them.
    pub(super) fn keep(&mut self, blobs: Vec<Blob>) {
        self.blobs.extend(blobs);
    }

    /// Whether something is not on the disk.
    pub(super) fn is_dirty(&self) -> bool {
        !self.records.is_empty()
    }

    /// Writes everything staged, in one transaction. `inbox_through`: refuse if a row has come since.
    pub(super) async fn flush(&mut self, inbox_through: Option<u64>) -> Result<(), Fatal> {
        if self.records.is_empty() {
            return Ok(());
        }
        let append = Append {
            session: self.session.id.clone(),
            epoch: self.epoch,
            expected: self.durable,
            records: std::mem::take(&mut self.records),
            taken: std::mem::take(&mut self.taken),
            inbox_through,
            state: self.state.take(),
            blobs: std::mem::take(&mut self.blobs),
            projection: Projection::of(&self.session),
        };
        self.store.append(append).await?;
        self.durable = self.session.head;
        let entries = std::mem::take(&mut self.entries);
        if !self.followers.is_followed() {
            return Ok(());
        }
        for entry in entries {
            let event = view::event(&self.session.id, &entry);
            self.followers.tell(Live::Entry(Arc::new(event)));
        }
        Ok(())
    }

    /// Stages and writes entries that end the session, if no row has come to the inbox since `through`.
    ///
    /// Returns false, with the fold as it was, if one has.
    pub(super) async fn end(&mut self, drafts: Vec<Draft>, through: u64) -> Result<bool, Fatal> {
        self.flush(None).await?;
        let before = self.session.clone();
        self.stage(drafts)?;
        match self.flush(Some(through)).await {
            Err(Fatal::Store(StoreError::InboxMoved { .. })) => {
                self.session = before;
                self.entries.clear();
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }
}
