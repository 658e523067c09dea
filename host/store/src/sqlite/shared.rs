//! What the writer, the readers and the checkpoints of one open file have in common.

use std::collections::HashMap;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rewake_core::ids::SessionId;
use sqlx::sqlite::SqlitePool;
use sqlx::{Row as _, SqliteConnection};
use tokio::sync::{Mutex, Notify, RwLock};

use super::connect::{Location, closed};
use super::failure::reading;
use super::job::Prepared;
use crate::{Result, StoreError};

/// Sessions whose keys are remembered.
const KEYS_MAX: usize = 100_000;
/// What a commit of one append is taken to add to the log, besides its payloads: its pages.
const APPEND_LOG_BYTES: u64 = 32 << 10;
/// Bytes in the log from which it is moved into the file without waiting for a quiet moment.
pub(super) const LOG_BYTES: u64 = 4 << 20;

/// A session's numbers in this file; they never change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) session: i64,
    pub(super) project: i64,
}

/// One open file.
pub(super) struct Shared {
    pub(super) location: Location,
    /// Held for reading during every query, so that opening again waits for all of them.
    pub(super) readers: RwLock<SqlitePool>,
    keys: StdMutex<HashMap<SessionId, Keys>>,
    /// Moves the log into the file; made at its first use.
    pub(super) checkpointer: Mutex<Option<SqliteConnection>>,
    /// Bytes in the log, about, since it was last moved.
    pub(super) log_bytes: AtomicU64,
    /// There is something to move, or it is time to end.
    pub(super) log_grew: Notify,
    /// Moving beside the writer does not catch up: the writer has to.
    pub(super) log_is_full: AtomicBool,
    pub(super) is_closed: AtomicBool,
    /// Groups committed.
    pub(super) commits: AtomicU64,
}

impl Shared {
    pub(super) fn new(location: Location) -> Self {
        Shared {
            readers: RwLock::new(location.readers()),
            location,
            keys: StdMutex::default(),
            checkpointer: Mutex::new(None),
            log_bytes: AtomicU64::new(0),
            log_grew: Notify::new(),
            log_is_full: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
        }
    }

    /// A session's numbers.
    pub(super) async fn keys(&self, session: &SessionId) -> Result<Keys> {
        let known = self.keys.lock().expect("no panic while held").get(session).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = sqlx::query("SELECT id, project FROM sessions WHERE name = ?")
            .bind(session.as_str())
            .fetch_optional(&*self.readers.read().await)
            .await
            .map_err(|error| reading("a session", &error))?;
        let row = found.ok_or_else(|| StoreError::no_session(session))?;
        let keys = Keys { session: row.get(0), project: row.get(1) };
        self.remember(session.clone(), keys);
        Ok(keys)
    }

    /// Remembers a session's numbers; it must be committed.
    pub(super) fn remember(&self, session: SessionId, keys: Keys) {
        let mut all = self.keys.lock().expect("no panic while held");
        if all.len() >= KEYS_MAX {
            all.clear();
        }
        all.insert(session, keys);
    }

    /// Counts what a group added to the log.
    pub(super) fn committed(&self, appends: &[Prepared]) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let payloads: u64 = appends.iter().map(|one| one.bytes() as u64).sum();
        let added = payloads + (appends.len() as u64).max(1) * APPEND_LOG_BYTES;
        let before = self.log_bytes.fetch_add(added, Ordering::Relaxed);
        if before == 0 || before < LOG_BYTES && before + added >= LOG_BYTES {
            self.log_grew.notify_one();
        }
    }

    /// Lets the writer move the log itself, between two groups, if nobody else could keep up with it.
    pub(super) async fn relieve_log(&self, connection: &mut Option<SqliteConnection>) {
        let Some(connection) = connection else { return };
        if self.log_is_full.swap(false, Ordering::Relaxed)
            && let Err(error) = super::checkpoint::move_log(connection).await
        {
            tracing::warn!(%error, "moving the store's log into its file");
        }
    }

    /// Closes all that this process has open beside the writer, and makes new readers. Forgets all keys:
    /// a session whose creation was not kept has none.
    pub(super) async fn reopen(&self) -> Result<()> {
        let mut readers = self.readers.write().await;
        readers.close().await;
        if let Some(checkpointer) = self.checkpointer.lock().await.take() {
            closed(checkpointer).await;
        }
        self.keys.lock().expect("no panic while held").clear();
        *readers = self.location.readers();
        Ok(())
    }

    /// Closes the readers and ends the checkpoints.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.log_grew.notify_one();
        self.readers.write().await.close().await;
        if let Some(checkpointer) = self.checkpointer.lock().await.take() {
            closed(checkpointer).await;
        }
    }
}
