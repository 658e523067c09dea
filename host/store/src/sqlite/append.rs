//! One append: its conditions and its rows. What its text must not contradict is looked at within the transaction,
//! before anything of it is written.

use rewake_core::codec::Record;
use rewake_core::ids::{Digest, Head};
use rewake_core::limits::PAYLOAD_INLINE_BYTES_MAX;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::job::{Operation, Stop};
use super::shared::Keys;
use crate::ports::{Append, Blob, SavedState};
use crate::{Position, StoreError};

/// Moves the session's head from where the append expects it to where it brings it, under its lease.
const FENCE: &str = "UPDATE sessions SET head_seq = ?5, head_hash = ?6, status = ?7, title = ?8, turns = ?9, \
                     updated_at = ?10 WHERE id = ?1 AND epoch = ?2 AND head_seq = ?3 AND head_hash = ?4";
const ENTRY: &str = "INSERT INTO entries (session, seq, epoch, kind, version, turn, step, ordinal, use_index, at, \
                     actor, payload_digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const PAYLOAD: &str = "INSERT INTO payloads (entry, salt, bytes, blob) VALUES (?, ?, ?, ?)";
const BLOB: &str = "INSERT INTO blobs (project, digest, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
const BLOB_REF: &str = "INSERT INTO blob_refs (blob, session, seq) SELECT id, ?3, ?4 FROM blobs \
                        WHERE project = ?1 AND digest = ?2 ON CONFLICT DO NOTHING";
const TAKE: &str = "UPDATE inbox SET taken_seq = ?3 WHERE session = ?1 AND n = ?2 AND taken_seq IS NULL";
const STATE: &str = "INSERT INTO states (session, digest, version, step_seq, bytes) VALUES (?, ?, ?, ?, ?) \
                     ON CONFLICT DO UPDATE SET step_seq = excluded.step_seq, version = excluded.version";
/// Keeps the newest two states of a session and those that its snapshots name.
const OLD_STATES: &str = "DELETE FROM states WHERE session = ?1 AND step_seq < \
                          (SELECT n.step_seq FROM states AS n WHERE n.session = ?1 \
                          ORDER BY n.step_seq DESC LIMIT 1 OFFSET 1) AND NOT EXISTS \
                          (SELECT 1 FROM snapshots AS p WHERE p.session = ?1 AND p.state = states.digest)";

/// An append that is checked, with what its rows need.
pub(super) struct Appending {
    keys: Keys,
    append: Append,
    /// The head after it.
    head: Head,
    /// The payloads that are kept as blobs, with their entries' seq; ascending.
    payload_blobs: Vec<(u64, Blob)>,
}

impl Appending {
    /// Works out what the rows need of an append that was checked.
    pub(super) fn new(keys: Keys, append: Append, head: Head) -> Self {
        let payload_blobs = append.records.iter().filter_map(|record| {
            let payload = record.payload.as_ref()?;
            let is_blob = payload.bytes.len() > PAYLOAD_INLINE_BYTES_MAX;
            is_blob.then(|| (record.seq, Blob::of(payload.bytes.clone())))
        });
        let payload_blobs = payload_blobs.collect();
        Appending { keys, append, head, payload_blobs }
    }

