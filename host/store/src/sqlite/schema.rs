//! Reads a file's schema, and compares it with Rewake's own. SQLite runs what a schema defines: a trigger or a view that
//! came with a file from elsewhere would act for everyone who opens that file.

use std::collections::BTreeMap;

use rewake_core::limits::cut_chars;
use rusqlite::Connection;

/// Characters of a foreign name that are shown.
const NAME_CHARS_MAX: usize = 100;

/// Kind and name of each object, with its table and its text. SQLite's own indexes have no text.
type Objects = BTreeMap<(String, String), (String, Option<String>)>;

/// What a file says of itself.
pub(super) struct Found {
    pub(super) application: i64,
    pub(super) version: i64,
    objects: Objects,
}

impl Found {
    /// Reads it, in one state of the file: another process may be creating the schema.
    pub(super) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection.execute_batch("SAVEPOINT schema")?;
        let read = || {
            // Not from `pragma_user_version`: a table of the file may have that name.
            Ok(Found {
                application: connection.pragma_query_value(None, "application_id", |row| row.get(0))?,
                version: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
                objects: objects(connection)?,
            })
        };
        let found = read();
        let released = connection.execute_batch("RELEASE schema");
        found.and_then(|found| released.map(|()| found))
    }

    /// Whether nothing is in it.
    pub(super) fn is_fresh(&self) -> bool {
        self.application == 0 && self.version == 0 && self.objects.is_empty()
    }

    /// The first object that is not as these statements make it, and in which way. `VACUUM` changes none of this.
    pub(super) fn difference(&self, statements: &[&str]) -> rusqlite::Result<Option<String>> {
        let own = Connection::open_in_memory()?;
        statements.iter().try_for_each(|part| own.execute_batch(part))?;
        let own = objects(&own)?;
        let foreign =
            self.objects.keys().find(|key| !own.contains_key(key)).map(|key| (key, "is not Rewake's"));
        let changed = || own.iter().find(|(key, object)| self.objects.get(key) != Some(object));
        let differs = foreign.or_else(|| {
            let (key, _) = changed()?;
            Some((key, if self.objects.contains_key(key) { "was changed" } else { "is missing" }))
        });
        // The names are of the file's maker: as Rust writes them, no character acts on a terminal.
        Ok(differs.map(|((kind, name), how)| {
            format!(
                "the {} {:?} {how}",
                cut_chars(&kind.escape_debug().to_string(), NAME_CHARS_MAX),
                cut_chars(name, NAME_CHARS_MAX)
            )
        }))
    }
}

fn objects(connection: &Connection) -> rusqlite::Result<Objects> {
    let mut query = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let objects = query.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?))))?;
    objects.collect()
}
