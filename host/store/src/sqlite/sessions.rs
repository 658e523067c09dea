//! What lists show, in SQLite. The columns are written by an append's text.

use futures_util::future::BoxFuture;
use rewake_core::ids::{SessionId, Timestamp};
use rewake_wire::{Fault, SessionSummary, Status};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, now, rows};
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
        Box::pin(async move {
            let row = sqlx::query(summaries!("WHERE s.name = ?"))
                .bind(id.as_str())
                .fetch_optional(&*self.shared.readers.read().await)
                .await
                .map_err(|error| reading(&format!("session {id}"), &error))?;
            row.as_ref().map(summary).transpose()
        })
    }

    fn list_sessions(&self, limit: u32, before: Option<SessionId>) -> Answer<'_, Vec<SessionSummary>> {
        Box::pin(async move {
            let before = match before {
                Some(before) => self.shared.keys(&before).await?.session,
                None => i64::MAX,
            };
            let found = sqlx::query(summaries!("WHERE s.id < ? ORDER BY s.id DESC LIMIT ?"))
                .bind(before)
                .bind(i64::from(limit))
                .fetch_all(&*self.shared.readers.read().await)
                .await
                .map_err(|error| reading("the sessions", &error))?;
            found.iter().map(listed).collect()
        })
    }

    fn set_fault<'a>(&'a self, id: &'a SessionId, fault: Option<Fault>) -> Answer<'a, ()> {
        Box::pin(async move {
            let session = self.shared.keys(id).await?.session;
            self.ask(SetFault { session, fault }).await
        })
    }

    fn fault<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<Fault>> {
        Box::pin(async move {
            let summary = self.session(id).await?.ok_or_else(|| StoreError::no_session(id))?;
            Ok(summary.fault)
        })
    }
}

fn summary(row: &SqliteRow) -> Result<SessionSummary> {
    let failed = |error: sqlx::Error| reading("a session", &error);
    let id: String = row.try_get(0).map_err(failed)?;
    let word: &str = row.try_get(2).map_err(failed)?;
    let status = checks::status(word)
        .ok_or_else(|| StoreError::corrupt(format!("the status of {id}"), format!("{word:?} is none")))?;
    let fault = match row.try_get::<Option<&str>, _>(8).map_err(failed)? {
        None => None,
        Some(text) => Some(
            serde_json::from_str(text)
                .map_err(|error| StoreError::corrupt(format!("the fault of {id}"), error))?,
        ),
    };
    let read = || -> sqlx::Result<SessionSummary> {
        Ok(SessionSummary {
            id,
            agent: row.try_get(1)?,
            status,
            title: row.try_get(3)?,
            turns: rows::small(row, 4)?,
            entries: rows::number(row, 5)?,
            created_at: Timestamp(row.try_get(6)?).to_string(),
            updated_at: Timestamp(row.try_get(7)?).to_string(),
            fault,
        })
    };
    read().map_err(failed)
}

/// The same, of one session among others: what is damaged in its row hides none of them.
fn listed(row: &SqliteRow) -> Result<SessionSummary> {
    let why = match summary(row) {
        Ok(summary) => return Ok(summary),
        Err(error) => error,
    };
    let id = row.try_get(0).map_err(|error| reading("a session", &error))?;
    let text = |column: usize| row.try_get::<Option<String>, _>(column).ok().flatten();
    let number = |column: usize| row.try_get::<i64, _>(column).unwrap_or_default();
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
    session: i64,
    fault: Option<Fault>,
}

impl Operation for SetFault {
    type Output = ();

    fn run<'c>(
        &'c self,
        connection: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, std::result::Result<(), Stop>> {
        Box::pin(async move {
            let query = match &self.fault {
                None => sqlx::query("DELETE FROM faults WHERE session = ?").bind(self.session),
                Some(fault) => sqlx::query(
                    "INSERT INTO faults (session, reason, fault, at) VALUES (?, ?, ?, ?) ON CONFLICT \
                     (session) DO UPDATE SET reason = excluded.reason, fault = excluded.fault, \
                     at = excluded.at",
                )
                .bind(self.session)
                .bind(fault.reason.as_str())
                .bind(serde_json::to_string(fault).expect("a fault is plain text"))
                .bind(now().0),
            };
            query.execute(connection).await?;
            Ok(())
        })
    }
}
