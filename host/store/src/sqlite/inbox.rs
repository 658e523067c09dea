//! The inbox in SQLite. Taking rows in is part of an append's text (`group.rs`).

use futures_util::future::BoxFuture;
use rewake_core::command::{Command, Row, Target};
use rewake_core::ids::SessionId;
use rewake_wire::Sender;
use sqlx::{Row as _, SqliteConnection};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, now, rows};
use crate::ports::{Answer, Arrivals, Inbox};
use crate::{StoreError, checks};

impl Inbox for SqliteStore {
    fn send<'a>(
        &'a self,
        session: &'a SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> Answer<'a, u64> {
        Box::pin(async move {
            checks::command(&command, key.as_deref())?;
            let id = self.shared.keys(session).await?.session;
            self.ask(Send {
                session: id,
                name: session.clone(),
                sender_text: checks::sender_text(&sender),
                sender,
                lane: checks::Lane::of(&command),
                target: command.target(),
                command: checks::command_text(&command),
                key,
            })
            .await
        })
    }

    fn pending<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            let failed = |error: sqlx::Error| reading(&format!("the inbox of {session}"), &error);
            let found = sqlx::query(
                "SELECT n, sender, command FROM inbox WHERE session = ? AND taken_seq IS NULL ORDER BY n",
            )
            .bind(id)
            .fetch_all(&*self.shared.readers.read().await)
            .await
            .map_err(failed)?;
            found
                .iter()
                .map(|row| {
                    let n = rows::number(row, 0).map_err(failed)?;
                    let corrupt = |what, error: serde_json::Error| {
                        StoreError::corrupt(format!("row {n} of the inbox of {session}: {what}"), error)
                    };
                    let sender: &str = row.try_get(1).map_err(failed)?;
                    let command: &str = row.try_get(2).map_err(failed)?;
                    Ok(Row {
                        n,
                        sender: serde_json::from_str(sender).map_err(|error| corrupt("its sender", error))?,
                        command: serde_json::from_str(command)
                            .map_err(|error| corrupt("its command", error))?,
                    })
                })
                .collect()
        })
    }

    fn arrivals(&self, after: u64) -> Answer<'_, Arrivals> {
        Box::pin(async move {
            let failed = |error: sqlx::Error| reading("the inboxes", &error);
            // One statement, which sees one state of the file: no row is between the two.
            let found = sqlx::query(
                "SELECT m.newest, s.name FROM (SELECT coalesce(max(id), 0) AS newest FROM inbox) AS m \
                 LEFT JOIN inbox AS i ON i.id > ? LEFT JOIN sessions AS s ON s.id = i.session GROUP BY i.session",
            )
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .fetch_all(&*self.shared.readers.read().await)
            .await
            .map_err(failed)?;
            let mut arrivals = Arrivals::default();
            for row in &found {
                arrivals.newest = rows::number(row, 0).map_err(failed)?;
                let name: Option<&str> = row.try_get(1).map_err(failed)?;
                // A session of another name than any can have is run by nobody.
                arrivals.sessions.extend(name.and_then(|name| SessionId::parse(name).ok()));
            }
            Ok(arrivals)
        })
    }

    fn through<'a>(&'a self, session: &'a SessionId) -> Answer<'a, u64> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            let n: i64 = sqlx::query_scalar("SELECT coalesce(max(n), 0) FROM inbox WHERE session = ?")
                .bind(id)
                .fetch_one(&*self.shared.readers.read().await)
                .await
                .map_err(|error| reading(&format!("the inbox of {session}"), &error))?;
            Ok(n as u64)
        })
    }
}

/// Puts one command into an inbox.
struct Send {
    session: i64,
    name: SessionId,
    sender: Sender,
    sender_text: String,
    lane: checks::Lane,
    target: Option<u64>,
    command: String,
    key: Option<String>,
}

/// The untaken rows of a session in one lane: all, and those of a sender.
const UNTAKEN: &str = "SELECT count(*), coalesce(sum(sender = ?), 0) FROM inbox WHERE session = ? \
                       AND taken_seq IS NULL AND json_extract(command, '$.type') = ?";