    /// Why it cannot be written as things stand; none if it can.
    fn refusal(&self, connection: &Connection) -> rusqlite::Result<Option<StoreError>> {
        let append = &self.append;
        let stands = connection
            .prepare_cached("SELECT epoch, head_seq, head_hash FROM sessions WHERE id = ?")?
            .query_row([self.keys.session], |row| {
                let hash = row.get(2).map_or(Digest([0xff; 32]), Digest);
                Ok((row.get(0)?, Head { seq: row.get(1)?, hash }))
            })
            .optional()?;
        let Some((epoch, head)) = stands else { return Ok(Some(StoreError::no_session(&append.session))) };
        if epoch != append.epoch || head != append.expected {
            return Ok(Some(StoreError::Fenced {
                session: append.session.clone(),
                expected: Position { epoch: append.epoch, seq: append.expected.seq },
                found: Position { epoch, seq: head.seq },
            }));
        }
        for (index, n) in append.taken.iter().enumerate() {
            let is_untaken: bool = connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ? AND n = ? AND taken_seq IS NULL)",
                )?
                .query_row(params![self.keys.session, n], |row| row.get(0))?;
            if !is_untaken || append.taken[..index].contains(n) {
                return Ok(Some(StoreError::RowTaken { session: append.session.clone(), n: *n }));
            }
        }
        // Nothing that stays untaken may be about a row that is taken.
        for n in &append.taken {
            let mut about = connection.prepare_cached(
                "SELECT n FROM inbox WHERE session = ? AND target = ? AND taken_seq IS NULL",
            )?;
            for about in about.query_map(params![self.keys.session, n], |row| row.get(0))? {
                if !append.taken.contains(&about?) {
                    return Ok(Some(StoreError::RowChanged { session: append.session.clone(), n: *n }));
                }
            }
        }
        let Some(expected) = append.inbox_through else { return Ok(None) };
        let found = super::inbox::newest(connection, self.keys.session)?;
        Ok((found != expected).then(|| StoreError::InboxMoved {
            session: append.session.clone(),
            expected,
            found,
        }))
    }

    /// Moves the session's head; false if it is not where it is expected.
    fn fence(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let (append, projection) = (&self.append, &self.append.projection);
        let moved = connection.prepare_cached(FENCE)?.execute(params![
            self.keys.session,
            append.epoch,
            append.expected.seq,
            append.expected.hash.0,
            self.head.seq,
            self.head.hash.0,
            projection.status.as_str(),
            projection.title,
            projection.turns,
            append.records.last().map_or(0, |record| record.at.0),
        ])?;
        Ok(moved == 1)
    }

    fn entry(&self, connection: &Connection, record: &Record) -> rusqlite::Result<()> {
        connection.prepare_cached(ENTRY)?.execute(params![
            self.keys.session,
            record.seq,
            record.epoch,
            record.kind,
            record.version,
            record.place.turn,
            record.place.step,
            record.place.ordinal,
            record.place.index,
            record.at.0,
            record.actor,
            record.payload_digest.0,
            record.hash.0,
        ])?;
        let entry = connection.last_insert_rowid();
        let payload = record.payload.as_ref().expect("checked before it was queued");
        let apart = self.payload_blobs.binary_search_by_key(&record.seq, |(seq, _)| *seq);
        let (bytes, blob) = match apart {
            Ok(at) => (None, Some(self.payload_blobs[at].1.digest.0)),
            Err(_) => (Some(&payload.bytes), None),
        };
        connection.prepare_cached(PAYLOAD)?.execute(params![entry, payload.salt, bytes, blob])?;
        Ok(())
    }

    fn blob(&self, connection: &Connection, blob: &Blob) -> rusqlite::Result<()> {
        let project = self.keys.project;
        connection.prepare_cached(BLOB)?.execute(params![project, blob.digest.0, blob.bytes])?;
        let named_by = params![project, blob.digest.0, self.keys.session, self.head.seq];
        connection.prepare_cached(BLOB_REF)?.execute(named_by)?;
        Ok(())
    }

    fn state(&self, connection: &Connection, state: &SavedState) -> rusqlite::Result<()> {
        let session = self.keys.session;
        let row = params![session, state.digest.0, state.version, state.step_seq, state.bytes];
        connection.prepare_cached(STATE)?.execute(row)?;
        connection.prepare_cached(OLD_STATES)?.execute([session])?;
        Ok(())
    }
}

impl Operation for Appending {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        let append = &self.append;
        let has_conditions = !append.taken.is_empty() || append.inbox_through.is_some();
        if has_conditions && let Some(reason) = self.refusal(connection)? {
            return Err(reason.into());
        }
        if !self.fence(connection)? {
            let reason = self.refusal(connection)?;
            return Err(reason.unwrap_or_else(|| StoreError::no_session(&append.session)).into());
        }
        for record in &append.records {
            self.entry(connection, record)?;
        }
        for blob in append.blobs.iter().chain(self.payload_blobs.iter().map(|(_, blob)| blob)) {
            self.blob(connection, blob)?;
        }
        for n in &append.taken {
            connection.prepare_cached(TAKE)?.execute(params![self.keys.session, n, self.head.seq])?;
        }
        append.state.iter().try_for_each(|state| self.state(connection, state))?;
        Ok(())
    }

    fn rows(&self) -> usize {
        self.append.records.len()
    }

    fn bytes(&self) -> usize {
        let payloads = self.append.records.iter().filter_map(|record| record.payload.as_ref());
        payloads.map(|payload| payload.bytes.len()).sum::<usize>()
            + self.append.blobs.iter().map(|blob| blob.bytes.len()).sum::<usize>()
            + self.append.state.as_ref().map_or(0, |state| state.bytes.len())
    }
}
