//! One session in memory: what it holds, and the conditions under which that changes. Knows no clock
//! and no other session.

use std::collections::BTreeMap;

use rewake_core::codec::Record;
use rewake_core::command::{Command, Row, Target};
use rewake_core::ids::{Digest, Head, HostId, SessionId, Timestamp};
use rewake_wire::{Fault, Sender, SessionSummary, Status};

use crate::ports::{Append, Lease, NewSession, Projection, SavedState, Snapshot, Voucher};
use crate::{Position, Result, StoreError, checks};

/// One session.
pub(super) struct Kept {
    pub(super) id: SessionId,
    pub(super) project: String,
    pub(super) epoch: u64,
    pub(super) head: Head,
    pub(super) records: Vec<Record>,
    inbox: Vec<Sent>,
    /// Who has the lease, and until when.
    pub(super) held: Option<(HostId, Timestamp)>,
    pub(super) snapshots: BTreeMap<u64, Snapshot>,
    pub(super) states: BTreeMap<Digest, SavedState>,
    pub(super) fault: Option<Fault>,
    pub(super) vouchers: Vec<Voucher>,
    projection: Projection,
    /// The bundles that it names.
    bundles: Vec<Digest>,
}

struct Sent {
    row: Row,
    key: Option<String>,
    taken_seq: Option<u64>,
}

impl Kept {
    pub(super) fn new(new: NewSession, head: Head) -> Self {
        Kept {
            id: new.session,
            project: new.project,
            epoch: new.epoch,
            head,
            records: new.records,
            inbox: vec![],
            held: None,
            snapshots: BTreeMap::new(),
            states: BTreeMap::new(),
            fault: None,
            vouchers: new.vouchers,
            projection: new.projection,
            bundles: new.bundles,
        }
    }

    /// Adds vouchers that are not there.
    pub(super) fn vouch(&mut self, vouchers: Vec<Voucher>) {
        let new: Vec<_> = vouchers.into_iter().filter(|one| !self.vouchers.contains(one)).collect();
        self.vouchers.extend(new);
    }

    /// Whether it names a bundle.
    pub(super) fn names(&self, bundle: &Digest) -> bool {
        self.bundles.contains(bundle)
    }

