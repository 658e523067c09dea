//! The embedded store: one SQLite file in WAL mode. One task writes (`writer.rs`), a pool reads, and the
//! log is moved into the file beside both (`checkpoint.rs`). Several processes may have the file open:
//! who may append to a session is the leases' matter, and every append checks it.

mod blobs;
mod bundles;
mod checkpoint;
mod connect;
mod culprit;
mod failure;
mod group;
mod identity;
mod inbox;
mod installed;
mod job;
mod journal;
mod leases;
mod rows;
mod sessions;
mod shared;
mod snapshots;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use rewake_core::ids::Timestamp;
use sqlx::AssertSqlSafe;
use tokio::sync::{mpsc, oneshot};

use connect::Location;
use job::{Asked, Job, Operation};
use shared::Shared;
use writer::Writer;

use crate::ports::Store;
use crate::{Result, StoreError};

/// Faults of the file that are listed.
const FILE_FAULTS_MAX: u32 = 20;

/// How the file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// Only read: nothing is made, and every method that writes answers `ReadOnly`. Works while another
    /// process writes, and in a folder that cannot be written.
    pub read_only: bool,
}

/// A store in one SQLite file. Dropping it ends its tasks; [`SqliteStore::close`] also waits for that.
pub struct SqliteStore {
    shared: Arc<Shared>,
    /// None if it is read only.
    jobs: Option<mpsc::Sender<Job>>,
}

impl SqliteStore {
    /// Opens the file; makes it, private to its owner, if it is to be written and not there.
    ///
    /// # Errors
    /// `Newer`, `Foreign`: the file was not touched. `NotFound` if it is to be read only and not there.
    /// `Io`.
    pub async fn open(path: &Path, options: OpenOptions) -> Result<Self> {
        if options.read_only {
            let shared = Arc::new(Shared::new(Location::for_reading(path).await?));
            return Ok(SqliteStore { shared, jobs: None });
        }
        let (location, connection) = Location::for_writing(path).await?;
        let shared = Arc::new(Shared::new(location));
        let (jobs, queue) = mpsc::channel(writer::QUEUE_JOBS_MAX);
        let writer = Writer::new(Arc::clone(&shared), connection, queue).await?;
        tokio::spawn(writer.run());
        tokio::spawn(checkpoint::run(Arc::clone(&shared)));
        Ok(SqliteStore { shared, jobs: Some(jobs) })
    }

    /// Writes what is queued and closes the file. Methods called from then on answer `Closed`.
    pub async fn close(&self) {
        let Some(jobs) = &self.jobs else { return self.shared.close().await };
        let (done, closed) = oneshot::channel();
        if jobs.send(Job::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }

    /// How many transactions were committed since the file was opened.
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// What is wrong with the file's own form, the indexes included; nothing, if it is as it must be. Reads all of
    /// it, and knows nothing of what is in it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn check_file(&self) -> Result<Vec<String>> {
        let found = sqlx::query_scalar(AssertSqlSafe(format!("PRAGMA integrity_check({FILE_FAULTS_MAX})")))
            .fetch_all(&*self.shared.readers.read().await)
            .await;
        match found {
            Ok(lines) => Ok(lines.into_iter().filter(|line: &String| line != "ok").collect()),
            // So damaged that it cannot be looked at.
            Err(error) if failure::is_damaged(&error) => Ok(vec![failure::said(&error)]),
            Err(error) => Err(failure::reading("the store's file", &error)),
        }
    }

    /// Has the writer run an operation, and waits for its commit.
    async fn ask<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let (answer, answered) = oneshot::channel();
        self.queue(Job::Other(Box::new(Asked::new(operation, answer)))).await?;
        answered.await.unwrap_or_else(|_| Err(self.gone()))
    }

    async fn queue(&self, job: Job) -> Result<()> {
        let jobs = self.jobs.as_ref().ok_or(StoreError::ReadOnly)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)
    }

    /// Why the writer gave no answer: it was closed before it came to it, or it broke off.
    fn gone(&self) -> StoreError {
        if self.shared.is_closed.load(Ordering::Acquire) {
            StoreError::Closed
        } else {
            StoreError::Unknown("the store's writer broke off".into())
        }
    }
}

impl Store for SqliteStore {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// The store's clock: that of the machine, as all who have the file open are on it.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
