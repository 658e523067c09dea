//! What is queued for the writer, and how its callers are answered. Knows neither texts nor transactions.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use rewake_core::ids::{Digest, Head};
use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use crate::ports::{Append, Blob};
use crate::{Result, StoreError};

/// What the writer can be asked.
pub(super) enum Job {
    /// Appends, committed together in one round trip.
    Append(Box<Prepared>),
    /// Anything else that writes, in the same transactions.
    Other(Box<dyn Task>),
    /// Ends the writer once all before it is done.
    Close(oneshot::Sender<()>),
}

/// An append that is checked, with what the text needs and where its answer goes.
pub(super) struct Prepared {
    pub(super) session: i64,
    pub(super) project: i64,
    pub(super) append: Append,
    pub(super) head: Head,
    /// Digests of the payloads that are kept as blobs, by seq; the blobs themselves.
    pub(super) payload_digests: BTreeMap<u64, Digest>,
    pub(super) payload_blobs: Vec<Blob>,
    pub(super) answer: oneshot::Sender<Result<()>>,
}

impl Prepared {
    /// All blobs that go with it.
    pub(super) fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.append.blobs.iter().chain(&self.payload_blobs)
    }

    /// Bytes that it adds besides its rows.
    pub(super) fn bytes(&self) -> usize {
        let payloads = self.append.records.iter().filter_map(|record| record.payload.as_ref());
        payloads.map(|payload| payload.bytes.len()).sum::<usize>()
            + self.append.blobs.iter().map(|blob| blob.bytes.len()).sum::<usize>()
            + self.append.state.as_ref().map_or(0, |state| state.bytes.len())
    }
}

/// How an operation inside a transaction fails.
pub(super) enum Stop {
    /// It refuses, having written nothing.
    Refused(StoreError),
    /// SQLite failed: the transaction is to be undone.
    Sql(sqlx::Error),
}

impl From<sqlx::Error> for Stop {
    fn from(error: sqlx::Error) -> Self {
        Stop::Sql(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Refused(error)
    }
}

/// Something that writes within the writer's transaction. It may be run more than once; only its last run
/// counts. It must find all reasons to refuse before it writes.
pub(super) trait Operation: Send + 'static {
    /// What it answers.
    type Output: Send + 'static;
    /// Runs it.
    fn run<'c>(
        &'c self,
        connection: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, std::result::Result<Self::Output, Stop>>;
}

/// An operation of any output, with where its answer goes.
pub(super) trait Task: Send {
    /// Runs the operation and keeps its answer. An error is SQLite's.
    fn run<'c>(&'c mut self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, sqlx::Result<()>>;
    /// Gives the kept answer, or an error instead.
    fn answer(self: Box<Self>, instead: Option<StoreError>);
    /// Whether nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool;
}

/// An operation and its caller.
pub(super) struct Asked<O: Operation> {
    operation: O,
    outcome: Option<Result<O::Output>>,
    answer: oneshot::Sender<Result<O::Output>>,
}

impl<O: Operation> Asked<O> {
    pub(super) fn new(operation: O, answer: oneshot::Sender<Result<O::Output>>) -> Self {
        Asked { operation, outcome: None, answer }
    }
}

impl<O: Operation> Task for Asked<O> {
    fn run<'c>(&'c mut self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, sqlx::Result<()>> {
        Box::pin(async move {
            self.outcome = None;
            match self.operation.run(connection).await {
                Ok(output) => self.outcome = Some(Ok(output)),
                Err(Stop::Refused(refusal)) => self.outcome = Some(Err(refusal)),
                Err(Stop::Sql(error)) => return Err(error),
            }
            Ok(())
        })
    }

    fn answer(self: Box<Self>, instead: Option<StoreError>) {
        let outcome = match instead {
            Some(error) => Err(error),
            None => self.outcome.unwrap_or(Err(StoreError::Closed)),
        };
        // A caller that is gone needs no answer.
        let _ = self.answer.send(outcome);
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }
}

/// What one transaction is made of.
#[derive(Default)]
pub(super) struct Group {
    pub(super) appends: Vec<Prepared>,
    pub(super) others: Vec<Box<dyn Task>>,
    /// Lock the file before anything is said of what is in it: costs a round trip.
    pub(super) locks_first: bool,
}

impl Group {
    pub(super) fn len(&self) -> usize {
        self.appends.len() + self.others.len()
    }

    /// Tells all callers: the same error, or that it is done.
    pub(super) fn answer(self, error: Option<&StoreError>) {
        for one in self.appends {
            let _ = one.answer.send(error.cloned().map_or(Ok(()), Err));
        }
        for other in self.others {
            other.answer(error.cloned());
        }
    }

    fn locking() -> Self {
        Group { locks_first: true, ..Group::default() }
    }

    /// Each job as a group of its own.
    pub(super) fn apart(self) -> impl Iterator<Item = Group> {
        let appends = self.appends.into_iter().map(|one| Group { appends: vec![one], ..Group::locking() });
        let others = self.others.into_iter().map(|other| Group { others: vec![other], ..Group::locking() });
        others.chain(appends)
    }
}
