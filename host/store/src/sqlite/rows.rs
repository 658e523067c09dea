//! Reads columns as what they are in the core; a column that is none is a corruption, not a panic.

use std::str::FromStr;

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

/// A record as [`super::journal`] selects it: numbers, kind and actor in one text; digests and salt in one blob.
pub(super) fn record(row: &SqliteRow) -> sqlx::Result<Record> {
    let mut words = row.try_get::<&str, _>(0)?.splitn(10, ' ');
    let mut word = || words.next().ok_or_else(|| bad(0, "too few numbers"));
    let seq = parsed(word()?)?;
    let epoch = parsed(word()?)?;
    let version = parsed(word()?)?;
    let place = Place {
        turn: parsed(word()?)?,
        step: parsed(word()?)?,
        ordinal: parsed(word()?)?,
        index: parsed(word()?)?,
    };
    let at = Timestamp(parsed(word()?)?);
    let (kind, actor) = (word()?.to_owned(), word()?.to_owned());
    let fixed: &[u8] = row.try_get(1)?;
    let no_digests = || bad(1, "no two digests of 32 bytes");
    let (payload_digest, rest) = fixed.split_first_chunk().ok_or_else(no_digests)?;
    let (hash, salt) = rest.split_first_chunk().ok_or_else(no_digests)?;
    let payload = match salt {
        [] => None,
        salt => Some(Payload {
            salt: salt.try_into().map_err(|_| bad(1, "no salt of 16 bytes"))?,
            bytes: row
                .try_get::<Option<Vec<u8>>, _>(2)?
                .ok_or_else(|| bad(2, "the blob that holds the payload is gone"))?,
        }),
    };
    let (payload_digest, hash) = (Digest(*payload_digest), Digest(*hash));
    Ok(Record { seq, epoch, kind, version, place, at, actor, payload_digest, hash, payload })
}

/// A number within a text.
fn parsed<T: FromStr>(digits: &str) -> sqlx::Result<T> {
    digits.parse().map_err(|_| bad(0, "a number out of its range"))
}

fn bad(column: usize, what: &str) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_string(), source: what.into() }
}
