//! The journal in SQLite: creating, appending, reading.

use rewake_core::codec::{Payload, Record};
use rewake_core::entry::Place;
use rewake_core::ids::{Digest, Head, SessionId, Timestamp};
use rewake_core::limits::PAYLOAD_BYTES_MAX;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::append::{Appending, Rows};
use super::job::{Operation, Stop};
use super::shared::Keys;
use super::texts::{Stored, too_long};
use super::{SqliteStore, now, vouchers};
use crate::ports::{Answer, Append, Journal, NewSession, Voucher};
use crate::{StoreError, checks};

/// Payload bytes of one reading, unless its first record has more.
const READ_BYTES_MAX: usize = 64 << 20;

impl Journal for SqliteStore {
    fn create(&self, new: NewSession) -> Answer<'_, ()> {
        Box::pin(async move {
            let head = checks::creation(&new)?;
            let session = new.session.clone();
            let keys = self.ask(Create::new(new, head)).await?;
            self.shared.remember(session, keys);
            Ok(())
        })
    }

    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let head = checks::append(&append)?;
            let keys = self.shared.keys(&append.session).await?;
            self.ask(Appending { keys, rows: Rows::new(append, head) }).await
        })
    }

    fn read<'a>(&'a self, session: &'a SessionId, after: u64, limit: u32) -> Answer<'a, Vec<Record>> {
        Box::pin(async move {
            let keys = self.shared.keys(session).await?;
            let after = i64::try_from(after).unwrap_or(i64::MAX);
            let what = format!("the journal of {session} after entry {after}");
            let session = session.clone();
            self.query(what, move |connection| {
                // A payload that no host wrote is not read: it is too long to be checked against its digest.
                let mut query = connection.prepare_cached(
                    "SELECT e.seq, e.epoch, e.kind, e.version, e.turn, e.step, e.ordinal, e.use_index, e.at, e.actor, \
                     e.payload_digest, e.hash, p.salt, iif(length(p.bytes) <= ?4, p.bytes, NULL), p.texts \
                     FROM entries AS e LEFT JOIN payloads AS p ON p.entry = e.id \
                     WHERE e.session = ?1 AND e.seq > ?2 ORDER BY e.seq LIMIT ?3",
                )?;
                let mut rows = query.query(params![keys.session, after, limit, PAYLOAD_BYTES_MAX])?;
                let mut records = Vec::new();
                let mut bytes = 0;
                while let Some(row) = rows.next()? {
                    let record = record(connection, keys.project, &session, row)?;
                    bytes += record.payload.as_ref().map_or(0, |payload| payload.bytes.len());
                    bytes += record.kind.len() + record.actor.len();
                    records.push(record);
                    if bytes > READ_BYTES_MAX {
                        break;
                    }
                }
                Ok(records)
            })
            .await
        })
    }

    fn head<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Head>> {
        let name = session.clone();
        Box::pin(self.query(format!("the head of {session}"), move |connection| {
            let mut query =
                connection.prepare_cached("SELECT head_seq, head_hash FROM sessions WHERE name = ?")?;
            let head = |row: &Row<'_>| Ok(Head { seq: row.get(0)?, hash: Digest(row.get(1)?) });
            Ok(query.query_row([name.as_str()], head).optional()?)
        }))
    }
}

fn record(connection: &Connection, project: i64, session: &SessionId, row: &Row<'_>) -> Result<Record, Stop> {
    let seq = row.get(0)?;
    let place = Place { turn: row.get(4)?, step: row.get(5)?, ordinal: row.get(6)?, index: row.get(7)? };
    let payload = match row.get(12)? {
        None => None,
        Some(salt) => {
            let corrupt = |why| StoreError::corrupt(format!("the payload of entry {seq} of {session}"), why);
            let rest: Option<Vec<u8>> = row.get(13)?;
            let rest = rest.ok_or_else(|| corrupt(too_long(PAYLOAD_BYTES_MAX)))?;
            let stored = Stored { rest: rest.into(), texts: row.get(14)? };
            let bytes = stored.whole(connection, project, PAYLOAD_BYTES_MAX)?.map_err(corrupt)?;
            Some(Payload { salt, bytes })
        }
    };
    Ok(Record {
        seq,
        epoch: row.get(1)?,
        kind: row.get(2)?,
        version: row.get(3)?,
        place,
        at: Timestamp(row.get(8)?),
        actor: row.get(9)?,
        payload_digest: Digest(row.get(10)?),
        hash: Digest(row.get(11)?),
        payload,
    })
}

/// Creates a session: its row, then its first entries as an append to an empty journal.
struct Create {
    project: String,
    bundles: Vec<Digest>,
    vouchers: Vec<Voucher>,
    rows: Rows,
}

impl Create {
    fn new(new: NewSession, head: Head) -> Self {
        let append = Append {
            session: new.session,
            epoch: new.epoch,
            expected: Head::default(),
            records: new.records,
            taken: vec![],
            inbox_through: None,
            state: None,
            blobs: vec![],
            projection: new.projection,
        };
        let rows = Rows::new(append, head);
        Create { project: new.project, bundles: new.bundles, vouchers: new.vouchers, rows }
    }

    fn bundles(&self, connection: &Connection) -> Result<Vec<i64>, Stop> {
        let mut query = connection.prepare_cached("SELECT id FROM bundles WHERE digest = ?")?;
        let mut ids = Vec::new();
        for digest in &self.bundles {
            let id: Option<i64> = query.query_row([digest.0], |row| row.get(0)).optional()?;
            ids.push(id.ok_or_else(|| StoreError::NotFound(format!("bundle blake3:{digest}")))?);
        }
        Ok(ids)
    }

    fn insert(&self, connection: &Connection) -> rusqlite::Result<Keys> {
        let append = self.rows.append();
        let project = super::blobs::project(connection, &self.project)?;
        let created_at = append.records.first().map_or_else(|| now().0, |record| record.at.0);
        connection
            .prepare_cached(
                "INSERT INTO sessions (name, project, epoch, head_seq, head_hash, agent, status, turns, \
                 created_at, updated_at) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, 0, ?7, ?7)",
            )?
            .execute(params![
                append.session.as_str(),
                project,
                append.epoch,
                append.expected.hash.0,
                append.projection.agent,
                append.projection.status.as_str(),
                created_at,
            ])?;
        Ok(Keys { session: connection.last_insert_rowid(), project })
    }
}

impl Operation for Create {
    type Output = Keys;

    fn run(&self, connection: &Connection) -> Result<Keys, Stop> {
        let session = &self.rows.append().session;
        let is_there: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE name = ?)")?
            .query_row([session.as_str()], |row| row.get(0))?;
        if is_there {
            return Err(StoreError::Exists(session.clone()).into());
        }
        let bundles = self.bundles(connection)?;
        let keys = self.insert(connection)?;
        for bundle in bundles {
            connection
                .prepare_cached(
                    "INSERT INTO session_bundles (session, bundle) VALUES (?, ?) ON CONFLICT DO NOTHING",
                )?
                .execute([keys.session, bundle])?;
        }
        vouchers::insert(connection, keys.session, &self.vouchers)?;
        self.rows.write(connection, keys)?;
        Ok(keys)
    }

    fn rows(&self) -> usize {
        self.rows.append().records.len()
    }

    fn bytes(&self) -> usize {
        self.rows.bytes()
    }
}
