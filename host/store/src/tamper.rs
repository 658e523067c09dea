//! A store's file as somebody changes it who holds it and knows SQLite: past every guard that the storage has. For
//! tests of what is then found; nothing of the host uses it.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

use crate::{Result, StoreError};

/// Bytes of a log before its frames.
pub const LOG_HEAD_BYTES: u64 = 32;
/// Bytes of a page, and of a log's frame, which holds one.
pub const PAGE_BYTES: u64 = 4_096;
/// See there.
pub const FRAME_BYTES: u64 = PAGE_BYTES + 24;

/// A connection that knows no rules.
pub struct Tamper(SqliteConnection);

impl Tamper {
    /// Opens a store's file, which must be there.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub async fn open(file: &Path) -> Result<Self> {
        let options =
            SqliteConnectOptions::new().filename(file).foreign_keys(false).disable_statement_logging();
        options.connect().await.map(Tamper).map_err(|error| failed(&error))
    }

    /// Changes what is in it. The guards are as before afterwards.
    ///
    /// # Errors
    /// If SQLite does not do it.
    pub async fn change(&mut self, statements: &str) -> Result<()> {
        let guards: Vec<(String, String)> =
            sqlx::query_as("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
                .fetch_all(&mut self.0)
                .await
                .map_err(|error| failed(&error))?;
        let mut text = String::from("BEGIN IMMEDIATE;");
        for (name, _) in &guards {
            text.push_str(&format!("DROP TRIGGER {name};"));
        }
        text.push_str(statements);
        for (_, guard) in &guards {
            text.push_str(&format!(";{guard}"));
        }
        text.push_str(";COMMIT");
        self.run(&text).await
    }

    /// Runs a statement as it is, such as one that locks the file.
    ///
    /// # Errors
    /// If SQLite does not do it.
    pub async fn run(&mut self, statement: &str) -> Result<()> {
        let done = self.0.execute(AssertSqlSafe(statement.to_owned())).await;
        done.map(|_| ()).map_err(|error| failed(&error))
    }

    /// A number that the file says.
    ///
    /// # Errors
    /// If SQLite does not say it.
    pub async fn number(&mut self, query: &str) -> Result<i64> {
        let said = sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(&mut self.0).await;
        said.map_err(|error| failed(&error))
    }

    /// The pages that hold the rows of a table or an index, in their order.
    ///
    /// # Errors
    /// If SQLite does not say it.
    pub async fn leaves(&mut self, name: &str) -> Result<Vec<i64>> {
        sqlx::query_scalar("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
            .bind(name)
            .fetch_all(&mut self.0)
            .await
            .map_err(|error| failed(&error))
    }

    /// Closes the file; a log that nobody else has open is moved into it.
    ///
    /// # Errors
    /// If that fails.
    pub async fn close(self) -> Result<()> {
        self.0.close().await.map_err(|error| failed(&error))
    }
}

/// Where each transaction of a write-ahead log ends in its file, the last one last; the first begins at
/// [`LOG_HEAD_BYTES`]. Only what its newest use has written counts.
///
/// # Errors
/// If it cannot be read.
pub fn log_transactions(log: &Path) -> std::io::Result<Vec<u64>> {
    let bytes = std::fs::read(log)?;
    let word = |at: u64| -> Option<u32> {
        let at = usize::try_from(at).ok()?;
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let salts = (word(16), word(20));
    let mut ends = Vec::new();
    let mut at = LOG_HEAD_BYTES;
    while word(at).is_some() && (word(at + 8), word(at + 12)) == salts {
        let is_commit = word(at + 4) != Some(0);
        at += FRAME_BYTES;
        if is_commit {
            ends.push(at);
        }
    }
    Ok(ends)
}

fn failed(error: &sqlx::Error) -> StoreError {
    StoreError::io("tampering", error)
}
