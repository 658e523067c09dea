//! A store's file as somebody changes it who holds it and knows SQLite: past every guard that the storage has. For
//! tests of what is then found; nothing of the host uses it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::{Result, StoreError};

/// Bytes of a log before its frames.
pub(crate) const LOG_HEAD_BYTES: u64 = 32;
/// Bytes of a page, and of a log's frame, which holds one.
pub const PAGE_BYTES: u64 = 4_096;
/// See there.
pub(crate) const FRAME_BYTES: u64 = PAGE_BYTES + 24;

/// A connection that knows no rules.
pub struct Tamper(Connection);

impl Tamper {
    /// Opens a store's file, which must be there.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(file: &Path) -> Result<Self> {
        let open = || {
            let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.pragma_update(None, "foreign_keys", false)?;
            Ok(Tamper(connection))
        };
        open().map_err(|error| failed(&error))
    }

    /// Changes what is in it. The guards are as before afterwards.
    ///
    /// # Errors
    /// If SQLite does not do it.
    pub fn change(&self, statements: &str) -> Result<()> {
        let guards = || {
            let mut query = self.0.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?;
            let guards = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            guards.collect::<rusqlite::Result<Vec<(String, String)>>>()
        };
        let guards = guards().map_err(|error| failed(&error))?;
        let mut text = String::from("BEGIN IMMEDIATE;");
        for (name, _) in &guards {
            text.push_str(&format!("DROP TRIGGER {name};"));
        }
        text.push_str(statements);
        for (_, guard) in &guards {
            text.push_str(&format!(";{guard}"));
        }
        text.push_str(";COMMIT");
        self.run(&text)
    }

    /// Runs statements as they are, such as one that locks the file.
    ///
    /// # Errors
    /// If SQLite does not do it.
    pub fn run(&self, statements: &str) -> Result<()> {
        self.0.execute_batch(statements).map_err(|error| failed(&error))
    }

    /// A number that the file says.
    ///
    /// # Errors
    /// If SQLite does not say it.
    pub fn number(&self, query: &str) -> Result<i64> {
        self.0.query_row(query, [], |row| row.get(0)).map_err(|error| failed(&error))
    }

    /// The pages that hold the rows of a table or an index, in their order.
    ///
    /// # Errors
    /// If SQLite does not say it.
    pub fn leaves(&self, name: &str) -> Result<Vec<i64>> {
        let leaves = || {
            let mut query = self
                .0
                .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")?;
            let pages = query.query_map([name], |row| row.get(0))?;
            pages.collect::<rusqlite::Result<_>>()
        };
        leaves().map_err(|error| failed(&error))
    }

    /// Closes the file; a log that nobody else has open is moved into it.
    ///
    /// # Errors
    /// If that fails.
    pub fn close(self) -> Result<()> {
        self.0.close().map_err(|(_, error)| failed(&error))
    }
}

/// Where each transaction of a write-ahead log ends in its file, the last one last; the first begins at
/// `LOG_HEAD_BYTES`. Only what its newest use has written counts.
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

fn failed(error: &rusqlite::Error) -> StoreError {
    StoreError::io("tampering", error)
}
