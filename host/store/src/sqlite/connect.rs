//! How connections to the file are made, and which schema it must have. Every connection of the host is
//! made here, so that each has the same settings.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access, statvfs};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

use crate::{Result, StoreError};

/// What SQLite's `application_id` must be: "Rwke".
const APPLICATION_ID: i64 = 0x5277_6b65;
/// All schemas in order; a file's `user_version` is how many of them it has. Only ever added to.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001-first.sql"),
    include_str!("migrations/0002-installed.sql"),
    include_str!("migrations/0003-targets.sql"),
];
/// How long a connection waits for another process's transaction.
const BUSY_MS_MAX: u64 = 5_000;
/// Connections that read.
const READERS_MAX: u32 = 4;
/// Compiled statements kept by the connection that writes. Groups are padded to few sizes, so that few
/// texts are in use (`group.rs`).
const WRITER_STATEMENTS_MAX: usize = 256;
/// Pages of the file that the connection that writes keeps, in KiB.
const WRITER_CACHE_KIB: &str = "-65536";
/// Bytes that the log's index takes at first, twice.
const ROOM_BYTES_MIN: u64 = 64 << 10;
/// Rows that a reading connection may be ahead of its reader: a page of a journal, so that it is read while the one
/// before is folded.
const READ_AHEAD_ROWS: usize = 1_024;

/// Where the file is and how it is opened.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    /// Read as a file that nobody can write: no write-ahead log is there and none can be made.
    immutable: bool,
}

impl Location {
    /// Opens the file for writing: makes it if it is not there, and brings its schema up to date. The
    /// connection is the store's one writer.
    pub(super) async fn for_writing(path: &Path) -> Result<(Self, SqliteConnection)> {
        let location = Location { path: path.to_owned(), immutable: false };
        make_private(path)?;
        check_writable(path)?;
        let mut connection = location.writer().await?;
        match migrate(&mut connection, path).await {
            Ok(()) => Ok((location, connection)),
            Err(error) => {
                closed(connection).await;
                Err(error)
            }
        }
    }

    /// Finds out how the file can be read without changing anything.
    pub(super) async fn for_reading(path: &Path) -> Result<Self> {
        let mut location = Location { path: path.to_owned(), immutable: false };
        if !path.exists() {
            return Err(StoreError::NotFound(format!("store at {}; start a session first", path.display())));
        }
        let first = match location.probe().await {
            // Nothing can be made beside the file, and nothing needs to be: its log is empty.
            Err(StoreError::Io { .. }) if !has_log(path) => {
                location.immutable = true;
                location.probe().await
            }
            other => other,
        };
        first.map(|()| location)
    }

    /// The connection that writes; there is one a store.
    pub(super) async fn writer(&self) -> Result<SqliteConnection> {
        let options = self
            .common()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", "0")
            .pragma("cache_size", WRITER_CACHE_KIB)
            .statement_cache_capacity(WRITER_STATEMENTS_MAX)
            .thread_name(|_| "store-writer".to_owned());
        self.connect(&options).await
    }

    /// The connection that moves what is in the log into the file.
    pub(super) async fn checkpointer(&self) -> Result<SqliteConnection> {
        let options = self
            .common()
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", "0")
            .thread_name(|_| "store-checkpoint".to_owned());
        self.connect(&options).await
    }

    /// The connections that read; made when they are needed.
    pub(super) fn readers(&self) -> SqlitePool {
        let options = self
            .common()
            .read_only(true)
            .immutable(self.immutable)
            .row_buffer_size(READ_AHEAD_ROWS)
            .thread_name(|n| format!("store-reader-{n}"));
        SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            // A connection to a file does not go away by itself.
            .test_before_acquire(false)
            .acquire_timeout(Duration::from_secs(30))
            .idle_timeout(Duration::from_secs(60))
            .connect_lazy_with(options)
    }

    fn common(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(false)
            .foreign_keys(true)
            .disable_statement_logging()
            .busy_timeout(Duration::from_millis(BUSY_MS_MAX))
            .pragma("recursive_triggers", "ON")
            .pragma("trusted_schema", "OFF")
    }

    async fn connect(&self, options: &SqliteConnectOptions) -> Result<SqliteConnection> {
        SqliteConnection::connect_with(options).await.map_err(|error| self.opening(&error))
    }

    /// Reads the schema's version through a connection for reading.
    async fn probe(&self) -> Result<()> {
        let options = self.common().read_only(true).immutable(self.immutable);
        let mut connection = self.connect(&options).await?;
        let found = check_schema(&mut connection, &self.path).await;
        closed(connection).await;
        match found? {
            found if found == MIGRATIONS.len() as i64 => Ok(()),
            found => Err(StoreError::Foreign {
                path: self.path.clone(),
                why: format!(
                    "its schema is {found}, and reading needs {}; open it once for writing",
                    MIGRATIONS.len()
                ),
            }),
        }
    }

