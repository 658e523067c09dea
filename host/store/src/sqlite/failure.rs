//! What an error of SQLite means for the transaction that met it.

use rusqlite::{Error, ErrorCode, ffi};

use super::VALUE_BYTES_MAX;
use crate::StoreError;

/// What became of a transaction that failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It did not begin, was refused for what it says, or met a damaged page; nothing was written.
    NotWritten,
    /// The disk, or what stands between: nothing may be concluded.
    Unknown,
}

/// Judges an error. What is not known to be harmless is not.
pub(super) fn judge(error: &Error) -> Verdict {
    // A value or a statement is met before COMMIT, which itself has neither.
    if is_of_a_value(error) || is_of_a_statement(error) {
        return Verdict::NotWritten;
    }
    match code(error) {
        // So is a damaged page: COMMIT reads none.
        Some(
            ErrorCode::ConstraintViolation
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::ReadOnly
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::TypeMismatch,
        ) => Verdict::NotWritten,
        _ => Verdict::Unknown,
    }
}

/// Whether a value is none of its column's, as somebody wrote it past SQLite's checks, or is too large for any; or
/// whether a row is gone that others name.
fn is_of_a_value(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
            | Error::ToSqlConversionFailure(..)
            | Error::QueryReturnedNoRows
    ) || code(error) == Some(ErrorCode::TooBig)
}

/// SQLite's own error; of a statement that it cannot compile, it comes as another variant.
fn of_sqlite(error: &Error) -> Option<&ffi::Error> {
    match error {
        Error::SqliteFailure(failure, _) | Error::SqlInputError { error: failure, .. } => Some(failure),
        _ => None,
    }
}

fn code(error: &Error) -> Option<ErrorCode> {
    of_sqlite(error).map(|failure| failure.code)
}

/// Whether SQLite refused a statement, or the file's form.
pub(super) fn is_of_a_statement(error: &Error) -> bool {
    of_sqlite(error).is_some_and(|failure| failure.extended_code & 0xff == ffi::SQLITE_ERROR)
}

/// Whether the file is no database.
pub(super) fn is_no_database(error: &Error) -> bool {
    code(error) == Some(ErrorCode::NotADatabase)
}

/// What SQLite said, with its code and without its statement.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::SqliteFailure(failure, _) if failure.code == ErrorCode::DiskFull => {
            format!("the disk is full (SQLite {}); make room on it", failure.extended_code)
        }
        Error::SqliteFailure(failure, _) if failure.code == ErrorCode::OperationInterrupted => {
            "it takes more steps than any reading of an intact store; check the file with `rewake verify`"
                .into()
        }
        Error::SqliteFailure(failure, _) if failure.code == ErrorCode::TooBig => {
            format!("a value is larger than {VALUE_BYTES_MAX} bytes")
        }
        Error::SqliteFailure(failure, Some(message))
        | Error::SqlInputError { error: failure, msg: message, .. } => {
            format!("{message} (SQLite {})", failure.extended_code)
        }
        Error::FromSqlConversionFailure(_, _, why) => why.to_string(),
        Error::IntegralValueOutOfRange(_, value) => format!("a number out of its range: {value}"),
        Error::InvalidColumnType(_, column, kind) => format!("the column {column} holds {kind}"),
        error => error.to_string(),
    }
}

/// Whether the file itself is damaged.
pub(super) fn is_damaged(error: &Error) -> bool {
    code(error) == Some(ErrorCode::DatabaseCorrupt) || is_no_database(error)
}

/// Something failed, and nothing was written.
pub(super) fn failed(what: String, error: &Error) -> StoreError {
    match error {
        error if is_of_a_value(error) => StoreError::corrupt(what, said(error)),
        error if is_damaged(error) => StoreError::Damaged { what, said: said(error) },
        error => StoreError::io(what, said(error)),
    }
}

/// Whether another process keeps the file locked.
pub(super) fn is_locked(error: &Error) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What a caller is told about a transaction that was not written.
pub(super) fn not_written(error: &Error) -> StoreError {
    if is_locked(error) {
        return StoreError::io(
            "writing to the store",
            "another process kept it locked for too long; nothing was written, try again",
        );
    }
    if code(error) == Some(ErrorCode::ConstraintViolation) {
        // All that may be refused is refused before it is written.
        return StoreError::corrupt("a transaction of the store; nothing was written", said(error));
    }
    failed("writing to the store; nothing was written".into(), error)
}

/// What a reader is told.
pub(super) fn reading(what: &str, error: &Error) -> StoreError {
    failed(format!("reading {what}"), error)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn what_is_not_known_to_be_harmless_is_unknown() {
        for code in
            [ffi::SQLITE_IOERR, ffi::SQLITE_FULL, ffi::SQLITE_NOMEM, ffi::SQLITE_INTERNAL, ffi::SQLITE_NOTADB]
        {
            assert_eq!(judge(&Error::SqliteFailure(ffi::Error::new(code), None)), Verdict::Unknown, "{code}");
        }
        assert_eq!(judge(&Error::InvalidQuery), Verdict::Unknown);
        let refused = ffi::Error::new(ffi::SQLITE_CONSTRAINT_TRIGGER);
        assert_eq!(judge(&Error::SqliteFailure(refused, None)), Verdict::NotWritten);
        let connection = Connection::open_in_memory().unwrap();
        let no_table = connection.prepare("SELECT secret FROM nowhere").unwrap_err();
        assert_eq!(judge(&no_table), Verdict::NotWritten);
        assert_eq!(said(&no_table), "no such table: nowhere (SQLite 1)");
        let too_large = connection.query_row("SELECT ?", [u64::MAX], |_| Ok(())).unwrap_err();
        assert_eq!(judge(&too_large), Verdict::NotWritten);
    }
}
