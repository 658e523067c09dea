//! Bundles in SQLite: their files by path, each content once.

use futures_util::future::BoxFuture;
use rewake_core::ids::{Digest, Timestamp};
use sqlx::{Row as _, SqliteConnection};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, now, rows};
use crate::ports::{Answer, Bundle, BundleName, Bundles};
use crate::{StoreError, checks};

impl Bundles for SqliteStore {
    fn put_bundle(&self, bundle: Bundle) -> Answer<'_, ()> {
        Box::pin(async move {
            checks::bundle(&bundle)?;
            self.ask(Put { bundle }).await
        })
    }

    fn bundle<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bundle>> {
        Box::pin(async move {
            let failed = |error: sqlx::Error| reading(&format!("bundle {digest}"), &error);
            let readers = self.shared.readers.read().await;
            let found = sqlx::query("SELECT id, name, version FROM bundles WHERE digest = ?")
                .bind(&digest.0[..])
                .fetch_optional(&*readers)
                .await
                .map_err(failed)?;
            let Some(bundle) = found else { return Ok(None) };
            let found = sqlx::query(
                "SELECT f.path, c.bytes, c.digest FROM bundle_files AS f JOIN contents AS c \
                 ON c.id = f.content WHERE f.bundle = ? ORDER BY f.path",
            )
            .bind(bundle.try_get::<i64, _>(0).map_err(failed)?)
            .fetch_all(&*readers)
            .await
            .map_err(failed)?;
            let mut files = Vec::with_capacity(found.len());
            for row in &found {
                let path: String = row.try_get(0).map_err(failed)?;
                let bytes: Vec<u8> = row.try_get(1).map_err(failed)?;
                if Digest::of(&bytes) != rows::digest(row, 2).map_err(failed)? {
                    return Err(StoreError::corrupt(
                        format!("file {path} of bundle {digest}"),
                        "its bytes are not those that were put",
                    ));
                }
                files.push((path, bytes));
            }
            Ok(Some(Bundle {
                digest: *digest,
                name: bundle.try_get(1).map_err(failed)?,
                version: bundle.try_get(2).map_err(failed)?,
                files,
            }))
        })
    }

    fn list_bundles(&self) -> Answer<'_, Vec<BundleName>> {
        Box::pin(async move {
            let failed = |error: sqlx::Error| reading("the bundles", &error);
            let found = sqlx::query("SELECT digest, name, version, added_at FROM bundles ORDER BY id DESC")
                .fetch_all(&*self.shared.readers.read().await)
                .await
                .map_err(failed)?;
            let name = |row: &sqlx::sqlite::SqliteRow| -> sqlx::Result<BundleName> {
                Ok(BundleName {
                    digest: rows::digest(row, 0)?,
                    name: row.try_get(1)?,
                    version: row.try_get(2)?,
                    added_at: Timestamp(row.try_get(3)?),
                })
            };
            found.iter().map(name).collect::<sqlx::Result<_>>().map_err(failed)
        })
    }
}

/// Keeps a bundle.
struct Put {
    bundle: Bundle,
}

impl Operation for Put {
    type Output = ();

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<(), Stop>> {
        Box::pin(async move {
            let bundle = &self.bundle;
            let id: Option<i64> = sqlx::query_scalar(
                "INSERT INTO bundles (digest, name, version, added_at) VALUES (?, ?, ?, ?) \
                 ON CONFLICT DO NOTHING RETURNING id",
            )
            .bind(&bundle.digest.0[..])
            .bind(bundle.name.as_str())
            .bind(bundle.version.as_str())
            .bind(now().0)
            .fetch_optional(&mut *connection)
            .await?;
            // It is here already: by its digest it is the same.
            let Some(id) = id else { return Ok(()) };
            for (path, bytes) in &bundle.files {
                let digest = Digest::of(bytes);
                sqlx::query("INSERT INTO contents (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING")
                    .bind(&digest.0[..])
                    .bind(&bytes[..])
                    .execute(&mut *connection)
                    .await?;
                sqlx::query(
                    "INSERT INTO bundle_files (bundle, path, content) \
                     SELECT ?, ?, id FROM contents WHERE digest = ?",
                )
                .bind(id)
                .bind(path.as_str())
                .bind(&digest.0[..])
                .execute(&mut *connection)
                .await?;
            }
            Ok(())
        })
    }
}
