//! Moves the write-ahead log into the file, beside the writer and never inside a commit: when the log
//! is large, or when nothing was written for a moment.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::{Row as _, SqliteConnection};
use tokio::time::timeout;

use super::shared::{LOG_BYTES, Shared};

/// How long nothing must be written before a small log is moved.
const QUIET_MS: u64 = 1_000;
/// Pages that may be left in the log before the writer has to move them itself.
const LOG_PAGES_MAX: i64 = 4_096;

/// Runs until the store is closed.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut before = 0;
    loop {
        let held = shared.log_bytes.load(Ordering::Relaxed);
        if held == 0 || (held < LOG_BYTES && held != before) {
            before = held;
            let grew = shared.log_grew.notified();
            if held == 0 {
                grew.await;
            } else {
                // Over is over: whether it grew in the meantime is what the next look is for.
                let _ = timeout(Duration::from_millis(QUIET_MS), grew).await;
            }
        } else {
            before = 0;
            shared.log_bytes.store(0, Ordering::Relaxed);
            if let Err(error) = once(&shared).await {
                tracing::warn!(%error, "moving the store's log into its file; trying again later");
            }
        }
        if shared.is_closed.load(Ordering::Acquire) {
            return;
        }
    }
}

async fn once(shared: &Shared) -> crate::Result<()> {
    let mut checkpointer = shared.checkpointer.lock().await;
    if shared.is_closed.load(Ordering::Acquire) {
        return Ok(());
    }
    let connection = match &mut *checkpointer {
        Some(connection) => connection,
        none => none.insert(shared.location.checkpointer().await?),
    };
    let left = move_log(connection).await.map_err(|error| crate::StoreError::io("moving the log", error))?;
    if left > LOG_PAGES_MAX {
        shared.log_is_full.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Moves as much as is possible without waiting for anyone. Returns the pages of the log if it cannot be
/// begun anew with the next commit, else 0.
pub(super) async fn move_log(connection: &mut SqliteConnection) -> sqlx::Result<i64> {
    let row = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(connection).await?;
    let (pages, moved): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
    Ok(if moved < pages { pages } else { 0 })
}
