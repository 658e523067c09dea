//! What the writer, the readers and the checkpoints of one open file have in common.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rewake_core::ids::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::checkpoint::{Log, move_log};
use super::connect::Location;
use super::job::Task;
use super::lock;
use super::readers::Readers;
use crate::{Result, StoreError};

/// Sessions whose keys are remembered.
const KEYS_MAX: usize = 100_000;
/// What a task's pages are taken to add to the log, besides its bytes.
const TASK_LOG_BYTES: u64 = 32 << 10;

/// A session's numbers in this file; they never change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) session: i64,
    pub(super) project: i64,
}

/// One open file.
pub(super) struct Shared {
    pub(super) location: Location,
    pub(super) readers: Arc<Readers>,
    keys: Mutex<HashMap<SessionId, Keys>>,
    pub(super) log: Log,
    /// In good order: what was not answered was not written.
    pub(super) is_closed: AtomicBool,
    /// Groups committed.
    pub(super) commits: AtomicU64,
}

impl Shared {
    pub(super) fn new(location: Location) -> Self {
        Shared {
            readers: Arc::new(Readers::new(location.clone())),
            location,
            keys: Mutex::default(),
            log: Log::default(),
            is_closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
        }
    }

    /// A session's numbers.
    pub(super) async fn keys(&self, session: &SessionId) -> Result<Keys> {
        let known = lock(&self.keys).get(session).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let name = session.clone();
        let found = self
            .readers
            .read("a session", move |connection| {
                let mut query =
                    connection.prepare_cached("SELECT id, project FROM sessions WHERE name = ?")?;
                let keys = |row: &Row<'_>| Ok(Keys { session: row.get(0)?, project: row.get(1)? });
                Ok(query.query_row([name.as_str()], keys).optional()?)
            })
            .await?;
        let keys = found.ok_or_else(|| StoreError::no_session(session))?;
        self.remember(session.clone(), keys);
        Ok(keys)
    }

    /// Remembers a session's numbers; it must be committed.
    pub(super) fn remember(&self, session: SessionId, keys: Keys) {
        let mut all = lock(&self.keys);
        if all.len() >= KEYS_MAX {
            all.clear();
        }
        all.insert(session, keys);
    }

    /// Counts what a group added to the log.
    pub(super) fn committed(&self, group: &[Box<dyn Task>]) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.log.grew(group.iter().map(|task| task.bytes() as u64 + TASK_LOG_BYTES).sum());
    }

    /// Lets the writer move the log's last pages, between two groups, so that the next commit begins the log again.
    pub(super) fn relieve_log(&self, connection: &Connection) {
        if self.log.is_full.swap(false, Ordering::Relaxed)
            && let Err(error) = move_log(connection)
        {
            tracing::warn!(%error, "moving the store's log into its file");
        }
    }

    /// Closes all that this process has open beside the writer, and does something while nothing is; it is opened
    /// again when it is needed. Forgets all keys: a session whose creation was not kept has none.
    pub(super) fn while_closed<T>(&self, work: impl FnOnce(&Location) -> T) -> T {
        self.readers.while_closed(|| {
            self.log.while_closed(|| {
                lock(&self.keys).clear();
                work(&self.location)
            })
        })
    }

    /// Closes the file for good, but for the writer's connection, and ends the checkpoints.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.end();
    }

    /// The same, but who was not answered is told that nothing is known: the writer broke off.
    pub(super) fn end(&self) {
        self.readers.close();
        self.log.close();
    }
}
