//! The inbox in SQLite. Taking rows in is part of an append.

use rewake_core::command::{Command, Row, Target};
use rewake_core::ids::SessionId;
use rewake_wire::Sender;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::job::{Operation, Stop};
use super::{SqliteStore, now};
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
                id,
                session: session.clone(),
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
            let name = session.clone();
            self.query(format!("the inbox of {session}"), move |connection| {
                let mut query = connection.prepare_cached(
                    "SELECT n, sender, command FROM inbox WHERE session = ? AND taken_seq IS NULL ORDER BY n",
                )?;
                let mut found = query.query([id])?;
                let mut pending = Vec::new();
                while let Some(row) = found.next()? {
                    let (n, sender, command): (u64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    let corrupt = |what, error: serde_json::Error| {
                        StoreError::corrupt(format!("row {n} of the inbox of {name}: {what}"), error)
                    };
                    pending.push(Row {
                        n,
                        sender: serde_json::from_str(&sender)
                            .map_err(|error| corrupt("its sender", error))?,
                        command: serde_json::from_str(&command)
                            .map_err(|error| corrupt("its command", error))?,
                    });
                }
                Ok(pending)
            })
            .await
        })
    }

    fn arrivals(&self, after: u64) -> Answer<'_, Arrivals> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        Box::pin(self.query("the inboxes", move |connection| {
            // One statement, which sees one state of the file: no row is between the two.
            let mut query = connection.prepare_cached(
                "SELECT m.newest, s.name FROM (SELECT coalesce(max(id), 0) AS newest FROM inbox) AS m \
                 LEFT JOIN inbox AS i ON i.id > ? LEFT JOIN sessions AS s ON s.id = i.session GROUP BY i.session",
            )?;
            let mut found = query.query([after])?;
            let mut arrivals = Arrivals::default();
            while let Some(row) = found.next()? {
                arrivals.newest = row.get(0)?;
                let name: Option<String> = row.get(1)?;
                // A session of another name than any can have is run by nobody.
                arrivals.sessions.extend(name.and_then(|name| SessionId::parse(&name).ok()));
            }
            Ok(arrivals)
        }))
    }

    fn through<'a>(&'a self, session: &'a SessionId) -> Answer<'a, u64> {
        Box::pin(async move {
            let id = self.shared.keys(session).await?.session;
            self.query(format!("the inbox of {session}"), move |connection| Ok(newest(connection, id)?)).await
        })
    }
}

/// The number of a session's newest row; 0 if it has none.
pub(super) fn newest(connection: &Connection, session: i64) -> rusqlite::Result<u64> {
    let mut query = connection.prepare_cached("SELECT coalesce(max(n), 0) FROM inbox WHERE session = ?")?;
    query.query_row([session], |row| row.get(0))
}

/// Puts one command into an inbox.
struct Send {
    id: i64,
    session: SessionId,
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

    fn run(&self, connection: &Connection) -> Result<u64, Stop> {
        if let Some(n) = self.same(connection)? {
            return Ok(n);
        }
        let status: Option<String> = connection
            .prepare_cached("SELECT status FROM sessions WHERE id = ?")?
            .query_row([self.id], |row| row.get(0))
            .optional()?;
        let status = status.ok_or_else(|| StoreError::no_session(&self.session))?;
        let status = checks::status(&status).ok_or_else(|| {
            StoreError::corrupt(
                format!("the status of {}", self.session),
                format!("{status:?} is not a status"),
            )
        })?;
        let (untaken, untaken_of_sender) = connection
            .prepare_cached(UNTAKEN)?
            .query_row(params![self.sender_text, self.id, self.lane.as_str()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        checks::Inbox { status, untaken, untaken_of_sender }.admit(self.lane)?;
        if let Some(target) = self.target {
            self.target(connection, target)?.admit(&self.sender).map_err(StoreError::from)?;
        }
        let n = newest(connection, self.id)? + 1;
        connection
            .prepare_cached(
                "INSERT INTO inbox (session, n, sender, command, dedup_key, at, target) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![self.id, n, self.sender_text, self.command, self.key, now().0, self.target,])?;
        Ok(n)
    }

    fn bytes(&self) -> usize {
        self.command.len()
    }
}

/// What stands where a command points to: its sender, kind, whether it is accepted, whether it is canceled.
const TARGET: &str = "SELECT t.sender, json_extract(t.command, '$.type'), t.taken_seq IS NOT NULL, \
                      EXISTS (SELECT 1 FROM inbox AS c WHERE c.session = t.session AND c.target = t.n \
                      AND json_extract(c.command, '$.type') = 'cancel') \
                      FROM inbox AS t WHERE t.session = ? AND t.n = ?";

impl Send {
    /// What the command is about.
    fn target(&self, connection: &Connection, n: u64) -> Result<Target, Stop> {
        let row = i64::try_from(n).unwrap_or(i64::MAX);
        let found: Option<(String, Option<String>, bool, bool)> = connection
            .prepare_cached(TARGET)?
            .query_row([self.id, row], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .optional()?;
        let (sender, kind, is_taken, is_canceled) = found.ok_or_else(|| checks::no_row(&self.session, n))?;
        let sender = serde_json::from_str(&sender).map_err(|error| {
            StoreError::corrupt(format!("row {n} of the inbox of {}: its sender", self.session), error)
        })?;
        let is_message = kind.as_deref() == Some(checks::Lane::Message.as_str());
        Ok(Target { n, sender, is_message, is_taken, is_canceled })
    }

    /// The row that came with the same key before.
    fn same(&self, connection: &Connection) -> Result<Option<u64>, Stop> {
        let Some(key) = &self.key else { return Ok(None) };
        let found: Option<(u64, String)> = connection
            .prepare_cached(
                "SELECT n, command FROM inbox WHERE session = ? AND sender = ? AND dedup_key = ?",
            )?
            .query_row(params![self.id, self.sender_text, key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found {
            Some((n, command)) if command != self.command => Err(checks::key_reused(key, n).into()),
            found => Ok(found.map(|(n, _)| n)),
        }
    }
}
