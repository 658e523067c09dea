//! The journal in SQLite: creating, queueing appends, reading.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;
use rewake_core::codec::Record;
use rewake_core::ids::{Head, SessionId};
use rewake_core::limits::PAYLOAD_INLINE_BYTES_MAX;
use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use super::failure::reading;
use super::group::{self, Part};
use super::job::{Job, Operation, Prepared, Stop};
use super::rows;
use super::shared::Keys;
use super::writer::newest_entry_id;
use super::{SqliteStore, now};
use crate::ports::{Answer, Append, Blob, Journal, NewSession};
use crate::{Result, StoreError, checks};

/// Payload bytes of one reading, unless its first record has more.
const READ_BYTES_MAX: usize = 64 << 20;

impl Journal for SqliteStore {
    fn create(&self, new: NewSession) -> Answer<'_, ()> {
        Box::pin(async move {
            let head = checks::creation(&new)?;
            let session = new.session.clone();
            let keys = self.ask(Create { new, head }).await?;
            self.shared.remember(session, keys);
            Ok(())
        })
    }

    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let head = checks::append(&append)?;
            let keys = self.shared.keys(&append.session).await?;
            let (answer, answered) = oneshot::channel();
            let prepared = prepare(keys, append, head, answer);
            self.queue(Job::Append(Box::new(prepared))).await?;
            answered.await.unwrap_or_else(|_| Err(self.gone()))
        })
    }

    fn read<'a>(&'a self, session: &'a SessionId, after: u64, limit: u32) -> Answer<'a, Vec<Record>> {
        Box::pin(async move {
            let keys = self.shared.keys(session).await?;
            let readers = self.shared.readers.read().await;
            let mut found = sqlx::query(
                // Three columns: sqlx makes a copy of each, which takes longer than reading it.
                "SELECT e.seq || ' ' || e.epoch || ' ' || e.version || ' ' || e.turn || ' ' || e.step || ' ' || \
                 e.ordinal || ' ' || e.use_index || ' ' || e.at || ' ' || e.kind || ' ' || e.actor, \
                 CAST(e.payload_digest || e.hash || coalesce(p.salt, x'') AS BLOB), coalesce(p.bytes, b.bytes) \
                 FROM entries AS e LEFT JOIN payloads AS p ON p.entry = e.id \
                 LEFT JOIN blobs AS b ON b.project = ? AND b.digest = p.blob \
                 WHERE e.session = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
            )
            .bind(keys.project)
            .bind(keys.session)
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .bind(i64::from(limit))
            .fetch(&*readers);
            let failed = |error: sqlx::Error| {
                reading(&format!("the journal of {session} after entry {after}"), &error)
            };
            let mut records = Vec::new();
            let mut bytes = 0;
            while let Some(row) = found.try_next().await.map_err(failed)? {
                let record = rows::record(&row).map_err(failed)?;
                bytes += record.payload.as_ref().map_or(0, |payload| payload.bytes.len());
                records.push(record);
                if bytes > READ_BYTES_MAX {
                    break;
                }
            }
            Ok(records)
        })
    }

    fn head<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Head>> {
        Box::pin(async move {
            let failed = |error: sqlx::Error| reading(&format!("the head of {session}"), &error);
            let row = sqlx::query("SELECT head_seq, head_hash FROM sessions WHERE name = ?")
                .bind(session.as_str())
                .fetch_optional(&*self.shared.readers.read().await)
                .await
                .map_err(failed)?;
            let Some(row) = row else { return Ok(None) };
            let head = || Ok(Head { seq: rows::number(&row, 0)?, hash: rows::digest(&row, 1)? });
            head().map(Some).map_err(failed)
        })
    }
}

/// Works out what the writer needs of an append that was checked.
fn prepare(keys: Keys, append: Append, head: Head, answer: oneshot::Sender<Result<()>>) -> Prepared {
    let mut payload_digests = BTreeMap::new();
    let mut payload_blobs = Vec::new();
    for record in &append.records {
        if let Some(payload) = &record.payload
            && payload.bytes.len() > PAYLOAD_INLINE_BYTES_MAX
        {
            let blob = Blob::of(payload.bytes.clone());
            payload_digests.insert(record.seq, blob.digest);
            payload_blobs.push(blob);
        }
    }
    Prepared {
        session: keys.session,
        project: keys.project,
        append,
        head,
        payload_digests,
        payload_blobs,
        answer,
    }
}

/// Creates a session: its row, then its first entries as an append to an empty journal.
struct Create {
    new: NewSession,
    head: Head,
}

impl Operation for Create {
    type Output = Keys;

    fn run<'c>(
        &'c self,
        connection: &'c mut SqliteConnection,
    ) -> BoxFuture<'c, std::result::Result<Keys, Stop>> {
        Box::pin(async move {
            let new = &self.new;
            let there: i64 = sqlx::query_scalar("SELECT count(*) FROM sessions WHERE name = ?")
                .bind(new.session.as_str())
                .fetch_one(&mut *connection)
                .await?;
            if there > 0 {
                return Err(StoreError::Exists(new.session.clone()).into());
            }
            let bundles = self.bundles(connection).await?;
            let keys = self.insert(connection).await?;
            for bundle in bundles {
                sqlx::query(
                    "INSERT INTO session_bundles (session, bundle) VALUES (?, ?) ON CONFLICT DO NOTHING",
                )
                .bind(keys.session)
                .bind(bundle)
                .execute(&mut *connection)
                .await?;
            }
            let append = Append {
                session: new.session.clone(),
                epoch: new.epoch,
                expected: Head::default(),
                records: new.records.clone(),
                taken: vec![],
                inbox_through: None,
                state: None,
                blobs: vec![],
                projection: new.projection.clone(),
            };
            // Nobody waits for this answer: the operation has its own.
            let prepared = prepare(keys, append, self.head, oneshot::channel().0);
            let entry_id = newest_entry_id(connection).await?;
            group::execute(connection, &[&prepared], Part::Middle, entry_id).await?;
            Ok(keys)
        })
    }
}

impl Create {
    async fn bundles(&self, connection: &mut SqliteConnection) -> std::result::Result<Vec<i64>, Stop> {
        let mut ids = Vec::new();
        for digest in &self.new.bundles {
            let id: Option<i64> = sqlx::query_scalar("SELECT id FROM bundles WHERE digest = ?")
                .bind(&digest.0[..])
                .fetch_optional(&mut *connection)
                .await?;
            ids.push(id.ok_or_else(|| StoreError::NotFound(format!("bundle blake3:{digest}")))?);
        }
        Ok(ids)
    }

    async fn insert(&self, connection: &mut SqliteConnection) -> sqlx::Result<Keys> {
        let new = &self.new;
        let project = super::blobs::project(connection, &new.project).await?;
        let created_at = new.records.first().map_or_else(|| now().0, |record| record.at.0);
        let session = sqlx::query_scalar(
            "INSERT INTO sessions (name, project, epoch, head_seq, head_hash, agent, status, turns, \
             created_at, updated_at) VALUES (?, ?, ?, 0, ?, ?, ?, 0, ?, ?) RETURNING id",
        )
        .bind(new.session.as_str())
        .bind(project)
        .bind(new.epoch as i64)
        .bind(&Head::default().hash.0[..])
        .bind(new.projection.agent.as_str())
        .bind(new.projection.status.as_str())
        .bind(created_at)
        .bind(created_at)
        .fetch_one(connection)
        .await?;
        Ok(Keys { session, project })
    }
}
