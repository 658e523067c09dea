//! What a store answers when it does not do what it was asked. Every error says whether something was
//! written: only [`StoreError::Unknown`] leaves that open.

use std::fmt;
use std::path::PathBuf;

use rewake_core::Refusal;
use rewake_core::ids::{HostId, SessionId, Timestamp};
use thiserror::Error;

/// What a store answers.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Where a session stands: the lease's number and the newest entry's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The lease under which the next append must be.
    pub epoch: u64,
    /// The newest entry's number.
    pub seq: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} under lease {}", self.seq, self.epoch)
    }
}

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// The lease or the head is not the caller's any more. Nothing was written; drop the session and
    /// load it again if this host still has its lease.
    #[error(
        "{session} has moved on: expected {expected}, found {found}. Nothing was written; load the session again"
    )]
    Fenced {
        /// The session.
        session: SessionId,
        /// Where the caller took it to be.
        expected: Position,
        /// Where it is. With the same numbers, the chain hash differs.
        found: Position,
    },
    /// Rows came into the inbox since it was read. Nothing was written; read it again.
    #[error(
        "the inbox of {session} has moved on: expected row {expected} to be the last, found {found}. \
         Nothing was written; read the inbox again"
    )]
    InboxMoved {
        /// The session.
        session: SessionId,
        /// The row that the caller took to be the last.
        expected: u64,
        /// The last row.
        found: u64,
    },
    /// A row that was to be accepted is not there, or is in the journal already. Nothing was written.
    #[error(
        "row {n} of the inbox of {session} is not there to be accepted, or was accepted before. Nothing was written; load the session again"
    )]
    RowTaken {
        /// The session.
        session: SessionId,
        /// The row.
        n: u64,
    },
    /// There is no such thing here.
    #[error("there is no {0} in this store")]
    NotFound(String),
    /// The session is there already. Nothing was written.
    #[error("{0} exists already; nothing was written")]
    Exists(SessionId),
    /// An inbox row that was to be accepted was changed by one that was not: look at the inbox again. Nothing was
    /// written.
    #[error(
        "row {n} of the inbox of {session} was changed by another one that is not accepted; nothing was written"
    )]
    RowChanged {
        /// The session.
        session: SessionId,
        /// The row that was to be accepted.
        n: u64,
    },
    /// The client's error. Nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The disk failed while a transaction was committed: whether it is kept is not known, and nothing
    /// may be concluded. Load the session again, or send again with the same key.
    #[error(
        "not known whether it was written: {0}. The store opens its file again; load the session again, \
         or send once more with the same key"
    )]
    Unknown(String),
    /// What was to be written, or what was read, contradicts itself.
    #[error("{what}: {why}")]
    Corrupt {
        /// Where.
        what: String,
        /// In which way.
        why: String,
    },
    /// Pages of the store's file are not what SQLite wrote. Nothing was written; what stands elsewhere in the
    /// file can be read.
    #[error(
        "{what}: the store's file is damaged ({said}). Copy the data folder before anything else is tried; \
         `rewake verify` tells which sessions can be read"
    )]
    Damaged {
        /// What was being done.
        what: String,
        /// What SQLite said.
        said: String,
    },
    /// What stands at the file's name is not the file that was opened: it was deleted, moved or replaced, and
    /// what would be written might never be found. Nothing was written, and nothing is from then on.
    #[error(
        "{} was deleted, moved or replaced while this process had it open; nothing was written. Put the data \
         folder back where it was, and start again",
        path.display()
    )]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// Another host that lives has the lease. Nothing was written.
    #[error("{session} is run by {holder}{} until {expires_at}; wait, or stop that host", of_process(*process))]
    Busy {
        /// The session.
        session: SessionId,
        /// Who has the lease.
        holder: HostId,
        /// Its process, where it is one of this machine.
        process: Option<u32>,
        /// Until when, if it is not renewed.
        expires_at: Timestamp,
    },
    /// The file is of a newer version of the host. It was not touched.
    #[error(
        "{} was written by a newer Rewake (schema {found}; this one knows up to {known}). Use the newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema's version.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The file is of an older version of the host, and is to be read only. It was not touched.
    #[error(
        "{} was written by an older Rewake (schema {found}; this one reads {known}). Any command that writes upgrades \
         it, such as `rewake run`; copy the data folder first, since the older Rewake cannot read it afterwards",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its schema's version.
        found: i64,
        /// The version that is needed here.
        known: i64,
    },
    /// The file's schema is not the one that this version made: something is in it that could act for those who open
    /// the file, or a guard is gone. It was not touched.
    #[error(
        "the schema of {} was altered: {what}. Nothing was read or written, since SQLite would run such an object for \
         you. Take the file from a copy that you trust; a file of another unreleased version cannot be used",
        path.display()
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// The first object that differs, and in which way.
        what: String,
    },
    /// The file is no store of Rewake. It was not touched.
    #[error(
        "{} is not a store of Rewake: {why}. Name another folder; if it was one, it is damaged: take it from a copy",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that shows.
        why: String,
    },
    /// The store was opened for reading only.
    #[error("the store was opened for reading only; nothing was written")]
    ReadOnly,
    /// The store was closed. Nothing was written.
    #[error("the store is closed; nothing was written")]
    Closed,
    /// Something outside failed; nothing was written.
    #[error("{what}: {source_text}")]
    Io {
        /// What was being done, and with which file.
        what: String,
        /// What the system said.
        source_text: String,
    },
}

fn of_process(process: Option<u32>) -> String {
    process.map_or_else(String::new, |id| format!(" (process {id})"))
}

impl StoreError {
    /// Something outside failed, and nothing was written.
    pub(crate) fn io(what: impl Into<String>, source: impl fmt::Display) -> Self {
        StoreError::Io { what: what.into(), source_text: source.to_string() }
    }

    /// Something contradicts itself.
    pub(crate) fn corrupt(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        StoreError::Corrupt { what: what.to_string(), why: why.to_string() }
    }

    /// A session that is not there.
    pub(crate) fn no_session(session: &SessionId) -> Self {
        StoreError::NotFound(format!("session {session}"))
    }
}