    /// Whether it takes no more commands.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.projection.status, Status::Stopped | Status::Failed)
    }

    pub(super) fn position(&self) -> Position {
        Position { epoch: self.epoch, seq: self.head.seq }
    }

    pub(super) fn fenced(&self, expected: Position) -> StoreError {
        StoreError::Fenced { session: self.id.clone(), expected, found: self.position() }
    }

    /// Whether an append's conditions hold.
    pub(super) fn admit(&self, append: &Append) -> Result<()> {
        if self.epoch != append.epoch || self.head != append.expected {
            return Err(self.fenced(Position { epoch: append.epoch, seq: append.expected.seq }));
        }
        for (index, n) in append.taken.iter().enumerate() {
            let untaken = self.inbox.iter().any(|sent| sent.row.n == *n && sent.taken_seq.is_none());
            if !untaken || append.taken[..index].contains(n) {
                return Err(StoreError::RowTaken { session: self.id.clone(), n: *n });
            }
        }
        let is_left = |sent: &&Sent| sent.taken_seq.is_none() && !append.taken.contains(&sent.row.n);
        let about = self.inbox.iter().filter(is_left).filter_map(|sent| sent.row.command.target());
        if let Some(n) = about.into_iter().find(|n| append.taken.contains(n)) {
            return Err(StoreError::RowChanged { session: self.id.clone(), n });
        }
        match append.inbox_through {
            Some(expected) if expected != self.through() => {
                Err(StoreError::InboxMoved { session: self.id.clone(), expected, found: self.through() })
            }
            _ => Ok(()),
        }
    }

    /// Adds what was admitted.
    pub(super) fn apply(&mut self, append: Append, head: Head) {
        self.records.extend(append.records);
        self.head = head;
        for sent in self.inbox.iter_mut().filter(|sent| append.taken.contains(&sent.row.n)) {
            sent.taken_seq = Some(head.seq);
        }
        if let Some(state) = append.state {
            self.states.insert(state.digest, state);
            self.drop_old_states();
        }
        self.projection = append.projection;
        self.fault.take_if(|fault| fault.reason == "storage");
    }

    fn drop_old_states(&mut self) {
        let mut seqs: Vec<u64> = self.states.values().map(|state| state.step_seq).collect();
        seqs.sort_unstable_by(|a, b| b.cmp(a));
        let Some(&oldest) = seqs.get(1) else { return };
        let named: Vec<Digest> = self.snapshots.values().filter_map(|snapshot| snapshot.state).collect();
        self.states.retain(|digest, state| state.step_seq >= oldest || named.contains(digest));
    }

    pub(super) fn put_snapshot(&mut self, snapshot: Snapshot) -> Result<()> {
        if let Some(state) = &snapshot.state
            && !self.states.contains_key(state)
        {
            return Err(StoreError::NotFound(format!("saved state {state} of {} any more", self.id)));
        }
        self.snapshots.insert(snapshot.seq, snapshot);
        while self.snapshots.len() > 2 {
            self.snapshots.pop_first();
        }
        Ok(())
    }

    pub(super) fn send(&mut self, sender: Sender, command: Command, key: Option<String>) -> Result<u64> {
        if let Some(key) = &key
            && let Some(sent) =
                self.inbox.iter().find(|sent| sent.key.as_ref() == Some(key) && sent.row.sender == sender)
        {
            return match sent.row.command == command {
                true => Ok(sent.row.n),
                false => Err(checks::key_reused(key, sent.row.n)),
            };
        }
        let lane = checks::Lane::of(&command);
        let is_of_lane = |sent: &&Sent| checks::Lane::of(&sent.row.command) == lane;
        let untaken = || self.inbox.iter().filter(|sent| sent.taken_seq.is_none()).filter(is_of_lane);
        checks::Inbox {
            status: self.projection.status,
            untaken: untaken().count() as u64,
            untaken_of_sender: untaken().filter(|sent| sent.row.sender == sender).count() as u64,
        }
        .admit(lane)?;
        if let Some(target) = command.target() {
            self.target(target)?.admit(&sender)?;
        }
        let n = self.through() + 1;
        self.inbox.push(Sent { row: Row { n, sender, command }, key, taken_seq: None });
        Ok(n)
    }

    /// What a command is about.
    fn target(&self, n: u64) -> Result<Target> {
        let sent = self.inbox.iter().find(|sent| sent.row.n == n);
        let sent = sent.ok_or_else(|| checks::no_row(&self.id, n))?;
        let cancels = |sent: &Sent| sent.row.command == Command::Cancel { target: n };
        Ok(Target {
            n,
            sender: sent.row.sender.clone(),
            is_message: matches!(sent.row.command, Command::Message { .. }),
            is_canceled: self.inbox.iter().any(cancels),
            is_taken: sent.taken_seq.is_some(),
        })
    }

    pub(super) fn pending(&self) -> Vec<Row> {
        self.inbox.iter().filter(|sent| sent.taken_seq.is_none()).map(|sent| sent.row.clone()).collect()
    }

    pub(super) fn through(&self) -> u64 {
        self.inbox.len() as u64
    }

    pub(super) fn lease(&self) -> Option<Lease> {
        let (host, expires_at) = self.held.clone()?;
        Some(Lease { session: self.id.clone(), host, epoch: self.epoch, expires_at })
    }

    pub(super) fn is_of(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.held.as_ref().is_some_and(|(host, _)| *host == lease.host)
    }

    pub(super) fn summary(&self) -> SessionSummary {
        let at = |record: Option<&Record>| record.map_or(Timestamp(0), |record| record.at).to_string();
        SessionSummary {
            id: self.id.to_string(),
            agent: self.projection.agent.clone(),
            status: self.projection.status,
            title: self.projection.title.clone(),
            turns: self.projection.turns,
            entries: self.head.seq,
            created_at: at(self.records.first()),
            updated_at: at(self.records.last()),
            fault: self.fault.clone(),
        }
    }
}
