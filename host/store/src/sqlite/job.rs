//! What the writer is asked, and how its callers are answered. Knows no transactions.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{Result, StoreError};

/// What the writer can be asked.
pub(super) enum Job {
    /// To write something.
    Task(Box<dyn Task>),
    /// To end once all before it is done.
    Close(oneshot::Sender<()>),
}

/// How an operation inside a transaction fails.
pub(super) enum Stop {
    /// It refuses, having written nothing.
    Refused(StoreError),
    /// SQLite failed: the transaction is to be undone.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Stop::Sql(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Refused(error)
    }
}

/// Something that writes within the writer's transaction. It may be run more than once; only its last run
/// counts. It must find all reasons to refuse before it writes: what others of the transaction write stays.
pub(super) trait Operation: Send + 'static {
    /// What it answers.
    type Output: Send + 'static;

    /// Runs it.
    fn run(&self, connection: &Connection) -> std::result::Result<Self::Output, Stop>;

    /// Rows that it adds, about.
    fn rows(&self) -> usize {
        1
    }

    /// Bytes that it adds besides its rows.
    fn bytes(&self) -> usize {
        0
    }
}

/// An operation of any output, with where its answer goes.
pub(super) trait Task: Send {
    /// Runs the operation and keeps its answer. An error is SQLite's.
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Gives the kept answer, or an error instead.
    fn answer(self: Box<Self>, instead: Option<StoreError>);
    /// Whether nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool;
    /// See [`Operation::rows`].
    fn rows(&self) -> usize;
    /// See [`Operation::bytes`].
    fn bytes(&self) -> usize;
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
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.outcome = match self.operation.run(connection) {
            Ok(output) => Some(Ok(output)),
            Err(Stop::Refused(refusal)) => Some(Err(refusal)),
            Err(Stop::Sql(error)) => return Err(error),
        };
        Ok(())
    }

    fn answer(self: Box<Self>, instead: Option<StoreError>) {
        let outcome = match instead {
            Some(error) => Err(error),
            None => self.outcome.expect("it was run before its commit"),
        };
        // A caller that is gone needs no answer.
        let _ = self.answer.send(outcome);
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn rows(&self) -> usize {
        self.operation.rows()
    }

    fn bytes(&self) -> usize {
        self.operation.bytes()
    }
}
