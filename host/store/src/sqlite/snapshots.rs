//! Snapshots and saved states in SQLite. States are written and dropped by appends.

use rewake_core::ids::{Digest, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::SqliteStore;
use super::job::{Operation, Stop};
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
            let below = i64::try_from(below).unwrap_or(i64::MAX);
            self.query(format!("a snapshot of {session}"), move |connection| {
                let mut query = connection.prepare_cached(
                    "SELECT seq, hash, version, state, bytes FROM snapshots WHERE session = ? AND seq < ? \
                     ORDER BY seq DESC LIMIT 1",
                )?;
                let snapshot = |row: &Row<'_>| {
                    Ok(Snapshot {
                        seq: row.get(0)?,
                        hash: Digest(row.get(1)?),
                        version: row.get(2)?,
                        state: row.get::<_, Option<_>>(3)?.map(Digest),
                        bytes: row.get(4)?,
                    })
                };
                Ok(query.query_row([id, below], snapshot).optional()?)
            })
            .await
        })
    }
}

impl States for SqliteStore {
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            let (name, digest) = (session.clone(), *digest);
            self.query(format!("a saved state of {session}"), move |connection| {
                let mut query = connection.prepare_cached(
                    "SELECT version, step_seq, bytes FROM states WHERE session = ? AND digest = ?",
                )?;
                let state = |row: &Row<'_>| {
                    Ok(SavedState { version: row.get(0)?, digest, step_seq: row.get(1)?, bytes: row.get(2)? })
                };
                let found = query.query_row(params![id, digest.0], state).optional()?;
                match found {
                    Some(state) if Digest::of(&state.bytes) != digest => Err(StoreError::corrupt(
                        format!("the state of {name} saved at entry {}", state.step_seq),
                        "its bytes are not those of its digest",
                    )
                    .into()),
                    found => Ok(found),
                }
            })
            .await
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

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        let snapshot = &self.snapshot;
        if let Some(state) = &snapshot.state {
            let is_kept: bool = connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM states WHERE session = ? AND digest = ?)")?
                .query_row(params![self.id, state.0], |row| row.get(0))?;
            if !is_kept {
                let what = format!("saved state {state} of {} any more", self.session);
                return Err(StoreError::NotFound(what).into());
            }
        }
        connection
            .prepare_cached(
                "INSERT INTO snapshots (session, seq, hash, version, state, bytes) VALUES (?, ?, ?, ?, ?, ?) \
                 ON CONFLICT (session, seq) DO UPDATE SET hash = excluded.hash, version = excluded.version, \
                 state = excluded.state, bytes = excluded.bytes",
            )?
            .execute(params![
                self.id,
                snapshot.seq,
                snapshot.hash.0,
                snapshot.version,
                snapshot.state.map(|state| state.0),
                snapshot.bytes,
            ])?;
        connection
            .prepare_cached(
                "DELETE FROM snapshots WHERE session = ?1 AND seq < (SELECT seq FROM snapshots \
                 WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET 1)",
            )?
            .execute([self.id])?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.snapshot.bytes.len()
    }
}
