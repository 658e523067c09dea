//! Bundles in SQLite: their files by path, each content once.

use rewake_core::ids::{Digest, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::job::{Operation, Stop};
use super::{SqliteStore, now};
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
        let digest = *digest;
        Box::pin(self.query(format!("bundle {digest}"), move |connection| {
            // One transaction, which sees one state of the file: it may be uninstalled meanwhile.
            let connection = connection.unchecked_transaction()?;
            let found: Option<(i64, String, String)> = connection
                .prepare_cached("SELECT id, name, version FROM bundles WHERE digest = ?")?
                .query_row([digest.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            let Some((id, name, version)) = found else { return Ok(None) };
            let mut query = connection.prepare_cached(
                "SELECT f.path, c.bytes, c.digest FROM bundle_files AS f JOIN contents AS c \
                 ON c.id = f.content WHERE f.bundle = ? ORDER BY f.path",
            )?;
            let mut rows = query.query([id])?;
            let mut files = Vec::new();
            while let Some(row) = rows.next()? {
                let (path, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
                if Digest::of(&bytes) != Digest(row.get(2)?) {
                    return Err(StoreError::corrupt(
                        format!("file {path} of bundle {digest}"),
                        "its bytes are not those that were put",
                    )
                    .into());
                }
                files.push((path, bytes));
            }
            Ok(Some(Bundle { digest, name, version, files }))
        }))
    }

    fn list_bundles(&self) -> Answer<'_, Vec<BundleName>> {
        Box::pin(self.query("the bundles", |connection| {
            let mut query = connection
                .prepare_cached("SELECT digest, name, version, added_at FROM bundles ORDER BY id DESC")?;
            let name = |row: &Row<'_>| {
                Ok(BundleName {
                    digest: Digest(row.get(0)?),
                    name: row.get(1)?,
                    version: row.get(2)?,
                    added_at: Timestamp(row.get(3)?),
                })
            };
            let names = query.query_map([], name)?;
            Ok(names.collect::<rusqlite::Result<_>>()?)
        }))
    }
}

/// Keeps a bundle.
struct Put {
    bundle: Bundle,
}

impl Operation for Put {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        let bundle = &self.bundle;
        let is_new = connection
            .prepare_cached(
                "INSERT INTO bundles (digest, name, version, added_at) VALUES (?, ?, ?, ?) \
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![bundle.digest.0, bundle.name, bundle.version, now().0])?;
        // It is here already: by its digest it is the same.
        if is_new == 0 {
            return Ok(());
        }
        let id = connection.last_insert_rowid();
        for (path, bytes) in &bundle.files {
            let digest = Digest::of(bytes);
            connection
                .prepare_cached("INSERT INTO contents (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING")?
                .execute(params![digest.0, bytes])?;
            connection
                .prepare_cached(
                    "INSERT INTO bundle_files (bundle, path, content) \
                     SELECT ?, ?, id FROM contents WHERE digest = ?",
                )?
                .execute(params![id, path, digest.0])?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bundle.files.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}
