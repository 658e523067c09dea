//! What lists show, in SQLite. The columns are written by appends.

use rewake_core::ids::{SessionId, Timestamp};
use rewake_wire::{Fault, SessionSummary, Status};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, now};
use crate::ports::{Answer, Sessions};
use crate::{Result, StoreError, checks};

/// What a summary is read from, in this order.
macro_rules! summaries {
    ($rest:literal) => {
        concat!(
            "SELECT s.name, s.agent, s.status, s.title, s.turns, s.head_seq, s.created_at, s.updated_at, ",
            "f.fault FROM sessions AS s LEFT JOIN faults AS f ON f.session = s.id ",
            $rest
        )
    };
}

impl Sessions for SqliteStore {
    fn session<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        let name = id.clone();
        Box::pin(self.query(format!("session {id}"), move |connection| {
            let mut query = connection.prepare_cached(summaries!("WHERE s.name = ?"))?;
            let found = query.query_row([name.as_str()], |row| Ok(summary(row))).optional()?;
            Ok(found.transpose()?)
        }))
    }

    fn list_sessions(&self, limit: u32, before: Option<SessionId>) -> Answer<'_, Vec<SessionSummary>> {
        Box::pin(async move {
            let before = match before {
                Some(before) => self.shared.keys(&before).await?.session,
                None => i64::MAX,
            };
            self.query("the sessions", move |connection| {
                let mut query =
                    connection.prepare_cached(summaries!("WHERE s.id < ? ORDER BY s.id DESC LIMIT ?"))?;
                let mut rows = query.query(params![before, limit])?;
                let mut listed = Vec::new();
                while let Some(row) = rows.next()? {
                    listed.push(summary_or_damage(row)?);
                }
                Ok(listed)
            })
            .await
        })
    }

    fn set_fault<'a>(&'a self, id: &'a SessionId, fault: Option<Fault>) -> Answer<'a, ()> {
        Box::pin(async move {
            let id = self.shared.keys(id).await?.session;
            self.ask(SetFault { id, fault }).await
        })
    }

    fn fault<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<Fault>> {
        Box::pin(async move {
            let summary = self.session(id).await?.ok_or_else(|| StoreError::no_session(id))?;
            Ok(summary.fault)
        })
    }
}

fn summary(row: &Row<'_>) -> Result<SessionSummary> {
    let failed = |error: rusqlite::Error| reading("a session", &error);
    let id: String = row.get(0).map_err(failed)?;
    let word: String = row.get(2).map_err(failed)?;
    let status = checks::status(&word).ok_or_else(|| {
        StoreError::corrupt(format!("the status of {id}"), format!("{word:?} is not a word of this column"))
    })?;
    let fault = match row.get::<_, Option<String>>(8).map_err(failed)? {
        None => None,
        Some(text) => Some(
            serde_json::from_str(&text)
                .map_err(|error| StoreError::corrupt(format!("the fault of {id}"), error))?,
        ),
    };
    let read = || -> rusqlite::Result<SessionSummary> {
        Ok(SessionSummary {
            id,
            agent: row.get(1)?,
            status,
            title: row.get(3)?,
            turns: row.get(4)?,
            entries: row.get(5)?,
            created_at: Timestamp(row.get(6)?).to_string(),
            updated_at: Timestamp(row.get(7)?).to_string(),
            fault,
        })
    };
    read().map_err(failed)
}

/// The same, of one session among others: what is damaged in its row hides none of them.
fn summary_or_damage(row: &Row<'_>) -> Result<SessionSummary> {
    let why = match summary(row) {
        Ok(summary) => return Ok(summary),
        Err(error) => error,
    };
    let id = row.get(0).map_err(|error| reading("a session", &error))?;
    let text = |column: usize| row.get::<_, Option<String>>(column).ok().flatten();
    let number = |column: usize| row.get::<_, i64>(column).unwrap_or_default();
    Ok(SessionSummary {
        id,
        agent: text(1).unwrap_or_default(),
        status: Status::Failed,
        title: text(3),
        turns: u32::try_from(number(4)).unwrap_or_default(),
        entries: u64::try_from(number(5)).unwrap_or_default(),
        created_at: Timestamp(number(6)).to_string(),
        updated_at: Timestamp(number(7)).to_string(),
        fault: Some(Fault::plain("damaged", None, format!("the session's row in the store: {why}"), "")),
    })
}

/// Sets or clears a fault.
struct SetFault {
    id: i64,
    fault: Option<Fault>,
}

impl Operation for SetFault {
    type Output = ();

    fn run(&self, connection: &Connection) -> std::result::Result<(), Stop> {
        let Some(fault) = &self.fault else {
            connection.prepare_cached("DELETE FROM faults WHERE session = ?")?.execute([self.id])?;
            return Ok(());
        };
        let text = serde_json::to_string(fault).expect("a fault is plain text");
        connection
            .prepare_cached(
                "INSERT INTO faults (session, reason, fault, at) VALUES (?, ?, ?, ?) ON CONFLICT (session) \
                 DO UPDATE SET reason = excluded.reason, fault = excluded.fault, at = excluded.at",
            )?
            .execute(params![self.id, fault.reason, text, now().0])?;
        Ok(())
    }
}
