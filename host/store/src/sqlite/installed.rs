//! What is installed, in SQLite.

use rewake_core::ids::{Digest, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::job::{Operation, Stop};
use super::{SqliteStore, blobs, now};
use crate::checks;
use crate::ports::{Answer, Install, Installed, Installs};

impl Installs for SqliteStore {
    fn install(&self, install: Install) -> Answer<'_, ()> {
        Box::pin(async move {
            checks::project(&install.project)?;
            self.ask(Put { install }).await
        })
    }

    fn installed<'a>(&'a self, project: &'a str) -> Answer<'a, Vec<Installed>> {
        let project = project.to_owned();
        Box::pin(self.query("what is installed", move |connection| {
            let mut query = connection.prepare_cached(
                "SELECT i.name, i.version, b.digest, i.source, i.installed_by, i.installed_at \
                 FROM installed AS i JOIN projects AS p ON p.id = i.project JOIN bundles AS b ON b.id = i.bundle \
                 WHERE p.name = ? ORDER BY i.name, i.installed_at DESC, i.version DESC",
            )?;
            let found = query.query_map([project], installed)?;
            Ok(found.collect::<rusqlite::Result<_>>()?)
        }))
    }

    fn uninstall<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, ()> {
        Box::pin(self.ask(TakeOut { project: project.to_owned(), digest: *digest }))
    }
}

fn installed(row: &Row<'_>) -> rusqlite::Result<Installed> {
    Ok(Installed {
        name: row.get(0)?,
        version: row.get(1)?,
        digest: Digest(row.get(2)?),
        source: row.get(3)?,
        by: row.get(4)?,
        installed_at: Timestamp(row.get(5)?),
    })
}

/// Installs a bundle.
struct Put {
    install: Install,
}

impl Operation for Put {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        let Install { project, digest, source, by, instead_of } = &self.install;
        let bundle: Option<(i64, String, String)> = connection
            .prepare_cached("SELECT id, name, version FROM bundles WHERE digest = ?")?
            .query_row([digest.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((id, name, version)) = bundle else { return Err(checks::no_bundle(digest).into()) };
        let there = connection
            .prepare_cached(
                "SELECT b.digest FROM installed AS i JOIN projects AS p ON p.id = i.project \
                 JOIN bundles AS b ON b.id = i.bundle WHERE p.name = ? AND i.name = ? AND i.version = ?",
            )?
            .query_row([project, &name, &version], |row| row.get(0).map(Digest))
            .optional()?;
        if there.is_some_and(|there| there != *digest && Some(there) != *instead_of) {
            return Err(checks::version_taken(&name, &version).into());
        }
        let replaced = match instead_of {
            Some(replaced) => match At::find(connection, project, replaced)? {
                Some(at) => Some(at),
                None => return Err(checks::not_installed(replaced).into()),
            },
            None => None,
        };
        // It comes in its own place, or nowhere new.
        if let Some(at) = replaced.filter(|at| at.bundle != id) {
            at.delete(connection)?;
        }
        if there == Some(*digest) {
            return Ok(());
        }
        let project = blobs::project(connection, project)?;
        connection
            .prepare_cached(
                "INSERT INTO installed (project, name, version, bundle, source, installed_by, installed_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![project, name, version, id, source, by, now().0])?;
        Ok(())
    }
}

/// Takes a bundle out of what is installed.
struct TakeOut {
    project: String,
    digest: Digest,
}

impl Operation for TakeOut {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), Stop> {
        let Some(at) = At::find(connection, &self.project, &self.digest)? else {
            return Err(checks::not_installed(&self.digest).into());
        };
        let running: Vec<String> = connection
            .prepare_cached(
                "SELECT s.name FROM session_bundles AS u JOIN sessions AS s ON s.id = u.session \
                 WHERE u.bundle = ? AND s.status NOT IN ('stopped', 'failed') ORDER BY s.id DESC",
            )?
            .query_map([at.bundle], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if !running.is_empty() {
            return Err(checks::bundle_in_use(&running).into());
        }
        Ok(at.delete(connection)?)
    }
}

/// A row of what is installed, by its integer keys.
#[derive(Clone, Copy)]
struct At {
    project: i64,
    bundle: i64,
}

impl At {
    fn find(connection: &Connection, project: &str, digest: &Digest) -> rusqlite::Result<Option<At>> {
        connection
            .prepare_cached(
                "SELECT i.project, i.bundle FROM installed AS i JOIN projects AS p ON p.id = i.project \
                 JOIN bundles AS b ON b.id = i.bundle WHERE p.name = ? AND b.digest = ?",
            )?
            .query_row(params![project, digest.0], |row| Ok(At { project: row.get(0)?, bundle: row.get(1)? }))
            .optional()
    }

    /// Deletes it, and the bundle and its content, if nothing has it any more.
    fn delete(self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached("DELETE FROM installed WHERE project = ? AND bundle = ?")?
            .execute([self.project, self.bundle])?;
        let is_used: bool = connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM installed WHERE bundle = ?1) \
                 OR EXISTS (SELECT 1 FROM session_bundles WHERE bundle = ?1)",
            )?
            .query_row([self.bundle], |row| row.get(0))?;
        if is_used {
            return Ok(());
        }
        let contents: Vec<i64> = connection
            .prepare_cached("SELECT content FROM bundle_files WHERE bundle = ?")?
            .query_map([self.bundle], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for delete in ["DELETE FROM bundle_files WHERE bundle = ?", "DELETE FROM bundles WHERE id = ?"] {
            connection.prepare_cached(delete)?.execute([self.bundle])?;
        }
        for content in contents {
            connection
                .prepare_cached(
                    "DELETE FROM contents WHERE id = ?1 \
                     AND NOT EXISTS (SELECT 1 FROM bundle_files WHERE content = ?1)",
                )?
                .execute([content])?;
        }
        Ok(())
    }
}
