//! Reads columns as what they are in the core; a column that is none is a corruption, not a panic.

use rewake_core::codec::{Payload, Record};
use rewake_core::entry::Place;
use rewake_core::ids::{Digest, Timestamp};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

/// A digest.
pub(super) fn digest(row: &SqliteRow, column: usize) -> sqlx::Result<Digest> {
    let bytes: &[u8] = row.try_get(column)?;
    let bytes = bytes.try_into().map_err(|_| bad(column, "no digest of 32 bytes"))?;
    Ok(Digest(bytes))
}

/// A number that is never negative.
pub(super) fn number(row: &SqliteRow, column: usize) -> sqlx::Result<u64> {
    let value: i64 = row.try_get(column)?;
    u64::try_from(value).map_err(|_| bad(column, "a negative number"))
}

/// A number that is never negative and small.
pub(super) fn small(row: &SqliteRow, column: usize) -> sqlx::Result<u32> {
    let value: i64 = row.try_get(column)?;
    u32::try_from(value).map_err(|_| bad(column, "a number out of its range"))
}

/// A record as [`super::journal`] selects it.
pub(super) fn record(row: &SqliteRow) -> sqlx::Result<Record> {
    let salt: Option<&[u8]> = row.try_get(12)?;
    let payload = match salt {
        None => None,
        Some(salt) => Some(Payload {
            salt: salt.try_into().map_err(|_| bad(12, "no salt of 16 bytes"))?,
            bytes: row
                .try_get::<Option<Vec<u8>>, _>(13)?
                .ok_or_else(|| bad(13, "the blob that holds the payload is gone"))?,
        }),
    };
    Ok(Record {
        seq: number(row, 0)?,
        epoch: number(row, 1)?,
        kind: row.try_get(2)?,
        version: small(row, 3)?,
        place: Place {
            turn: small(row, 4)?,
            step: small(row, 5)?,
            ordinal: small(row, 6)?,
            index: small(row, 7)?,
        },
        at: Timestamp(row.try_get(8)?),
        actor: row.try_get(9)?,
        payload_digest: digest(row, 10)?,
        hash: digest(row, 11)?,
        payload,
    })
}

fn bad(column: usize, what: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_string(), source: what.into() }
}
