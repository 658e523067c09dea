//! Blobs in SQLite. Those that entries name are written by their append.

use rewake_core::ids::Digest;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::job::{Operation, Stop};
use super::texts::Stored;
use super::{SqliteStore, VALUE_BYTES_MAX};
use crate::StoreError;
use crate::ports::{Answer, Blob, Blobs};

impl Blobs for SqliteStore {
    fn put_blob<'a>(&'a self, project: &'a str, bytes: Vec<u8>) -> Answer<'a, Digest> {
        Box::pin(async move { self.ask(Put { project: project.to_owned(), blob: Blob::of(bytes) }).await })
    }

    fn blob<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, Option<Vec<u8>>> {
        let (project, digest) = (project.to_owned(), *digest);
        Box::pin(self.query("a blob", move |connection| {
            let mut query = connection.prepare_cached(
                "SELECT p.id, b.bytes, b.texts FROM projects AS p JOIN blobs AS b ON b.project = p.id \
                 WHERE p.name = ? AND b.digest = ?",
            )?;
            let stored = |row: &Row<'_>| {
                Ok((row.get(0)?, Stored { rest: row.get::<_, Vec<u8>>(1)?.into(), texts: row.get(2)? }))
            };
            let Some((project, stored)) = query.query_row(params![project, digest.0], stored).optional()?
            else {
                return Ok(None);
            };
            let corrupt = |why| StoreError::corrupt(format!("blob {digest}"), why);
            let bytes = stored.whole(connection, project, VALUE_BYTES_MAX)?.map_err(corrupt)?;
            if Digest::of(&bytes) != digest {
                return Err(corrupt("its bytes are not those of its digest".into()).into());
            }
            Ok(Some(bytes))
        }))
    }
}

/// Keeps bytes.
struct Put {
    project: String,
    blob: Blob,
}

impl Operation for Put {
    type Output = Digest;

    fn run(&self, connection: &Connection) -> Result<Digest, Stop> {
        let project = project(connection, &self.project)?;
        insert(connection, project, self.blob.digest, &self.blob.bytes, None)?;
        Ok(self.blob.digest)
    }

    fn bytes(&self) -> usize {
        self.blob.bytes.len()
    }
}

/// Keeps bytes in a project, if it does not have them.
pub(super) fn insert(
    connection: &Connection,
    project: i64,
    digest: Digest,
    bytes: &[u8],
    texts: Option<&[u8]>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO blobs (project, digest, texts, bytes) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )?
        .execute(params![project, digest.0, texts, bytes])?;
    Ok(())
}

/// A project's key; it is made when something is first kept in it.
pub(super) fn project(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("INSERT INTO projects (name) VALUES (?) ON CONFLICT DO NOTHING")?
        .execute([name])?;
    connection.prepare_cached("SELECT id FROM projects WHERE name = ?")?.query_row([name], |row| row.get(0))
}
