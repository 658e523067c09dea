//! Sessions made up for checks: real records in a real chain, as many as are wanted.

use rewake_core::codec::{Record, Seal, seal};
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::UserStop;
use rewake_core::ids::{Head, SessionId, Timestamp};
use rewake_wire::{Sender, Status};

use crate::ports::{Append, NewSession, Projection};

/// A made-up session, as its writer sees it.
#[derive(Clone, Debug)]
pub(crate) struct Tale {
    /// Its id.
    pub(crate) session: SessionId,
    /// The lease's number.
    pub(crate) epoch: u64,
    /// The newest record that was made.
    pub(crate) head: Head,
    /// What the next append says that lists show.
    pub(crate) projection: Projection,
    /// Bytes of a record's payload, about.
    pub(crate) payload_bytes: usize,
    /// What it is created with.
    pub(super) first: Vec<Record>,
}

impl Tale {
    /// A session with two first records.
    ///
    /// # Panics
    /// If the id is invalid.
    pub(crate) fn new(id: &str) -> Self {
        let projection = Projection { agent: "tale".into(), status: Status::Queued, title: None, turns: 0 };
        let mut tale = Tale {
            session: SessionId::parse(id).expect("an id"),
            epoch: 0,
            head: Head::default(),
            projection,
            payload_bytes: 100,
            first: vec![],
        };
        tale.first = tale.records(2);
        tale
    }

    /// What creates it.
    pub(crate) fn creation(&self) -> NewSession {
        NewSession {
            session: self.session.clone(),
            project: "default".into(),
            epoch: 0,
            records: self.first.clone(),
            projection: self.projection.clone(),
            bundles: vec![],
            vouchers: vec![],
        }
    }

    /// The next records. They do not claim to be what a host would write: a store asks nothing of facts.
    ///
    /// # Panics
    /// If a record is over a limit.
    pub(crate) fn records(&mut self, count: u64) -> Vec<Record> {
        (0..count)
            .map(|_| {
                let reason = "x".repeat(self.payload_bytes);
                let fact = UserStop { n: self.head.seq + 1, sender: Sender::System, reason };
                let at = Timestamp(1_000 + self.head.seq as i64);
                let salt = [self.head.seq as u8; 16];
                let draft = Draft::system(Place { turn: 1, step: 2, ordinal: 3, index: 4 }, fact);
                let (entry, record) =
                    seal(&self.session, self.head, Seal { epoch: self.epoch, at, salt }, draft)
                        .expect("within the limits");
                self.head = Head { seq: entry.seq, hash: entry.hash };
                record
            })
            .collect()
    }

    /// An append of the next records.
    pub(crate) fn append(&mut self, count: u64) -> Append {
        let expected = self.head;
        Append {
            session: self.session.clone(),
            epoch: self.epoch,
            expected,
            records: self.records(count),
            taken: vec![],
            inbox_through: None,
            state: None,
            blobs: vec![],
            projection: self.projection.clone(),
        }
    }
}
