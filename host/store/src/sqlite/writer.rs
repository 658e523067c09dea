//! The one thread that writes. It takes what is queued, commits it as one group, and answers its callers after the
//! commit. Knows how a group ends, well or not; what is written is each operation's own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::connect::{Location, closed};
use super::failure::{Verdict, is_locked, judge, not_written, said};
use super::identity::Identity;
use super::job::{Job, Task};
use super::shared::Shared;
use crate::{Result, StoreError};

/// Jobs that may wait for the writer before callers wait to queue theirs.
pub(super) const QUEUE_JOBS_MAX: usize = 1_024;
/// Rows of one group, unless a single task has more.
const GROUP_ROWS_MAX: usize = 1_024;
/// Bytes of one group besides its rows, unless a single task has more.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// What one transaction is made of, in the order of arrival.
type Group = Vec<Box<dyn Task>>;

/// The thread's own state.
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Job>,
    /// Taken from the queue, and too much for the group before.
    waiting: Option<Box<dyn Task>>,
    /// None after a failure whose outcome is unknown, until the file is opened again.
    connection: Option<Connection>,
    /// The files that are open.
    identity: Identity,
    /// Who wants the store closed.
    closing: Option<oneshot::Sender<()>>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, connection: Connection, queue: mpsc::Receiver<Job>) -> Self {
        let identity = Identity::of(&shared.location.path);
        Writer { shared, queue, waiting: None, connection: Some(connection), identity, closing: None }
    }

    /// Runs until it is told to close, or until every handle of the store is gone.
    pub(super) fn run(mut self) {
        while self.closing.is_none()
            && let Some(group) = self.take_group()
        {
            self.commit(group);
        }
    }

    /// Waits until there is something to do, and takes as much as one group may hold. What nobody waits for any more
    /// is left out. None: there will be nothing more.
    fn take_group(&mut self) -> Option<Group> {
        let mut group = Group::new();
        let (mut rows, mut bytes) = (0, 0);
        let first = match self.waiting.take() {
            Some(task) => Job::Task(task),
            None => self.queue.blocking_recv()?,
        };
        let mut next = Some(first);
        while let Some(job) = next.take() {
            match job {
                Job::Task(task) if task.is_abandoned() => {}
                Job::Task(task) => {
                    rows += task.rows();
                    bytes += task.bytes();
                    if !group.is_empty() && (rows > GROUP_ROWS_MAX || bytes > GROUP_BYTES_MAX) {
                        self.waiting = Some(task);
                        break;
                    }
                    group.push(task);
                }
                Job::Close(done) => {
                    self.closing = Some(done);
                    break;
                }
            }
            next = self.queue.try_recv().ok();
        }
        Some(group)
    }

    /// Commits a group, and whatever of it can be committed if not all can.
    fn commit(&mut self, group: Group) {
        let mut groups = VecDeque::from([group]);
        while let Some(mut group) = groups.pop_front() {
            // All of it may have been left out.
            if group.is_empty() {
                continue;
            }
            match self.ready() {
                Ok(connection) => {
                    let outcome = transact(connection, &mut group);
                    groups.extend(self.end(group, outcome));
                }
                Err(error) => answer(group, Some(&error)),
            }
        }
    }

    /// The connection, to a file that is where it was. Opens it again, if it was lost.
    fn ready(&mut self) -> Result<&Connection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reopen()?,
        };
        let connection = self.connection.insert(connection);
        self.identity
            .check()
            .inspect_err(|moved| tracing::error!(%moved, "the store is not written any more"))?;
        self.shared.relieve_log(connection);
        Ok(connection)
    }

    /// Answers a group whose transaction has ended, well or not. Returns what is to be tried again.
    fn end(&mut self, group: Group, outcome: rusqlite::Result<()>) -> Vec<Group> {
        let Err(error) = outcome else {
            self.shared.committed(&group);
            answer(group, None);
            return vec![];
        };
        let undone = self.connection.as_ref().map_or(Ok(()), rollback);
        match (judge(&error), undone) {
            (Verdict::Unknown, _) | (_, Err(_)) => self.lose(group, &error),
            (Verdict::NotWritten, Ok(())) if group.len() == 1 || is_locked(&error) => {
                answer(group, Some(&not_written(&error)));
            }
            // Who it was is found out by trying each alone.
            (Verdict::NotWritten, Ok(())) => return group.into_iter().map(|task| vec![task]).collect(),
        }
        vec![]
    }

    /// After a failure whose outcome is unknown: all connections are closed and the file is opened again. What is
    /// queued, and what callers believe from then on, is judged by what the file then holds.
    fn lose(&mut self, group: Group, error: &rusqlite::Error) {
        tracing::error!(error = %said(error), "the store's disk failed; opening the file again");
        if let Some(connection) = self.connection.take() {
            closed(connection);
        }
        match self.reopen() {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => {
                tracing::error!(%error, "the store's file cannot be opened yet; trying again with the next job");
            }
        }
        answer(group, Some(&StoreError::Unknown(said(error))));
    }

    /// Closes what this process still has open of the file, and opens it again.
    fn reopen(&mut self) -> Result<Connection> {
        // Another file at its name is not what callers know.
        self.identity.check_file()?;
        // This reads the file's first page and its log: a connection that was only made knows nothing of either.
        let connection = self.shared.while_closed(Location::writer);
        let connection = connection.map_err(|error| StoreError::Unknown(error.to_string()))?;
        self.identity.check_file()?;
        self.identity = Identity::of(&self.shared.location.path);
        Ok(connection)
    }
}

/// Also if it breaks off: nothing that it had open stays so, and nobody waits for it.
impl Drop for Writer {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.end();
        } else {
            self.shared.close();
        }
        // The one that can write is closed last: it moves the log into the file and removes it.
        if let Some(connection) = self.connection.take() {
            closed(connection);
        }
        if let Some(done) = self.closing.take() {
            let _ = done.send(());
        }
    }
}

/// Tells all callers: the same error, or that it is done.
fn answer(group: Group, error: Option<&StoreError>) {
    for task in group {
        task.answer(error.cloned());
    }
}

/// One transaction. On an error it may still be open.
fn transact(connection: &Connection, group: &mut Group) -> rusqlite::Result<()> {
    // With the lock from the beginning, so that nothing that is read in it can have changed at the commit.
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for task in group {
        task.run(connection)?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

/// Undoes an open transaction. SQLite may have done so itself.
fn rollback(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() { Ok(()) } else { connection.execute_batch("ROLLBACK") }
}
