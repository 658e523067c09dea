//! Snapshots and saved states in SQLite. States are written and dropped by an append's text.

use futures_util::future::BoxFuture;
use rewake_core::ids::{Digest, SessionId};
use sqlx::{Row as _, SqliteConnection};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, rows};
use crate::StoreError;
use crate::ports::{Answer, SavedState, Snapshot, Snapshots, States};

impl Snapshots for SqliteStore {
    fn put_snapshot<'a>(&'a self, session: &'a SessionId, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            self.ask(Put { id, session: session.clone(), snapshot }).await
        })
    }

    fn newest_snapshot<'a>(&'a self, session: &'a SessionId, below: u64) -> Answer<'a, Option<Snapshot>> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            let failed = |error: sqlx::Error| reading(&format!("a snapshot of {session}"), &error);
            let row = sqlx::query(
                "SELECT seq, hash, version, state, bytes FROM snapshots WHERE session = ? AND seq < ? \
                 ORDER BY seq DESC LIMIT 1",
            )
            .bind(id)
            .bind(i64::try_from(below).unwrap_or(i64::MAX))
            .fetch_optional(&*self.shared.readers.read().await)
            .await
            .map_err(failed)?;
            let Some(row) = row else { return Ok(None) };
            let read = || -> sqlx::Result<Snapshot> {
                let has_state = row.try_get::<Option<&[u8]>, _>(3)?.is_some();
                Ok(Snapshot {
                    seq: rows::number(&row, 0)?,
                    hash: rows::digest(&row, 1)?,
                    version: rows::small(&row, 2)?,
                    state: if has_state { Some(rows::digest(&row, 3)?) } else { None },
                    bytes: row.try_get(4)?,
                })
            };
            read().map(Some).map_err(failed)
        })
    }
}

impl States for SqliteStore {
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            let failed = |error: sqlx::Error| reading(&format!("a saved state of {session}"), &error);
            let row =
                sqlx::query("SELECT version, step_seq, bytes FROM states WHERE session = ? AND digest = ?")
                    .bind(id)
                    .bind(&digest.0[..])
                    .fetch_optional(&*self.shared.readers.read().await)
                    .await
                    .map_err(failed)?;
            let Some(row) = row else { return Ok(None) };
            let read = || -> sqlx::Result<SavedState> {
                Ok(SavedState {
                    version: rows::small(&row, 0)?,
                    digest: *digest,
                    step_seq: rows::number(&row, 1)?,
                    bytes: row.try_get(2)?,
                })
            };
            let state = read().map_err(failed)?;
            if Digest::of(&state.bytes) != *digest {
                return Err(StoreError::corrupt(
                    format!("the state of {session} saved at entry {}", state.step_seq),
                    "its bytes are not those of its digest",
                ));
            }
            Ok(Some(state))
        })
    }
}

/// Keeps a snapshot.
struct Put {
    id: i64,
    session: SessionId,
    snapshot: Snapshot,
}

impl Operation for Put {
    type Output = ();

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<(), Stop>> {
        Box::pin(async move {
            let snapshot = &self.snapshot;
            if let Some(state) = &snapshot.state {
                let kept: i64 =
                    sqlx::query_scalar("SELECT count(*) FROM states WHERE session = ? AND digest = ?")
                        .bind(self.id)
                        .bind(&state.0[..])
                        .fetch_one(&mut *connection)
                        .await?;
                if kept == 0 {
                    let what = format!("saved state {state} of {} any more", self.session);
                    return Err(StoreError::NotFound(what).into());
                }
            }
            sqlx::query(
                "INSERT INTO snapshots (session, seq, hash, version, state, bytes) VALUES (?, ?, ?, ?, ?, ?) \
                 ON CONFLICT (session, seq) DO UPDATE SET hash = excluded.hash, version = excluded.version, \
                 state = excluded.state, bytes = excluded.bytes",
            )
            .bind(self.id)
            .bind(snapshot.seq as i64)
            .bind(&snapshot.hash.0[..])
            .bind(i64::from(snapshot.version))
            .bind(snapshot.state.as_ref().map(|state| &state.0[..]))
            .bind(&snapshot.bytes[..])
            .execute(&mut *connection)
            .await?;
            sqlx::query(
                "DELETE FROM snapshots WHERE session = ?1 AND seq < (SELECT seq FROM snapshots \
                 WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET 1)",
            )
            .bind(self.id)
            .execute(connection)
            .await?;
            Ok(())
        })
    }
}
