//! Moves the write-ahead log into the file, beside the writer and never inside a commit: when the log
//! is large, or when nothing was written for a moment. SQLite begins a log again with the commit that finds all of it
//! moved. Under load the writer appends while this thread moves, so the writer has to move the last pages itself.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::connect::{Location, closed};
use super::lock;
use super::shared::Shared;
use crate::StoreError;

/// How long nothing must be written before a small log is moved.
const QUIET: Duration = Duration::from_secs(1);
/// Bytes in the log from which it is moved into the file without waiting for a quiet moment.
const LOG_BYTES: u64 = 4 << 20;
/// Pages of a log that is to begin again; a shorter one may grow.
const LOG_PAGES_MIN: i64 = 1_024;
/// Pages that are left to the writer: its pause is to move these and to sync them.
const TAIL_PAGES_MAX: i64 = 256;
/// How often pages are moved until no more than that are left. Each time they are those that were appended meanwhile.
const ROUNDS_MAX: u32 = 4;

/// The log, as far as this process fills it.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    /// There is something to move, or it is time to end.
    changed: Condvar,
    /// Only its last pages are left to move: the writer does that before its next commit.
    pub(super) is_full: AtomicBool,
    /// Moves it; made at its first use.
    connection: Mutex<Option<Connection>>,
    /// The store's file, to sync it. Never closed: that would release all locks that this process has on the file.
    file: OnceLock<ManuallyDrop<File>>,
}

#[derive(Default)]
struct State {
    /// Bytes in it, about, since it was last moved.
    bytes: u64,
    is_closed: bool,
}

impl Log {
    /// Something was written to it.
    pub(super) fn grew(&self, bytes: u64) {
        let mut state = lock(&self.state);
        let before = state.bytes;
        state.bytes += bytes;
        if before == 0 || before < LOG_BYTES && state.bytes >= LOG_BYTES {
            self.changed.notify_one();
        }
    }

    /// Closes the connection that moves it, and does something while it is closed; it is made again when it is needed.
    pub(super) fn while_closed<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut connection = lock(&self.connection);
        if let Some(connection) = connection.take() {
            closed(connection);
        }
        work()
    }

    /// Ends the moving.
    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_one();
        self.while_closed(|| ());
    }

    /// Waits until it is time to move it; false: it is time to end.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        let mut before = 0;
        while !state.is_closed && state.bytes < LOG_BYTES && (state.bytes == 0 || state.bytes != before) {
            before = state.bytes;
            state = if before == 0 {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(state, QUIET).unwrap_or_else(PoisonError::into_inner).0
            };
        }
        state.bytes = 0;
        !state.is_closed
    }

    fn move_once(&self, location: &Location) -> crate::Result<()> {
        let mut connection = lock(&self.connection);
        // Seen under the lock by whoever closes: a connection that is made after that would stay open.
        if lock(&self.state).is_closed {
            return Ok(());
        }
        let connection = match &mut *connection {
            Some(connection) => connection,
            none => none.insert(location.checkpointer()?),
        };
        let failed = |error: &dyn std::fmt::Display| StoreError::io("moving the log", error);
        let mut before = 0;
        for _ in 0..ROUNDS_MAX {
            let (pages, moved) = move_log(connection).map_err(|error| failed(&error))?;
            // A short log may grow. One that a reading holds cannot begin again.
            if pages < LOG_PAGES_MIN || moved < pages {
                return Ok(());
            }
            // SQLite syncs only after the last page, which the writer moves: it would wait for all of them.
            self.sync(location).map_err(|error| failed(&error))?;
            let appended = pages - before;
            if appended <= TAIL_PAGES_MAX {
                break;
            }
            before = pages;
        }
        self.is_full.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self, location: &Location) -> std::io::Result<()> {
        let file = match self.file.get() {
            Some(file) => file,
            None => {
                let file = File::options().write(true).open(&location.path)?;
                self.file.get_or_init(|| ManuallyDrop::new(file))
            }
        };
        file.sync_data()
    }
}

/// Runs until the store is closed.
pub(super) fn run(shared: &Shared) {
    while shared.log.wait() {
        if let Err(error) = shared.log.move_once(&shared.location) {
            tracing::warn!(%error, "moving the store's log into its file; trying again later");
        }
    }
}

/// Moves as much as is possible without waiting for anyone. Returns the pages that the log had when this began, and
/// how many of them are in the file. What another connection appended meanwhile is in neither number.
pub(super) fn move_log(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)))
}
