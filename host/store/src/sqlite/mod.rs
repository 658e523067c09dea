//! The embedded store: one SQLite file in WAL mode. One connection writes (`writer.rs`), a few read (`readers.rs`), and
//! the log is moved into the file beside both (`checkpoint.rs`). Several processes may have the file open:
//! who may append to a session is the leases' matter, and every append checks it.

mod append;
mod blobs;
mod bundles;
mod checkpoint;
mod connect;
mod failure;
mod identity;
mod inbox;
mod installed;
mod job;
mod journal;
mod leases;
mod readers;
mod schema;
mod sessions;
mod shared;
mod snapshots;
#[cfg(test)]
mod tests;
mod texts;
mod vouchers;
mod writer;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rewake_core::ids::Timestamp;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use connect::{Location, SCHEMA};
use job::{Asked, Job, Operation, Stop};
use readers::blocking;
use shared::Shared;
use writer::Writer;

use crate::ports::Store;
use crate::{Result, StoreError};

/// Bytes of one value and of one row: more than Rewake writes. SQLite refuses a larger one before it reads it.
const VALUE_BYTES_MAX: usize = 256 << 20;
/// Faults of the file that are listed.
const FILE_FAULTS_MAX: u32 = 20;

/// How the file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// Only read: nothing is made, and every method that writes answers `ReadOnly`. Works while another
    /// process writes, and in a folder that cannot be written.
    pub read_only: bool,
}

/// A store in one SQLite file. Dropping it ends its threads; [`SqliteStore::close`] also waits for that.
pub struct SqliteStore {
    shared: Arc<Shared>,
    /// None if it is read only.
    jobs: Option<mpsc::Sender<Job>>,
}

impl SqliteStore {
    /// Opens the file; makes it, private to its owner, if it is to be written and not there.
    ///
    /// # Errors
    /// `Newer`, `Foreign`, `Altered`: the file was not touched. `NotFound`, `Older` if it is to be read only and is not
    /// there, or is of an older schema.
    /// `Damaged`, `Io`.
    pub async fn open(path: &Path, options: OpenOptions) -> Result<Self> {
        let path = path.to_owned();
        blocking(move || Self::open_blocking(&path, options, SCHEMA)).await
    }

    fn open_blocking(path: &Path, options: OpenOptions, schema: &'static [&'static str]) -> Result<Self> {
        if options.read_only {
            let shared = Arc::new(Shared::new(Location::for_reading(path, schema)?));
            return Ok(SqliteStore { shared, jobs: None });
        }
        let (location, connection) = Location::for_writing(path, schema)?;
        let shared = Arc::new(Shared::new(location));
        let (jobs, queue) = mpsc::channel(writer::QUEUE_JOBS_MAX);
        let writer = Writer::new(Arc::clone(&shared), connection, queue);
        let moved = Arc::clone(&shared);
        thread("store-checkpoint", move || checkpoint::run(&moved))?;
        thread("store-writer", || writer.run())?;
        Ok(SqliteStore { shared, jobs: Some(jobs) })
    }

    /// Writes what is queued and closes the file. Methods called from then on answer `Closed`.
    pub async fn close(&self) {
        let Some(jobs) = &self.jobs else {
            let shared = Arc::clone(&self.shared);
            let closed = blocking(move || {
                shared.close();
                Ok(())
            });
            // It fails only where the runtime ends.
            return closed.await.unwrap_or_default();
        };
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
        // It reads every page, however many there are, and runs nothing that the file defines.
        let readers = &self.shared.readers;
        readers
            .read_within(u64::MAX, "the store's file", |connection| {
                let lines = || {
                    let mut query =
                        connection.prepare(&format!("PRAGMA integrity_check({FILE_FAULTS_MAX})"))?;
                    query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
                };
                match lines() {
                    Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
                    // So damaged that it cannot be looked at.
                    Err(error) if failure::is_damaged(&error) => Ok(vec![failure::said(&error)]),
                    Err(error) => Err(error.into()),
                }
            })
            .await
    }

    /// Reads something of the file; what it is stands in the error.
    async fn query<T, F>(&self, what: impl Into<String>, query: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> std::result::Result<T, Stop> + Send + 'static,
    {
        self.shared.readers.read(what, query).await
    }

    /// Has the writer run an operation, and waits for its commit.
    async fn ask<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let (answer, answered) = oneshot::channel();
        self.queue(Job::Task(Box::new(Asked::new(operation, answer)))).await?;
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

/// Locks what one thread at a time uses. Nothing that is kept so is left half changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a thread of the store. It ends with the store, whatever becomes of the runtime.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let begun = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    begun.map(|_| ()).map_err(|error| StoreError::io(format!("beginning the thread {name}"), error))
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
