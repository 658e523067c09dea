//! Whose condition made a group fail: reads what the group's text had checked. Writes nothing.

use rewake_core::ids::{Digest, Head};
use sqlx::{Row as _, SqliteConnection};

use super::job::Prepared;
use super::rows::digest;
use crate::{Position, StoreError};

/// Why an append cannot be committed as things stand; none if it can.
pub(super) async fn judge(
    connection: &mut SqliteConnection,
    one: &Prepared,
) -> sqlx::Result<Option<StoreError>> {
    let append = &one.append;
    let Some(row) = sqlx::query("SELECT epoch, head_seq, head_hash FROM sessions WHERE id = ?")
        .bind(one.session)
        .fetch_optional(&mut *connection)
        .await?
    else {
        return Ok(Some(StoreError::no_session(&append.session)));
    };
    let epoch = row.try_get::<i64, _>(0)? as u64;
    let head =
        Head { seq: row.try_get::<i64, _>(1)? as u64, hash: digest(&row, 2).unwrap_or(Digest([0xff; 32])) };
    if epoch != append.epoch || head != append.expected {
        return Ok(Some(StoreError::Fenced {
            session: append.session.clone(),
            expected: Position { epoch: append.epoch, seq: append.expected.seq },
            found: Position { epoch, seq: head.seq },
        }));
    }
    for (index, n) in append.taken.iter().enumerate() {
        let untaken: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM inbox WHERE session = ? AND n = ? AND taken_seq IS NULL",
        )
        .bind(one.session)
        .bind(*n as i64)
        .fetch_one(&mut *connection)
        .await?;
        if untaken == 0 || append.taken[..index].contains(n) {
            return Ok(Some(StoreError::RowTaken { session: append.session.clone(), n: *n }));
        }
    }
    for n in &append.taken {
        let about = sqlx::query("SELECT n FROM inbox WHERE session = ? AND target = ? AND taken_seq IS NULL")
            .bind(one.session)
            .bind(*n as i64)
            .fetch_all(&mut *connection)
            .await?;
        for row in about {
            if !append.taken.contains(&(row.try_get::<i64, _>(0)? as u64)) {
                return Ok(Some(StoreError::RowChanged { session: append.session.clone(), n: *n }));
            }
        }
    }
    if let Some(expected) = append.inbox_through {
        let found: i64 = sqlx::query_scalar("SELECT coalesce(max(n), 0) FROM inbox WHERE session = ?")
            .bind(one.session)
            .fetch_one(connection)
            .await?;
        if found as u64 != expected {
            return Ok(Some(StoreError::InboxMoved {
                session: append.session.clone(),
                expected,
                found: found as u64,
            }));
        }
    }
    Ok(None)
}
