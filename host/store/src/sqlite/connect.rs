//! How connections to the file are made, and which schema it must have. Every connection of the host is
//! made here, so that each has the same settings.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{Access, access, statvfs};

use super::schema::Found;
use super::{VALUE_BYTES_MAX, failure};
use crate::{Result, StoreError};

/// What SQLite's `application_id` must be: "Rwke".
const APPLICATION_ID: i64 = 0x5277_6b65;
/// The schema, then the migrations in order; a file's `user_version` is how many of these it has. The schema is edited in
/// place until the tag 0.1.0; from then on migrations are added and nothing else changes.
pub(super) const SCHEMA: &[&str] = &[include_str!("schema.sql")];
/// How long a connection waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(5);
/// And how long it pauses where SQLite does not wait.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// Compiled statements that a connection keeps: more than there are.
const STATEMENTS_MAX: usize = 64;
/// What is set on every connection.
const COMMON: &str = "PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF; \
                      PRAGMA cell_size_check = ON;";
/// What is set on those that write: a commit is on the disk when it returns, and never moves the log.
const DURABLE: &str = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;";
/// What is set on the one that commits: the log, 64 MiB of the file's pages, and to which size a log is cut that a long
/// reading has made larger. The first reading makes the log, where the file had none, such as a copy by `VACUUM INTO`.
const COMMITS: &str = "PRAGMA journal_mode = WAL; PRAGMA cache_size = -65536; \
                       PRAGMA journal_size_limit = 16777216; SELECT count(*) FROM sqlite_schema;";
/// Bytes that the log's index takes at first, twice.
const ROOM_BYTES_MIN: u64 = 64 << 10;

/// Where the file is and how it is opened.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    /// See [`SCHEMA`].
    schema: &'static [&'static str],
    /// Read as a file that nobody can write: no write-ahead log is there and none can be made.
    immutable: bool,
}

