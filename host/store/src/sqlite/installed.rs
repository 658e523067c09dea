//! What is installed, in SQLite.

use futures_util::future::BoxFuture;
use rewake_core::ids::{Digest, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use super::failure::reading;
use super::job::{Operation, Stop};
use super::{SqliteStore, blobs, now, rows};
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
        Box::pin(async move {
            let failed = |error: sqlx::Error| reading("what is installed", &error);
            let found = sqlx::query(
                "SELECT i.name, i.version, b.digest, i.source, i.installed_by, i.installed_at \
                 FROM installed AS i JOIN projects AS p ON p.id = i.project JOIN bundles AS b ON b.id = i.bundle \
                 WHERE p.name = ? ORDER BY i.name, i.installed_at DESC, i.version DESC",
            )
            .bind(project)
            .fetch_all(&*self.shared.readers.read().await)
            .await
            .map_err(failed)?;
            found.iter().map(installed).collect::<sqlx::Result<_>>().map_err(failed)
        })
    }

    fn uninstall<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, ()> {
        Box::pin(self.ask(TakeOut { project: project.to_owned(), digest: *digest }))
    }
}

fn installed(row: &SqliteRow) -> sqlx::Result<Installed> {
    Ok(Installed {
        name: row.try_get(0)?,
        version: row.try_get(1)?,
        digest: rows::digest(row, 2)?,
        source: row.try_get(3)?,
        by: row.try_get(4)?,
        installed_at: Timestamp(row.try_get(5)?),
    })
}

/// Installs a bundle.
struct Put {
    install: Install,
}

impl Operation for Put {
    type Output = ();

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<(), Stop>> {
        Box::pin(async move {
            let Install { project, digest, source, by, instead_of } = &self.install;
            let bundle = sqlx::query("SELECT id, name, version FROM bundles WHERE digest = ?")
                .bind(&digest.0[..])
                .fetch_optional(&mut *connection)
                .await?;
            let Some(bundle) = bundle else { return Err(checks::no_bundle(digest).into()) };
            let (id, name, version): (i64, String, String) =
                (bundle.try_get(0)?, bundle.try_get(1)?, bundle.try_get(2)?);
            let there = sqlx::query(
                "SELECT b.digest FROM installed AS i JOIN projects AS p ON p.id = i.project \
                 JOIN bundles AS b ON b.id = i.bundle WHERE p.name = ? AND i.name = ? AND i.version = ?",
            )
            .bind(project.as_str())
            .bind(name.as_str())
            .bind(version.as_str())
            .fetch_optional(&mut *connection)
            .await?;
            let there = there.map(|row| rows::digest(&row, 0)).transpose()?;
            if there.is_some_and(|there| there != *digest && Some(there) != *instead_of) {
                return Err(checks::version_taken(&name, &version).into());
            }
            let replaced = match instead_of {
                Some(replaced) => match row_of(&mut *connection, project, replaced).await? {
                    Some(row) => Some(row),
                    None => return Err(checks::not_installed(replaced).into()),
                },
                None => None,
            };
            // It comes in its own place, or nowhere new.
            let replaced = replaced.filter(|row| row.bundle != id);
            if let Some(row) = replaced {
                row.delete(&mut *connection).await?;
                forget(&mut *connection, row.bundle).await?;
            }
            if there == Some(*digest) {
                return Ok(());
            }
            let project = blobs::project(&mut *connection, project).await?;
            sqlx::query(
                "INSERT INTO installed (project, name, version, bundle, source, installed_by, installed_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(project)
            .bind(name)
            .bind(version)
            .bind(id)
            .bind(source.as_str())
            .bind(by.as_str())
            .bind(now().0)
            .execute(connection)
            .await?;
            Ok(())
        })
    }
}

/// Takes a bundle out of what is installed.
struct TakeOut {
    project: String,
    digest: Digest,
}

impl Operation for TakeOut {
    type Output = ();

    fn run<'c>(&'c self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, Result<(), Stop>> {
        Box::pin(async move {
            let Some(row) = row_of(&mut *connection, &self.project, &self.digest).await? else {
                return Err(checks::not_installed(&self.digest).into());
            };
            let running: Vec<String> = sqlx::query_scalar(
                "SELECT s.name FROM session_bundles AS u JOIN sessions AS s ON s.id = u.session \
                 WHERE u.bundle = ? AND s.status NOT IN ('stopped', 'failed') ORDER BY s.id DESC",
            )
            .bind(row.bundle)
            .fetch_all(&mut *connection)
            .await?;
            if !running.is_empty() {
                return Err(checks::bundle_in_use(&running).into());
            }
            row.delete(&mut *connection).await?;
            forget(connection, row.bundle).await?;
            Ok(())
        })
    }
}

/// A row of what is installed, by its integer keys.
#[derive(Clone, Copy)]
struct At {
    project: i64,
    bundle: i64,
}

impl At {
    async fn delete(self, connection: &mut SqliteConnection) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM installed WHERE project = ? AND bundle = ?")
            .bind(self.project)
            .bind(self.bundle)
            .execute(connection)
            .await
            .map(|_| ())
    }
}

async fn row_of(
    connection: &mut SqliteConnection,
    project: &str,
    digest: &Digest,
) -> sqlx::Result<Option<At>> {
    let found = sqlx::query(
        "SELECT i.project, i.bundle FROM installed AS i JOIN projects AS p ON p.id = i.project \
         JOIN bundles AS b ON b.id = i.bundle WHERE p.name = ? AND b.digest = ?",
    )
    .bind(project)
    .bind(&digest.0[..])
    .fetch_optional(connection)
    .await?;
    found.map(|row| Ok(At { project: row.try_get(0)?, bundle: row.try_get(1)? })).transpose()
}

/// Drops a bundle and its content, if nothing has it any more.
async fn forget(connection: &mut SqliteConnection, bundle: i64) -> sqlx::Result<()> {
    const UNUSED: &str = "NOT EXISTS (SELECT 1 FROM installed WHERE bundle = ?1) \
                          AND NOT EXISTS (SELECT 1 FROM session_bundles WHERE bundle = ?1)";
    let unused: bool = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT {UNUSED}")))
        .bind(bundle)
        .fetch_one(&mut *connection)
        .await?;
    if !unused {
        return Ok(());
    }
    let contents: Vec<i64> = sqlx::query_scalar("SELECT content FROM bundle_files WHERE bundle = ?")
        .bind(bundle)
        .fetch_all(&mut *connection)
        .await?;
    for delete in ["DELETE FROM bundle_files WHERE bundle = ?", "DELETE FROM bundles WHERE id = ?"] {
        sqlx::query(delete).bind(bundle).execute(&mut *connection).await?;
    }
    for content in contents {
        sqlx::query(
            "DELETE FROM contents WHERE id = ?1 \
             AND NOT EXISTS (SELECT 1 FROM bundle_files WHERE content = ?1)",
        )
        .bind(content)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