    fn opening(&self, error: &sqlx::Error) -> StoreError {
        match super::failure::primary_code(error) {
            Some(super::failure::NOTADB) => {
                StoreError::Foreign { path: self.path.clone(), why: "it is no SQLite database".into() }
            }
            _ => unreadable("opening", &self.path, error),
        }
    }
}

/// Closes a connection; what goes wrong then loses nothing that was committed.
pub(super) async fn closed(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "closing a connection to the store");
    }
}

/// Makes the folder and the file, both for their owner alone. SQLite gives its log the file's mode.
fn make_private(path: &Path) -> Result<()> {
    let doing = |what: &str, at: &Path| format!("{what} {}", at.display());
    let folder = folder_of(path);
    if !folder.exists() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| StoreError::io(doing("making the folder", folder), error))?;
    }
    // Only a file that nobody has open yet is opened here: closing any handle of a file lets go of all
    // the locks that this process has on it.
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mode = fs::metadata(path)
                .map_err(|error| StoreError::io(doing("looking at", path), error))?
                .permissions()
                .mode();
            if mode & 0o077 != 0 {
                fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))
                    .map_err(|error| StoreError::io(doing("making private", path), error))?;
            }
            Ok(())
        }
        Err(error) => Err(StoreError::io(doing("making", path), error)),
    }
}

/// Sees that the file can be written, and others beside it. SQLite would open it to be read, and fail later.
fn check_writable(path: &Path) -> Result<()> {
    for place in [path, folder_of(path)] {
        access(place, Access::WRITE_OK).map_err(|error| {
            let why = format!("it cannot be written ({error}); what is kept in it can still be read");
            StoreError::io(place.display().to_string(), why)
        })?;
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether there is room on the file's disk for what SQLite makes beside it.
fn has_room(path: &Path) -> bool {
    statvfs(folder_of(path)).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM_BYTES_MIN)
}

/// Whether a write-ahead log with something in it stands beside the file.
fn has_log(path: &Path) -> bool {
    fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0)
}

/// The file's write-ahead log, as SQLite names it.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Why the file cannot be opened. A log beside it is taken for its own by SQLite, whoever put it there.
fn unreadable(doing: &str, path: &Path, error: &sqlx::Error) -> StoreError {
    match super::failure::failed(format!("{doing} {}", path.display()), error) {
        StoreError::Damaged { what, said } if has_log(path) => {
            let shown = path.display();
            let said = format!("{said}; or {shown}-wal is not its log: then it opens without that");
            StoreError::Damaged { what, said }
        }
        // SQLite tells no room for its own files as an error of the disk.
        StoreError::Io { what, source_text } if !has_room(path) => {
            StoreError::Io { what, source_text: format!("{source_text}: the disk is full; make room on it") }
        }
        other => other,
    }
}

/// Reads the schema's version; refuses files of others and of newer versions.
async fn check_schema(connection: &mut SqliteConnection, path: &Path) -> Result<i64> {
    let failed = |error: sqlx::Error| match super::failure::primary_code(&error) {
        Some(super::failure::NOTADB) => {
            StoreError::Foreign { path: path.to_owned(), why: "it is no SQLite database".into() }
        }
        // What SQLite answers to a header of another form.
        Some(super::failure::ERROR) => {
            StoreError::Foreign { path: path.to_owned(), why: super::failure::said(&error) }
        }
        _ => unreadable("reading the schema of", path, &error),
    };
    // In one statement, which sees one state of the file: another process may be making it what it is to be.
    let (application, version, tables): (i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT application_id FROM pragma_application_id), \
         (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)",
    )
    .fetch_one(connection)
    .await
    .map_err(failed)?;
    let known = MIGRATIONS.len() as i64;
    let fresh = application == 0 && version == 0 && tables == 0;
    match (application, version) {
        _ if fresh => Ok(0),
        (APPLICATION_ID, found) if found > known => {
            Err(StoreError::Newer { path: path.to_owned(), found, known })
        }
        (APPLICATION_ID, found) if found > 0 => Ok(found),
        (found, version) => Err(StoreError::Foreign {
            path: path.to_owned(),
            why: format!("its application id is {found:#x} and its schema {version}"),
        }),
    }
}

/// Brings the schema up to date, in one transaction: after a crash it is the old one or the new one.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<()> {
    if check_schema(connection, path).await? == MIGRATIONS.len() as i64 {
        return Ok(());
    }
    let failed = |error: sqlx::Error| {
        super::failure::failed(format!("bringing the schema of {} up to date", path.display()), &error)
    };
    connection.execute("BEGIN IMMEDIATE").await.map_err(failed)?;
    // Once more, now that no other process can be doing the same.
    let found = check_schema(connection, path).await?;
    for migration in &MIGRATIONS[found as usize..] {
        connection.execute(*migration).await.map_err(failed)?;
    }
    let end = format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}; COMMIT",
        MIGRATIONS.len()
    );
    connection.execute(AssertSqlSafe(end)).await.map_err(failed)?;
    Ok(())
}
