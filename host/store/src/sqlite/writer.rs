//! The one task that writes. It takes what is queued, commits it as one group, and answers its callers
//! after the commit. Knows how a group ends, well or not; what is written is `group.rs`'s and each
//! operation's own.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use sqlx::{Executor as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};

use super::connect::closed;
use super::failure::{Verdict, judge, not_written, said};
use super::group::Part;
use super::identity::Identity;
use super::job::{Group, Job, Prepared};
use super::shared::Shared;
use super::{culprit, group};
use crate::{Result, StoreError};

/// Jobs that may wait for the writer before callers wait to queue theirs.
pub(super) const QUEUE_JOBS_MAX: usize = 1_024;
/// Appends of one group.
const GROUP_APPENDS_MAX: usize = 256;
/// Entries of one group, unless a single append has more.
const GROUP_ENTRIES_MAX: usize = 1_024;
/// Payload bytes of one group, unless a single append has more.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The task's own state.
pub(super) struct Writer {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<Job>,
    /// Taken from the queue, and too much for the group before.
    waiting: VecDeque<Job>,
    /// None after a failure whose outcome is unknown, until the file is opened again.
    connection: Option<SqliteConnection>,
    /// The files that are open.
    identity: Identity,
    /// The greatest id of an entry, as far as this process knows.
    entry_id: i64,
}

impl Writer {
    pub(super) async fn new(
        shared: Arc<Shared>,
        mut connection: SqliteConnection,
        queue: mpsc::Receiver<Job>,
    ) -> Result<Self> {
        let entry_id = newest_entry_id(&mut connection)
            .await
            .map_err(|error| super::failure::reading("the newest entry", &error))?;
        let identity = Identity::of(&shared.location.path);
        let (waiting, connection) = (VecDeque::new(), Some(connection));
        Ok(Writer { shared, queue, waiting, connection, identity, entry_id })
    }

