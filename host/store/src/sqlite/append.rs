//! One append: its conditions and its rows. Its conditions are looked at within the transaction, before anything of it
//! is written.

use rewake_core::codec::Record;
use rewake_core::ids::{Digest, Head};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::job::{Operation, Stop};
use super::shared::Keys;
use super::texts::{Stored, Texts};
use super::{blobs, inbox};
use crate::ports::{Append, SavedState};
use crate::{Position, StoreError};

/// Moves the session's head from where the append expects it to where it brings it, under its lease.
const FENCE: &str = "UPDATE sessions SET head_seq = ?5, head_hash = ?6, status = ?7, title = ?8, turns = ?9, \
                     updated_at = ?10 WHERE id = ?1 AND epoch = ?2 AND head_seq = ?3 AND head_hash = ?4";
const ENTRY: &str = "INSERT INTO entries (session, seq, epoch, kind, version, turn, step, ordinal, use_index, at, \
                     actor, payload_digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const PAYLOAD: &str = "INSERT INTO payloads (entry, salt, bytes, texts) VALUES (?, ?, ?, ?)";
const BLOB_REF: &str = "INSERT INTO blob_refs (blob, session, seq) SELECT id, ?3, ?4 FROM blobs \
                        WHERE project = ?1 AND digest = ?2 ON CONFLICT DO NOTHING";
const TAKE: &str = "UPDATE inbox SET taken_seq = ?3 WHERE session = ?1 AND n = ?2 AND taken_seq IS NULL";
const STATE: &str = "INSERT INTO states (session, digest, version, step_seq, texts, bytes) VALUES (?, ?, ?, ?, ?, ?) \
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
    /// The texts of each record's payload.
    payload_texts: Vec<Texts>,
    /// The texts of each blob.
    blob_texts: Vec<Texts>,
    state_texts: Option<Texts>,
}

impl Rows {
    /// Of an append that was checked, with the head that it leads to.
    pub(super) fn new(append: Append, head: Head) -> Self {
        let bytes =
            |record: &Record| Texts::of(record.payload.as_ref().map_or(&[], |payload| &payload.bytes));
        let payload_texts = append.records.iter().map(bytes).collect();
        let blob_texts = append.blobs.iter().map(|blob| Texts::of(&blob.bytes)).collect();
        let state_texts = append.state.as_ref().map(|state| Texts::of(&state.bytes));
        Rows { append, head, payload_texts, blob_texts, state_texts }
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
        for (record, texts) in append.records.iter().zip(&self.payload_texts) {
            self.entry(connection, keys, record, texts)?;
        }
        for (blob, texts) in append.blobs.iter().zip(&self.blob_texts) {
            let stored = self.without_texts(connection, keys, &blob.bytes, texts)?;
            self.blob(connection, keys, blob.digest, &stored)?;
        }
        for n in &append.taken {
            connection.prepare_cached(TAKE)?.execute(params![keys.session, n, self.head.seq])?;
        }
        if let Some((state, texts)) = append.state.as_ref().zip(self.state_texts.as_ref()) {
            save(connection, keys, state, texts)?;
        }
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
        texts: &Texts,
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
        let stored = self.without_texts(connection, keys, &payload.bytes, texts)?;
        let row = params![entry, payload.salt, stored.rest.as_ref(), stored.texts];
        connection.prepare_cached(PAYLOAD)?.execute(row)?;
        Ok(())
    }

    /// Keeps the texts of some bytes; returns what is left of these.
    fn without_texts<'a>(
        &self,
        connection: &Connection,
        keys: Keys,
        bytes: &'a [u8],
        texts: &Texts,
    ) -> rusqlite::Result<Stored<'a>> {
        for (digest, text) in texts.each(bytes) {
            self.blob(connection, keys, digest, &Stored { rest: text.into(), texts: None })?;
        }
        Ok(Stored::without(bytes, texts))
    }

    fn blob(
        &self,
        connection: &Connection,
        keys: Keys,
        digest: Digest,
        stored: &Stored<'_>,
    ) -> rusqlite::Result<()> {
        blobs::insert(connection, keys.project, digest, &stored.rest, stored.texts.as_deref())?;
        let named_by = params![keys.project, digest.0, keys.session, self.head.seq];
        connection.prepare_cached(BLOB_REF)?.execute(named_by)?;
        Ok(())
    }
}

/// Keeps what a step saved.
fn save(connection: &Connection, keys: Keys, state: &SavedState, texts: &Texts) -> rusqlite::Result<()> {
    let Stored { rest, texts } = Stored::without_named(connection, keys, &state.bytes, texts)?;
    let row = params![keys.session, state.digest.0, state.version, state.step_seq, texts, rest.as_ref()];
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
