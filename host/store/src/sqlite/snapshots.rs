//! Snapshots and saved states in SQLite. States are written and dropped by appends.

use rewake_core::ids::{Digest, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::job::{Operation, Stop};
use super::shared::Keys;
use super::texts::{Stored, Texts};
use super::{SqliteStore, VALUE_BYTES_MAX};
use crate::StoreError;
use crate::ports::{Answer, SavedState, Snapshot, Snapshots, States};

impl Snapshots for SqliteStore {
    fn put_snapshot<'a>(&'a self, session: &'a SessionId, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move {
            let keys = self.shared.keys(session).await?;
            let texts = Texts::of(&snapshot.bytes);
            self.ask(Put { keys, session: session.clone(), snapshot, texts }).await
        })
    }

    fn newest_snapshot<'a>(&'a self, session: &'a SessionId, below: u64) -> Answer<'a, Option<Snapshot>> {
        Box::pin(async move {
            let keys = self.shared.keys(session).await?;
            let below = i64::try_from(below).unwrap_or(i64::MAX);
            let name = session.clone();
            self.query(format!("a snapshot of {session}"), move |connection| {
                let mut query = connection.prepare_cached(
                    "SELECT seq, hash, version, state, bytes, texts FROM snapshots WHERE session = ? AND seq < ? \
                     ORDER BY seq DESC LIMIT 1",
                )?;
                let found = |row: &Row<'_>| {
                    let snapshot = Snapshot {
                        seq: row.get(0)?,
                        hash: Digest(row.get(1)?),
                        version: row.get(2)?,
                        state: row.get::<_, Option<_>>(3)?.map(Digest),
                        bytes: Vec::new(),
                    };
                    Ok((snapshot, Stored { rest: row.get::<_, Vec<u8>>(4)?.into(), texts: row.get(5)? }))
                };
                let found = query.query_row([keys.session, below], found).optional()?;
                let Some((snapshot, stored)) = found else { return Ok(None) };
                let corrupt =
                    |why| StoreError::corrupt(format!("the snapshot of {name} at {}", snapshot.seq), why);
                let bytes = stored.whole(connection, keys.project, VALUE_BYTES_MAX)?.map_err(corrupt)?;
                Ok(Some(Snapshot { bytes, ..snapshot }))
            })
            .await
        })
    }
}

impl States for SqliteStore {
    fn state<'a>(&'a self, session: &'a SessionId, digest: &'a Digest) -> Answer<'a, Option<SavedState>> {
        Box::pin(async move {
            let keys = self.shared.keys(session).await?;
            let (name, digest) = (session.clone(), *digest);
            self.query(format!("a saved state of {session}"), move |connection| {
                let mut query = connection.prepare_cached(
                    "SELECT version, step_seq, bytes, texts FROM states WHERE session = ? AND digest = ?",
                )?;
                let found = |row: &Row<'_>| {
                    Ok((
                        row.get(0)?,
                        row.get(1)?,
                        Stored { rest: row.get::<_, Vec<u8>>(2)?.into(), texts: row.get(3)? },
                    ))
                };
                let found = query.query_row(params![keys.session, digest.0], found).optional()?;
                let Some((version, step_seq, stored)) = found else { return Ok(None) };
                let corrupt =
                    |why| StoreError::corrupt(format!("the state of {name} saved at entry {step_seq}"), why);
                let bytes = stored.whole(connection, keys.project, VALUE_BYTES_MAX)?.map_err(corrupt)?;
                if Digest::of(&bytes) != digest {
                    return Err(corrupt("its bytes are not those of its digest".into()).into());
                }
                Ok(Some(SavedState { version, digest, step_seq, bytes }))
            })
            .await
        })
    }
}

/// Keeps a snapshot.
struct Put {
    keys: Keys,
    session: SessionId,
    snapshot: Snapshot,
    texts: Texts,
}

impl Operation for Put {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        let snapshot = &self.snapshot;
        if let Some(state) = &snapshot.state {
            let is_kept: bool = connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM states WHERE session = ? AND digest = ?)")?
                .query_row(params![self.keys.session, state.0], |row| row.get(0))?;
            if !is_kept {
                let what = format!("saved state {state} of {} any more", self.session);
                return Err(StoreError::NotFound(what).into());
            }
        }
        let stored = Stored::without_named(connection, self.keys, &snapshot.bytes, &self.texts)?;
        connection
            .prepare_cached(
                "INSERT INTO snapshots (session, seq, hash, version, state, texts, bytes) VALUES (?, ?, ?, ?, ?, ?, ?) \
                 ON CONFLICT (session, seq) DO UPDATE SET hash = excluded.hash, version = excluded.version, \
                 state = excluded.state, texts = excluded.texts, bytes = excluded.bytes",
            )?
            .execute(params![
                self.keys.session,
                snapshot.seq,
                snapshot.hash.0,
                snapshot.version,
                snapshot.state.map(|state| state.0),
                stored.texts,
                stored.rest.as_ref(),
            ])?;
        connection
            .prepare_cached(
                "DELETE FROM snapshots WHERE session = ?1 AND seq < (SELECT seq FROM snapshots \
                 WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET 1)",
            )?
            .execute([self.keys.session])?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.snapshot.bytes.len()
    }
}