    /// Runs until it is told to close, or until every handle of the store is gone.
    pub(super) async fn run(mut self) {
        let mut closing = None;
        while closing.is_none() && self.next().await {
            let group = self.take_group(&mut closing);
            if group.len() > 0 {
                self.shared.relieve_log(&mut self.connection).await;
                self.commit(group).await;
            }
        }
        // The one that can write is closed last: it moves the log into the file and removes it.
        self.shared.close().await;
        if let Some(connection) = self.connection.take() {
            closed(connection).await;
        }
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// Waits until there is something to do; false: there will be nothing more.
    async fn next(&mut self) -> bool {
        if !self.waiting.is_empty() {
            return true;
        }
        match self.queue.recv().await {
            Some(job) => self.waiting.push_back(job),
            None => return false,
        }
        true
    }

    /// Takes as much as one group may hold, at most one append of each session, in the order of arrival.
    /// What nobody waits for any more is left out.
    fn take_group(&mut self, closing: &mut Option<oneshot::Sender<()>>) -> Group {
        while self.waiting.len() < QUEUE_JOBS_MAX
            && let Ok(job) = self.queue.try_recv()
        {
            self.waiting.push_back(job);
        }
        let mut group = Group::default();
        let mut sessions = HashSet::new();
        let mut later = VecDeque::new();
        let (mut entries, mut bytes) = (0, 0);
        while let Some(job) = self.waiting.pop_front() {
            match job {
                Job::Append(one) if one.answer.is_closed() => drop(one),
                Job::Append(one) => {
                    entries += one.append.records.len();
                    bytes += one.bytes();
                    let full = group.appends.len() == GROUP_APPENDS_MAX
                        || !group.appends.is_empty()
                            && (entries > GROUP_ENTRIES_MAX || bytes > GROUP_BYTES_MAX);
                    // Also for one that has to wait: what comes after it must not overtake it.
                    let is_first = sessions.insert(one.session);
                    if full || !is_first {
                        later.push_back(Job::Append(one));
                    } else {
                        group.appends.push(*one);
                    }
                }
                Job::Other(task) if task.is_abandoned() => drop(task),
                Job::Other(task) => group.others.push(task),
                Job::Close(done) if later.is_empty() => *closing = Some(done),
                Job::Close(done) => later.push_back(Job::Close(done)),
            }
        }
        self.waiting = later;
        group
    }

    /// Commits a group, and whatever of it can be committed if not all can.
    async fn commit(&mut self, group: Group) {
        let mut groups = VecDeque::from([group]);
        while let Some(mut group) = groups.pop_front() {
            let Some(connection) = &mut self.connection else {
                let reopened = self.reopen().await;
                group.answer(Some(&reopened.err().unwrap_or_else(|| {
                    StoreError::Unknown("the disk failed in a transaction before".into())
                })));
                continue;
            };
            if let Err(moved) = self.identity.check() {
                tracing::error!(%moved, "the store is not written any more");
                group.answer(Some(&moved));
                continue;
            }
            let error = match transact(connection, &mut group, &mut self.entry_id).await {
                Ok(()) => {
                    self.shared.committed(&group.appends);
                    group.answer(None);
                    continue;
                }
                Err(error) => error,
            };
            let verdict = match (judge(&error), rollback(connection).await) {
                (Verdict::Unknown, _) | (_, Err(_)) => Verdict::Unknown,
                (known, Ok(())) => known,
            };
            match verdict {
                Verdict::Unknown => {
                    tracing::error!(error = %said(&error), "the store's disk failed; opening the file again");
                    self.lose(group, &error).await;
                }
                Verdict::NotWritten if group.len() == 1 => group.answer(Some(&not_written(&error))),
                Verdict::NotWritten if super::failure::is_locked(&error) => {
                    group.answer(Some(&not_written(&error)));
                }
                Verdict::NotWritten => groups.extend(group.apart()),
                Verdict::Condition => self.part(group, &error, &mut groups).await,
            }
        }
    }

    /// Finds out who made a group fail, answers them, and lines up the others again.
    async fn part(&mut self, mut group: Group, error: &sqlx::Error, groups: &mut VecDeque<Group>) {
        let Some(connection) = &mut self.connection else { return group.answer(Some(&not_written(error))) };
        let mut innocent = Vec::new();
        let mut found = false;
        for one in std::mem::take(&mut group.appends) {
            match culprit::judge(connection, &one).await {
                Ok(None) => innocent.push(one),
                Ok(Some(reason)) => {
                    found = true;
                    let _ = one.answer.send(Err(reason));
                }
                Err(error) => {
                    found = true;
                    let _ = one.answer.send(Err(not_written(&error)));
                }
            }
        }
        group.appends = innocent;
        match group.len() {
            0 => {}
            _ if found => groups.push_front(group),
            // Nobody's condition: another process used the ids that the entries would have had.
            _ if !group.locks_first => groups.push_front(Group { locks_first: true, ..group }),
            1 => group.answer(Some(&StoreError::corrupt("a transaction of the store", error))),
            _ => groups.extend(group.apart()),
        }
    }

    /// After a failure whose outcome is unknown: all connections are closed and the file is opened again,
    /// and everyone who asked for something before that is told so. What callers believe from then on is
    /// checked by the head of their next append.
    async fn lose(&mut self, group: Group, error: &sqlx::Error) {
        if let Some(connection) = self.connection.take() {
            closed(connection).await;
        }
        if let Err(error) = self.reopen().await {
            tracing::error!(%error, "the store's file cannot be opened yet; trying again with the next job");
        }
        let unknown = StoreError::Unknown(said(error));
        group.answer(Some(&unknown));
        // What is there now, and no more: who asks again at once must not keep the writer here.
        let queued = std::iter::from_fn(|| self.queue.try_recv().ok()).take(QUEUE_JOBS_MAX);
        let jobs: Vec<Job> = std::mem::take(&mut self.waiting).into_iter().chain(queued).collect();
        for job in jobs {
            match job {
                Job::Append(one) => drop(one.answer.send(Err(unknown.clone()))),
                Job::Other(task) => task.answer(Some(unknown.clone())),
                Job::Close(done) => self.waiting.push_back(Job::Close(done)),
            }
        }
    }

    /// Closes what this process still has open of the file, and opens it again.
    async fn reopen(&mut self) -> Result<()> {
        let unknown = |error: &dyn std::fmt::Display| StoreError::Unknown(error.to_string());
        // Another file at its name is not what callers know.
        self.identity.check_file()?;
        self.shared.reopen().await.map_err(|error| unknown(&error))?;
        let mut connection = self.shared.location.writer().await.map_err(|error| unknown(&error))?;
        self.entry_id = newest_entry_id(&mut connection).await.map_err(|error| unknown(&said(&error)))?;
        self.identity.check_file()?;
        self.identity = Identity::of(&self.shared.location.path);
        self.connection = Some(connection);
        Ok(())
    }
}

/// One transaction. On an error it may still be open.
async fn transact(
    connection: &mut SqliteConnection,
    group: &mut Group,
    entry_id: &mut i64,
) -> sqlx::Result<()> {
    let begun = group.locks_first || !group.others.is_empty();
    if begun {
        connection.execute("BEGIN IMMEDIATE").await?;
        for other in &mut group.others {
            other.run(connection).await?;
        }
        // Operations add entries too, and so do other processes.
        *entry_id = newest_entry_id(connection).await?;
        if group.appends.is_empty() {
            connection.execute("COMMIT").await?;
            return Ok(());
        }
    }
    let appends: Vec<&Prepared> = group.appends.iter().collect();
    group::execute(connection, &appends, if begun { Part::End } else { Part::Whole }, *entry_id).await?;
    *entry_id += appends.iter().map(|one| one.append.records.len() as i64).sum::<i64>();
    Ok(())
}

/// Undoes an open transaction. SQLite may have done so itself.
async fn rollback(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    match connection.execute("ROLLBACK").await {
        Err(error) if !super::failure::is_no_transaction(&error) => Err(error),
        _ => Ok(()),
    }
}

pub(super) async fn newest_entry_id(connection: &mut SqliteConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM entries").fetch_one(connection).await
}