impl Location {
    /// Opens the file for writing: makes it if it is not there, and brings its schema up to date. The
    /// connection is the store's one writer.
    pub(super) fn for_writing(path: &Path, schema: &'static [&'static str]) -> Result<(Self, Connection)> {
        let location = Location { path: path.to_owned(), schema, immutable: false };
        make_private(path)?;
        check_writable(path)?;
        let (connection, found) = location.checked_writer()?;
        if found < location.version() {
            location.migrate(&connection)?;
        }
        Ok((location, connection))
    }

    /// Finds out how the file can be read without changing anything.
    pub(super) fn for_reading(path: &Path, schema: &'static [&'static str]) -> Result<Self> {
        let mut location = Location { path: path.to_owned(), schema, immutable: false };
        if !path.exists() {
            return Err(StoreError::NotFound(format!("store at {}; start a session first", path.display())));
        }
        let first = match location.probe() {
            // Nothing can be made beside the file, and nothing needs to be: its log is empty.
            Err(StoreError::Io { .. }) if !has_log(path) => {
                location.immutable = true;
                location.probe()
            }
            other => other,
        };
        first.map(|()| location)
    }

    /// The connection that writes; there is one a store.
    pub(super) fn writer(&self) -> Result<Connection> {
        self.checked_writer().map(|(connection, _)| connection)
    }

    /// The same, with the schema's version.
    fn checked_writer(&self) -> Result<(Connection, i64)> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, &[COMMON, DURABLE])?;
        // Before a log is made: a file of others is left as it is.
        let found = self.check_schema(&connection)?;
        patiently(|| connection.execute_batch(COMMITS)).map_err(|error| self.opening(&error))?;
        Ok((connection, found))
    }

    /// The connection that moves what is in the log into the file.
    pub(super) fn checkpointer(&self) -> Result<Connection> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, &[COMMON, DURABLE])
    }

    /// A connection that reads.
    pub(super) fn reader(&self) -> Result<Connection> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, &[COMMON])
    }

    fn connect(&self, flags: OpenFlags, settings: &[&str]) -> Result<Connection> {
        // Each is used by one thread at a time.
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = if self.immutable {
                Connection::open_with_flags(immutable(&self.path), flags | OpenFlags::SQLITE_OPEN_URI)?
            } else {
                Connection::open_with_flags(&self.path, flags)?
            };
            connection.busy_timeout(BUSY)?;
            // The statements of Rewake never write the schema's table; its schema has no views.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX as i32)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
            settings.iter().try_for_each(|settings| patiently(|| connection.execute_batch(settings)))?;
            Ok(connection)
        };
        open().map_err(|error| self.opening(&error))
    }

    /// Checks the schema through a connection for reading.
    fn probe(&self) -> Result<()> {
        let (found, known) = (self.check_schema(&self.reader()?)?, self.version());
        if found < known {
            return Err(StoreError::Older { path: self.path.clone(), found, known });
        }
        Ok(())
    }

    /// The schema's version that this program needs.
    fn version(&self) -> i64 {
        self.schema.len() as i64
    }

    fn foreign(&self, why: String) -> StoreError {
        StoreError::Foreign { path: self.path.clone(), why }
    }

    fn opening(&self, error: &rusqlite::Error) -> StoreError {
        if failure::is_no_database(error) {
            return self.foreign("it is no SQLite database".into());
        }
        unreadable("opening", &self.path, error)
    }

    /// Reads the schema's version. Refuses files of others and of newer versions, and files whose tables, indexes and
    /// triggers are not those of their version.
    fn check_schema(&self, connection: &Connection) -> Result<i64> {
        let found = patiently(|| Found::read(connection)).map_err(|error| self.schema_failed(&error))?;
        let known = self.version();
        let parts = match (found.application, found.version) {
            _ if found.is_fresh() => return Ok(0),
            (APPLICATION_ID, found) if found > known => {
                return Err(StoreError::Newer { path: self.path.clone(), found, known });
            }
            (APPLICATION_ID, version) if version > 0 => &self.schema[..version as usize],
            (id, version) => {
                return Err(self.foreign(format!("its application id is {id:#x} and its schema {version}")));
            }
        };
        match found.difference(parts) {
            Ok(None) => Ok(found.version),
            Ok(Some(what)) => Err(StoreError::Altered { path: self.path.clone(), what }),
            Err(error) => Err(failure::failed("building the schema".into(), &error)),
        }
    }

    fn schema_failed(&self, error: &rusqlite::Error) -> StoreError {
        match error {
            error if failure::is_no_database(error) => self.foreign("it is no SQLite database".into()),
            // What SQLite answers to a header of another form.
            error if failure::is_of_a_statement(error) => self.foreign(failure::said(error)),
            error => unreadable("reading the schema of", &self.path, error),
        }
    }

    /// Brings the schema up to date, in one transaction: after a crash it is the old one or the new one.
    fn migrate(&self, connection: &Connection) -> Result<()> {
        let failed = |error: rusqlite::Error| {
            failure::failed(format!("bringing the schema of {} up to date", self.path.display()), &error)
        };
        let transaction =
            Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(failed)?;
        // Now that no other process can be doing the same.
        let found = self.check_schema(&transaction)?;
        for migration in &self.schema[found as usize..] {
            transaction.execute_batch(migration).map_err(failed)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", self.version()).map_err(failed)?;
        transaction.commit().map_err(failed)
    }
}

/// A file's name for a connection that takes it for one that nobody can write.
fn immutable(path: &Path) -> String {
    // With an empty authority, or a path that begins with two slashes would have one.
    let mut name = String::from(if path.is_absolute() { "file://" } else { "file:" });
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                name.push(char::from(*byte))
            }
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name + "?immutable=1"
}

/// Tries again while others lock the file, as SQLite does by itself, but not where a log is begun.
fn patiently<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let end = Instant::now() + BUSY;
    loop {
        match work() {
            Err(error) if failure::is_locked(&error) && Instant::now() < end => thread::sleep(BUSY_PAUSE),
            outcome => return outcome,
        }
    }
}

/// Closes a connection; what goes wrong then loses nothing that was committed.
pub(super) fn closed(connection: Connection) {
    if let Err((_, error)) = connection.close() {
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
    // Only a file that nobody has open yet is opened here: closing any handle of a file releases all
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
fn unreadable(doing: &str, path: &Path, error: &rusqlite::Error) -> StoreError {
    match failure::failed(format!("{doing} {}", path.display()), error) {
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
