//! One group of appends as one text: BEGIN, everything, COMMIT, in a single round trip to SQLite.
//! Conditions are constraints: one that does not hold fails the whole text, and who it was is found
//! out afterwards (`culprit.rs`). Decides nothing about who is in a group.

use rewake_core::codec::Record;
use rewake_core::limits::PAYLOAD_INLINE_BYTES_MAX;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use super::job::Prepared;

type Bound<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Rows of one statement. A section is filled up with empty rows to the next of these, so that the texts
/// in use are few and stay compiled.
const ROWS: [usize; 15] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256];

/// A kind of row, and the statement that takes many of them.
struct Section {
    head: &'static str,
    columns: usize,
    tail: &'static str,
}

const FENCE: Section = Section {
    head: "UPDATE sessions SET head_seq = v.column5, head_hash = v.column6, status = v.column7, \
           title = v.column8, turns = v.column9, updated_at = v.column10 FROM (",
    columns: 10,
    tail: ") AS v WHERE sessions.id = v.column1 AND sessions.epoch = v.column2 \
           AND sessions.head_seq = v.column3 AND sessions.head_hash = v.column4",
};
const ENTRIES: Section = Section {
    head: "INSERT INTO entries (id, session, seq, epoch, kind, version, turn, step, ordinal, use_index, at, \
           actor, payload_digest, hash) SELECT * FROM (",
    columns: 14,
    tail: ") WHERE column1 IS NOT NULL",
};
const PAYLOADS: Section = Section {
    head: "INSERT INTO payloads (entry, salt, bytes, blob) SELECT * FROM (",
    columns: 4,
    tail: ") WHERE column1 IS NOT NULL",
};
const BLOBS: Section = Section {
    head: "INSERT INTO blobs (project, digest, bytes) SELECT * FROM (",
    columns: 3,
    tail: ") WHERE column1 IS NOT NULL ON CONFLICT DO NOTHING",
};
const BLOB_REFS: Section = Section {
    head: "INSERT INTO blob_refs (blob, session, seq) SELECT b.id, v.column3, v.column4 FROM (",
    columns: 4,
    tail: ") AS v CROSS JOIN blobs AS b ON b.project = v.column1 AND b.digest = v.column2 \
           WHERE true ON CONFLICT DO NOTHING",
};
const TAKEN: Section = Section {
    head: "UPDATE inbox SET taken_seq = v.column3 FROM (",
    columns: 3,
    tail: ") AS v WHERE inbox.session = v.column1 AND inbox.n = v.column2 AND inbox.taken_seq IS NULL",
};
/// Nothing that stays untaken may be about a row that was taken.
const UNCHANGED: Section = Section {
    head: "INSERT INTO asserts (holds) SELECT NULL FROM (",
    columns: 2,
    tail: ") AS v WHERE v.column1 IS NOT NULL AND EXISTS (SELECT 1 FROM inbox AS c \
           WHERE c.session = v.column1 AND c.target = v.column2 AND c.taken_seq IS NULL)",
};
const THROUGH: Section = Section {
    head: "INSERT INTO asserts (holds) SELECT NULL FROM (",
    columns: 2,
    tail: ") AS v WHERE v.column1 IS NOT NULL \
           AND coalesce((SELECT max(n) FROM inbox WHERE session = v.column1), 0) <> v.column2",
};
const STATES: Section = Section {
    head: "INSERT INTO states (session, digest, version, step_seq, bytes) SELECT * FROM (",
    columns: 5,
    tail: ") WHERE column1 IS NOT NULL ON CONFLICT DO UPDATE SET step_seq = excluded.step_seq, \
           version = excluded.version",
};
/// Keeps the newest two states of a session and those that its snapshots name.
const OLD_STATES: Section = Section {
    head: "DELETE FROM states WHERE rowid IN (SELECT s.rowid FROM (",
    columns: 1,
    tail: ") AS v CROSS JOIN states AS s ON s.session = v.column1 WHERE s.step_seq < \
           (SELECT n.step_seq FROM states AS n WHERE n.session = v.column1 \
           ORDER BY n.step_seq DESC LIMIT 1 OFFSET 1) AND NOT EXISTS \
           (SELECT 1 FROM snapshots AS p WHERE p.session = v.column1 AND p.state = s.digest))",
};
/// The statement before must have changed so many rows.
const CHANGED: &str = "INSERT INTO asserts (holds) SELECT NULL WHERE changes() <> ?;";

