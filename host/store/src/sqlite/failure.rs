//! What an error of SQLite means for the transaction that met it.

use crate::StoreError;

const BUSY: i64 = 5;
const LOCKED: i64 = 6;
const READONLY: i64 = 8;
/// A page of the file is not what was written.
const CORRUPT: i64 = 11;
const FULL: i64 = 13;
const CONSTRAINT: i64 = 19;
/// The statement, or the file's form.
pub(super) const ERROR: i64 = 1;
const TOO_BIG: i64 = 18;
const MISMATCH: i64 = 20;
/// The file is no database.
pub(super) const NOTADB: i64 = 26;

/// What became of a transaction that failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// One of its conditions did not hold; nothing was written.
    Condition,
    /// It did not begin, was refused for what it says, or met a damaged page; nothing was written.
    NotWritten,
    /// The disk, or what stands between: nothing may be concluded.
    Unknown,
}

/// Judges an error. What is not known to be harmless is not.
pub(super) fn judge(error: &sqlx::Error) -> Verdict {
    match primary_code(error) {
        Some(CONSTRAINT) => Verdict::Condition,
        // A damaged page is met by the statements before COMMIT, which itself reads none.
        Some(BUSY | LOCKED | READONLY | CORRUPT | ERROR | TOO_BIG | MISMATCH) => Verdict::NotWritten,
        _ => Verdict::Unknown,
    }
}

/// SQLite's primary result code, if the error is one of SQLite's.
pub(super) fn primary_code(error: &sqlx::Error) -> Option<i64> {
    let extended: i64 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// What SQLite said, without what stands between.
pub(super) fn said(error: &sqlx::Error) -> String {
    let Some(database) = error.as_database_error() else { return error.to_string() };
    let code = database.code().unwrap_or_default();
    match primary_code(error) {
        Some(FULL) => format!("the disk is full (SQLite {code}); make room on it"),
        _ => format!("{} (SQLite {code})", database.message()),
    }
}

/// Whether the file itself is damaged.
pub(super) fn is_damaged(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(CORRUPT | NOTADB))
}

/// Something failed, and nothing was written.
pub(super) fn failed(what: String, error: &sqlx::Error) -> StoreError {
    match error {
        // A value that is none of its column's: somebody wrote it past SQLite's checks.
        sqlx::Error::ColumnDecode { source, .. } => StoreError::corrupt(what, source),
        error if is_damaged(error) => StoreError::Damaged { what, said: said(error) },
        error => StoreError::io(what, said(error)),
    }
}

/// Whether another process keeps the file locked.
pub(super) fn is_locked(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(BUSY | LOCKED))
}

/// Whether a ROLLBACK failed because there was nothing to undo.
pub(super) fn is_no_transaction(error: &sqlx::Error) -> bool {
    primary_code(error) == Some(ERROR)
        && error.as_database_error().is_some_and(|error| error.message().contains("no transaction is active"))
}

/// What a caller is told about a transaction that was not written.
pub(super) fn not_written(error: &sqlx::Error) -> StoreError {
    if is_locked(error) {
        return StoreError::io(
            "writing to the store",
            "another process kept it locked for too long; nothing was written, try again",
        );
    }
    failed("writing to the store; nothing was written".into(), error)
}

/// What a reader is told.
pub(super) fn reading(what: &str, error: &sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::PoolClosed => StoreError::Closed,
        _ => failed(format!("reading {what}"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_be_harmless_is_unknown() {
        assert_eq!(judge(&sqlx::Error::WorkerCrashed), Verdict::Unknown);
        assert_eq!(judge(&sqlx::Error::Protocol("?".into())), Verdict::Unknown);
    }
}
