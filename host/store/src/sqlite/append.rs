//! One append: its conditions and its rows. Its conditions are looked at within the transaction, before anything of it
//! is written.

use rewake_core::codec::Record;
use rewake_core::ids::{Digest, Head};
use rewake_core::limits::PAYLOAD_INLINE_BYTES_MAX;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::job::{Operation, Stop};
use super::shared::Keys;
use super::{blobs, inbox};
use crate::ports::{Append, SavedState};
use crate::{Position, StoreError};

/// Moves the session's head from where the append expects it to where it brings it, under its lease.
const FENCE: &str = "UPDATE sessions SET head_seq = ?5, head_hash = ?6, status = ?7, title = ?8, turns = ?9, \
                     updated_at = ?10 WHERE id = ?1 AND epoch = ?2 AND head_seq = ?3 AND head_hash = ?4";
const ENTRY: &str = "INSERT INTO entries (session, seq, epoch, kind, version, turn, step, ordinal, use_index, at, \
                     actor, payload_digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const PAYLOAD: &str = "INSERT INTO payloads (entry, salt, bytes, blob) VALUES (?, ?, ?, ?)";
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

/// What an append writes.
pub(super) struct Rows {
    append: Append,
    /// The head after it.
    head: Head,
    /// For each record the digest of its payload, if that is kept as a blob.
    payload_blobs: Vec<Option<Digest>>,
}

impl Rows {
    /// Of an append that was checked, with the head that it leads to.
    pub(super) fn new(append: Append, head: Head) -> Self {
        let payload_blobs = append.records.iter().map(|record| {
            let payload = record.payload.as_ref()?;
            (payload.bytes.len() > PAYLOAD_INLINE_BYTES_MAX).then(|| Digest::of(&payload.bytes))
        });
        let payload_blobs = payload_blobs.collect();
        Rows { append, head, payload_blobs }
    }

    pub(super) fn append(&self) -> &Append {
        &self.append
    }

    /// See [`Operation::bytes`].
    pub(super) fn bytes(&self) -> usize {
        let payloads = self.append.records.iter().filter_map(|record| record.payload.as_ref());
        payloads.map(|payload| payload.bytes.len()).sum::<usize>()
            + self.append.blobs.iter().map(|blob| blob.bytes.len()).sum::<usize>()
            + self.append.state.as_ref().map_or(0, |state| state.bytes.len())
    }

    /// Writes them, or refuses before anything is written.
    pub(super) fn write(&self, connection: &Connection, keys: Keys) -> Result<(), Stop> {
        let append = &self.append;
        let has_conditions = !append.taken.is_empty() || append.inbox_through.is_some();
        if has_conditions && let Some(reason) = self.refusal(connection, keys)? {
            return Err(reason.into());
        }
        if !self.fence(connection, keys)? {
            let reason = self.refusal(connection, keys)?;
            return Err(reason.unwrap_or_else(|| StoreError::no_session(&append.session)).into());
        }
        for (record, blob) in append.records.iter().zip(&self.payload_blobs) {
            self.entry(connection, keys, record, *blob)?;
        }
        for blob in &append.blobs {
            self.blob(connection, keys, blob.digest, &blob.bytes)?;
        }
        for n in &append.taken {
            connection.prepare_cached(TAKE)?.execute(params![keys.session, n, self.head.seq])?;
        }
        append.state.iter().try_for_each(|state| save(connection, keys, state))?;
        Ok(())
    }

    /// Why it cannot be written as things stand; none if it can.
    fn refusal(&self, connection: &Connection, keys: Keys) -> rusqlite::Result<Option<StoreError>> {
        let append = &self.append;
        let stands = connection
            .prepare_cached("SELECT epoch, head_seq, head_hash FROM sessions WHERE id = ?")?
            .query_row([keys.session], |row| {
                // A hash that cannot be read is not the expected one.
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
                .query_row(params![keys.session, n], |row| row.get(0))?;
            if !is_untaken || append.taken[..index].contains(n) {
                return Ok(Some(StoreError::RowTaken { session: append.session.clone(), n: *n }));
            }
        }
        // Nothing that stays untaken may be about a row that is taken.
        for n in &append.taken {
            let mut about = connection.prepare_cached(
                "SELECT n FROM inbox WHERE session = ? AND target = ? AND taken_seq IS NULL",
            )?;
            for about in about.query_map(params![keys.session, n], |row| row.get(0))? {
                if !append.taken.contains(&about?) {
                    return Ok(Some(StoreError::RowChanged { session: append.session.clone(), n: *n }));
                }
            }
        }
        let Some(expected) = append.inbox_through else { return Ok(None) };
        let found = inbox::newest(connection, keys.session)?;
        Ok((found != expected).then(|| StoreError::InboxMoved {
            session: append.session.clone(),
            expected,
            found,
        }))
    }

    /// Moves the session's head; false if it is not where it is expected.
    fn fence(&self, connection: &Connection, keys: Keys) -> rusqlite::Result<bool> {
        let (append, projection) = (&self.append, &self.append.projection);
        let moved = connection.prepare_cached(FENCE)?.execute(params![
            keys.session,
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

    fn entry(
        &self,
        connection: &Connection,
        keys: Keys,
        record: &Record,
        blob: Option<Digest>,
    ) -> rusqlite::Result<()> {
        connection.prepare_cached(ENTRY)?.execute(params![
            keys.session,
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
        let bytes = blob.is_none().then_some(&payload.bytes);
        let digest = blob.map(|digest| digest.0);
        connection.prepare_cached(PAYLOAD)?.execute(params![entry, payload.salt, bytes, digest])?;
        blob.map_or(Ok(()), |digest| self.blob(connection, keys, digest, &payload.bytes))
    }

    fn blob(
        &self,
        connection: &Connection,
        keys: Keys,
        digest: Digest,
        bytes: &[u8],
    ) -> rusqlite::Result<()> {
        blobs::insert(connection, keys.project, digest, bytes)?;
        let named_by = params![keys.project, digest.0, keys.session, self.head.seq];
        connection.prepare_cached(BLOB_REF)?.execute(named_by)?;
        Ok(())
    }
}

/// Keeps what a step saved.
fn save(connection: &Connection, keys: Keys, state: &SavedState) -> rusqlite::Result<()> {
    let row = params![keys.session, state.digest.0, state.version, state.step_seq, state.bytes];
    connection.prepare_cached(STATE)?.execute(row)?;
    connection.prepare_cached(OLD_STATES)?.execute([keys.session])?;
    Ok(())
}

/// Appends to a session that is there.
pub(super) struct Appending {
    pub(super) keys: Keys,
    pub(super) rows: Rows,
}

impl Operation for Appending {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        self.rows.write(connection, self.keys)
    }

    fn rows(&self) -> usize {
        self.rows.append().records.len()
    }

    fn bytes(&self) -> usize {
        self.rows.bytes()
    }
}