/// Which part of its transaction a group's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// The rest of one that is open.
    End,
    /// A piece of one that is open and goes on.
    Middle,
}

/// Executes a group within one round trip. Its entries get the ids after `entry_id`.
pub(super) async fn execute(
    connection: &mut SqliteConnection,
    appends: &[&Prepared],
    part: Part,
    entry_id: i64,
) -> sqlx::Result<()> {
    let rows = Rows::of(appends, entry_id);
    let text = rows.text(part);
    // A group of a size beyond the table is too rare to keep its text compiled.
    let usual = rows.entries.len() <= ROWS[ROWS.len() - 1];
    let query = rows.bind(sqlx::query(AssertSqlSafe(text)).persistent(usual));
    query.execute(connection).await.map(|_| ())
}

/// The rows of every section, in the order of the appends.
struct Rows<'q> {
    appends: &'q [&'q Prepared],
    entries: Vec<(i64, &'q Prepared, &'q Record)>,
    blobs: Vec<(&'q Prepared, &'q crate::ports::Blob)>,
    taken: Vec<(&'q Prepared, u64)>,
    through: Vec<(&'q Prepared, u64)>,
    states: Vec<(&'q Prepared, &'q crate::ports::SavedState)>,
}

impl<'q> Rows<'q> {
    fn of(appends: &'q [&'q Prepared], entry_id: i64) -> Self {
        let records = appends.iter().flat_map(|one| one.append.records.iter().map(move |r| (*one, r)));
        Rows {
            appends,
            entries: records.zip(entry_id + 1..).map(|((one, record), id)| (id, one, record)).collect(),
            blobs: appends.iter().flat_map(|one| one.blobs().map(move |blob| (*one, blob))).collect(),
            taken: appends.iter().flat_map(|one| one.append.taken.iter().map(move |n| (*one, *n))).collect(),
            through: appends.iter().filter_map(|one| Some((*one, one.append.inbox_through?))).collect(),
            states: appends.iter().filter_map(|one| Some((*one, one.append.state.as_ref()?))).collect(),
        }
    }

    fn text(&self, part: Part) -> String {
        let mut text = String::with_capacity(4096);
        if part == Part::Whole {
            text.push_str("BEGIN IMMEDIATE;");
        }
        FENCE.write(&mut text, self.appends.len(), CHANGED);
        ENTRIES.write(&mut text, self.entries.len(), "");
        BLOBS.write(&mut text, self.blobs.len(), "");
        BLOB_REFS.write(&mut text, self.blobs.len(), "");
        PAYLOADS.write(&mut text, self.entries.len(), "");
        TAKEN.write(&mut text, self.taken.len(), CHANGED);
        UNCHANGED.write(&mut text, self.taken.len(), "");
        THROUGH.write(&mut text, self.through.len(), "");
        STATES.write(&mut text, self.states.len(), "");
        OLD_STATES.write(&mut text, self.states.len(), "");
        if part != Part::Middle {
            text.push_str("COMMIT");
        }
        text
    }

    /// In the order of [`Rows::text`].
    fn bind(&self, query: Bound<'q>) -> Bound<'q> {
        let query = FENCE.bind(query, self.appends, true, |query, one| bind_fence(query, one));
        let query = ENTRIES.bind(query, &self.entries, false, |query, row| bind_entry(query, row));
        let query = BLOBS.bind(query, &self.blobs, false, |query, (one, blob)| {
            query.bind(one.project).bind(&blob.digest.0[..]).bind(&blob.bytes[..])
        });
        let query = BLOB_REFS.bind(query, &self.blobs, false, |query, (one, blob)| {
            query.bind(one.project).bind(&blob.digest.0[..]).bind(one.session).bind(one.head.seq as i64)
        });
        let query = PAYLOADS.bind(query, &self.entries, false, |query, row| bind_payload(query, row));
        let query = TAKEN.bind(query, &self.taken, true, |query, (one, n)| {
            query.bind(one.session).bind(*n as i64).bind(one.head.seq as i64)
        });
        let query = UNCHANGED
            .bind(query, &self.taken, false, |query, (one, n)| query.bind(one.session).bind(*n as i64));
        let query = THROUGH
            .bind(query, &self.through, false, |query, (one, n)| query.bind(one.session).bind(*n as i64));
        let query = STATES.bind(query, &self.states, false, |query, (one, state)| {
            query
                .bind(one.session)
                .bind(&state.digest.0[..])
                .bind(i64::from(state.version))
                .bind(state.step_seq as i64)
                .bind(&state.bytes[..])
        });
        OLD_STATES.bind(query, &self.states, false, |query, (one, _)| query.bind(one.session))
    }
}

fn bind_fence<'q>(query: Bound<'q>, one: &'q Prepared) -> Bound<'q> {
    let (append, projection) = (&one.append, &one.append.projection);
    query
        .bind(one.session)
        .bind(append.epoch as i64)
        .bind(append.expected.seq as i64)
        .bind(&append.expected.hash.0[..])
        .bind(one.head.seq as i64)
        .bind(&one.head.hash.0[..])
        .bind(projection.status.as_str())
        .bind(projection.title.as_deref())
        .bind(i64::from(projection.turns))
        .bind(append.records.last().map_or(0, |record| record.at.0))
}

fn bind_entry<'q>(query: Bound<'q>, (id, one, record): &(i64, &'q Prepared, &'q Record)) -> Bound<'q> {
    query
        .bind(*id)
        .bind(one.session)
        .bind(record.seq as i64)
        .bind(record.epoch as i64)
        .bind(record.kind.as_str())
        .bind(i64::from(record.version))
        .bind(i64::from(record.place.turn))
        .bind(i64::from(record.place.step))
        .bind(i64::from(record.place.ordinal))
        .bind(i64::from(record.place.index))
        .bind(record.at.0)
        .bind(record.actor.as_str())
        .bind(&record.payload_digest.0[..])
        .bind(&record.hash.0[..])
}

