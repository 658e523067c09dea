//! Blobs in SQLite. Those that entries name are written by an append's text.

use futures_util::future::BoxFuture;
use rewake_core::ids::Digest;
use sqlx::SqliteConnection;

use super::SqliteStore;
use super::failure::reading;
use super::job::{Operation, Stop};
use crate::StoreError;
use crate::ports::{Answer, Blob, Blobs};

impl Blobs for SqliteStore {
    fn put_blob<'a>(&'a self, project: &'a str, bytes: Vec<u8>) -> Answer<'a, Digest> {
        Box::pin(async move { self.ask(Put { project: project.to_owned(), blob: Blob::of(bytes) }).await })
    }

    fn blob<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let found: Option<Vec<u8>> = sqlx::query_scalar(
                "SELECT b.bytes FROM projects AS p JOIN blobs AS b ON b.project = p.id \
                 WHERE p.name = ? AND b.digest = ?",
            )
            .bind(project)
            .bind(&digest.0[..])
            .fetch_optional(&*self.shared.readers.read().await)
            .await
            .map_err(|error| reading("a blob", &error))?;
            match found {
                Some(bytes) if Digest::of(&bytes) != *digest => Err(StoreError::corrupt(
                    format!("blob {digest}"),
                    "its bytes are not those of its digest",
                )),
                found => Ok(found),
            }
        })
    }
}

/// Keeps bytes.
struct Put {
    project: String,
    blob: Blob,
}

impl Operation for Put {
    type Output = Digest;

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<Digest, Stop>> {
        Box::pin(async move {
            let project = project(connection, &self.project).await?;
            sqlx::query("INSERT INTO blobs (project, digest, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
                .bind(project)
                .bind(&self.blob.digest.0[..])
                .bind(&self.blob.bytes[..])
                .execute(connection)
                .await?;
            Ok(self.blob.digest)
        })
    }
}

/// A project's key; it is made when something is first kept in it.
pub(super) async fn project(connection: &mut SqliteConnection, name: &str) -> sqlx::Result<i64> {
    sqlx::query("INSERT INTO projects (name) VALUES (?) ON CONFLICT DO NOTHING")
        .bind(name)
        .execute(&mut *connection)
        .await?;
    sqlx::query_scalar("SELECT id FROM projects WHERE name = ?").bind(name).fetch_one(connection).await
}
