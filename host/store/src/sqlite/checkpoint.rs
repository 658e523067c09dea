//! Moves the write-ahead log into the file, beside the writer and never inside a commit: when the log
//! is large, or when nothing was written for a moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::connect::{Location, closed};
use super::lock;
use super::shared::Shared;

/// How long nothing must be written before a small log is moved.
const QUIET: Duration = Duration::from_secs(1);
/// Bytes in the log from which it is moved into the file without waiting for a quiet moment.
const LOG_BYTES: u64 = 4 << 20;
/// Pages that may be left in the log before the writer has to move them itself.
const LOG_PAGES_MAX: i64 = 4_096;

/// The log, as far as this process fills it.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    /// There is something to move, or it is time to end.
    changed: Condvar,
    /// Moving beside the writer does not catch up: the writer has to.
    pub(super) is_full: AtomicBool,
    /// Moves it; made at its first use.
    connection: Mutex<Option<Connection>>,
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
        let left = move_log(connection).map_err(|error| crate::StoreError::io("moving the log", error))?;
        if left > LOG_PAGES_MAX {
            self.is_full.store(true, Ordering::Relaxed);
        }
        Ok(())
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

/// Moves as much as is possible without waiting for anyone. Returns the pages of the log if it cannot be
/// begun again with the next commit, else 0.
pub(super) fn move_log(connection: &Connection) -> rusqlite::Result<i64> {
    let (pages, moved): (i64, i64) =
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)))?;
    Ok(if moved < pages { pages } else { 0 })
}