fn bind_payload<'q>(query: Bound<'q>, (id, one, record): &(i64, &'q Prepared, &'q Record)) -> Bound<'q> {
    let payload = record.payload.as_ref().expect("checked before it was queued");
    let query = query.bind(*id).bind(&payload.salt[..]);
    if payload.bytes.len() <= PAYLOAD_INLINE_BYTES_MAX {
        query.bind(&payload.bytes[..]).bind(None::<&[u8]>)
    } else {
        let digest = one.payload_digests.get(&record.seq).expect("made when it was prepared");
        query.bind(None::<&[u8]>).bind(&digest.0[..])
    }
}

impl Section {
    fn write(&self, text: &mut String, rows: usize, then: &str) {
        let row = format!("({}?)", "?,".repeat(self.columns - 1));
        for chunk in chunks(rows) {
            text.push_str(self.head);
            text.push_str("VALUES ");
            for index in 0..chunk {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&row);
            }
            text.push_str(self.tail);
            text.push(';');
            text.push_str(then);
        }
    }

    /// Binds the rows as [`Section::write`] wrote them; `counted` if the statement is followed by
    /// [`CHANGED`].
    fn bind<'q, R>(
        &self,
        mut query: Bound<'q>,
        rows: &[R],
        counted: bool,
        mut one: impl FnMut(Bound<'q>, &R) -> Bound<'q>,
    ) -> Bound<'q> {
        let mut rest = rows;
        for chunk in chunks(rows.len()) {
            let (now, later) = rest.split_at(chunk.min(rest.len()));
            for row in now {
                query = one(query, row);
            }
            for _ in 0..(chunk - now.len()) * self.columns {
                query = query.bind(None::<i64>);
            }
            if counted {
                query = query.bind(now.len() as i64);
            }
            rest = later;
        }
        query
    }
}

/// Cuts a number of rows into statements: full ones, then the smallest that holds the rest.
fn chunks(rows: usize) -> impl Iterator<Item = usize> {
    let full = ROWS[ROWS.len() - 1];
    let rest = rows % full;
    let last = ROWS.into_iter().find(|size| *size >= rest).filter(|_| rest > 0);
    std::iter::repeat_n(full, rows / full).chain(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_all_rows_with_few_empty_ones() {
        assert_eq!(chunks(0).count(), 0);
        for rows in 1..1_000 {
            let sizes: Vec<usize> = chunks(rows).collect();
            let held: usize = sizes.iter().sum();
            assert!(
                held >= rows && held <= rows.next_multiple_of(ROWS[0]) + rows.min(128),
                "{rows}: {sizes:?}"
            );
            assert!(sizes.iter().all(|size| ROWS.contains(size)));
        }
    }
}