impl Operation for Send {
    type Output = u64;

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<u64, Stop>> {
        Box::pin(async move {
            if let Some(n) = self.same(connection).await? {
                return Ok(n);
            }
            let row = sqlx::query(
                "SELECT s.status, (SELECT coalesce(max(n), 0) FROM inbox WHERE session = s.id) \
                 FROM sessions AS s WHERE s.id = ?",
            )
            .bind(self.session)
            .fetch_optional(&mut *connection)
            .await?
            .ok_or_else(|| StoreError::no_session(&self.name))?;
            let status: &str = row.try_get(0)?;
            let status = checks::status(status).ok_or_else(|| {
                StoreError::corrupt(format!("the status of {}", self.name), format!("{status:?} is none"))
            })?;
            let held = sqlx::query(UNTAKEN)
                .bind(self.sender_text.as_str())
                .bind(self.session)
                .bind(self.lane.as_str())
                .fetch_one(&mut *connection)
                .await?;
            let (untaken, untaken_of_sender) = (rows::number(&held, 0)?, rows::number(&held, 1)?);
            checks::Inbox { status, untaken, untaken_of_sender }.admit(self.lane)?;
            if let Some(target) = self.target {
                self.target(connection, target).await?.admit(&self.sender).map_err(StoreError::from)?;
            }
            let n = rows::number(&row, 1)? + 1;
            sqlx::query(
                "INSERT INTO inbox (session, n, sender, command, dedup_key, at, target) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(self.session)
            .bind(n as i64)
            .bind(self.sender_text.as_str())
            .bind(self.command.as_str())
            .bind(self.key.as_deref())
            .bind(now().0)
            .bind(self.target.map(|target| target as i64))
            .execute(connection)
            .await?;
            Ok(n)
        })
    }
}

/// What stands where a command points to: its sender, kind, whether it is taken in, whether it is taken back.
const TARGET: &str = "SELECT t.sender, json_extract(t.command, '$.type'), t.taken_seq IS NOT NULL, \
                      EXISTS (SELECT 1 FROM inbox AS c WHERE c.session = t.session AND c.target = t.n \
                      AND json_extract(c.command, '$.type') = 'cancel') \
                      FROM inbox AS t WHERE t.session = ? AND t.n = ?";

impl Send {
    /// What the command is about.
    async fn target(&self, connection: &mut SqliteConnection, n: u64) -> Result<Target, Stop> {
        let row = sqlx::query(TARGET)
            .bind(self.session)
            .bind(i64::try_from(n).unwrap_or(i64::MAX))
            .fetch_optional(connection)
            .await?
            .ok_or_else(|| checks::no_row(&self.name, n))?;
        let sender: &str = row.try_get(0)?;
        let sender = serde_json::from_str(sender).map_err(|error| {
            StoreError::corrupt(format!("row {n} of the inbox of {}: its sender", self.name), error)
        })?;
        Ok(Target {
            n,
            sender,
            is_message: row.try_get::<&str, _>(1)? == checks::Lane::Message.as_str(),
            is_taken: row.try_get(2)?,
            is_canceled: row.try_get(3)?,
        })
    }

    /// The row that came with the same key before.
    async fn same(&self, connection: &mut SqliteConnection) -> Result<Option<u64>, Stop> {
        let Some(key) = &self.key else { return Ok(None) };
        let found =
            sqlx::query("SELECT n, command FROM inbox WHERE session = ? AND sender = ? AND dedup_key = ?")
                .bind(self.session)
                .bind(self.sender_text.as_str())
                .bind(key.as_str())
                .fetch_optional(connection)
                .await?;
        let Some(row) = found else { return Ok(None) };
        let n = rows::number(&row, 0)?;
        if row.try_get::<&str, _>(1)? != self.command {
            return Err(checks::key_reused(key, n).into());
        }
        Ok(Some(n))
    }
}
