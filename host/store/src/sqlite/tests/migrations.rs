//! How a file of an older schema is brought up to date. The program has one schema so far: the later ones are these
//! tests' own.

use rusqlite::Connection;

use super::{Place, all, told};
use crate::StoreError;
use crate::ports::Journal as _;
use crate::sqlite::connect::SCHEMA;
use crate::sqlite::{OpenOptions, SqliteStore};

const LATER: &[&str] = &[
    SCHEMA[0],
    "ALTER TABLE sessions ADD COLUMN colour TEXT; UPDATE sessions SET colour = 'blue'",
    "CREATE TABLE counted (entries INTEGER NOT NULL) STRICT; INSERT INTO counted SELECT count(*) FROM entries",
];
/// Its last migration fails after it has changed something.
const BROKEN: &[&str] = &[SCHEMA[0], LATER[1], "DROP TABLE faults; INSERT INTO nowhere VALUES (1)"];

const READ_ONLY: OpenOptions = OpenOptions { read_only: true };

fn open(
    place: &Place,
    options: OpenOptions,
    schema: &'static [&'static str],
) -> Result<SqliteStore, StoreError> {
    SqliteStore::open_blocking(&place.path(), options, schema)
}

fn number(place: &Place, query: &str) -> rusqlite::Result<i64> {
    Connection::open(place.path()).unwrap().query_row(query, [], |row| row.get(0))
}

/// `N-C13`: a reader of a file of an older schema gets its age and how it is upgraded, and changes nothing.
#[tokio::test]
async fn an_older_file_is_brought_up_to_date_by_opening_it_for_writing() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_old", 2).await;
    store.close().await;

    let error = open(&place, READ_ONLY, LATER).err().unwrap();
    assert_eq!(error, StoreError::Older { path: place.path(), found: 1, known: 3 });
    let shown = error.to_string();
    assert!(shown.contains("older Rewake (schema 1; this one reads 3)"), "{shown}");
    assert!(shown.contains("Any command that writes upgrades it"), "{shown}");
    assert_eq!(number(&place, "SELECT user_version FROM pragma_user_version"), Ok(1), "it was not touched");

    let store = open(&place, OpenOptions::default(), LATER).unwrap();
    assert_eq!(all(&store, &tale).await.len(), 8);
    store.append(tale.append(1)).await.unwrap();
    store.close().await;
    assert_eq!(number(&place, "SELECT entries FROM counted"), Ok(8));
    assert_eq!(number(&place, "SELECT count(*) FROM sessions WHERE colour = 'blue'"), Ok(1));

    let reader = open(&place, READ_ONLY, LATER).unwrap();
    assert_eq!(all(&reader, &tale).await.len(), 9);
    reader.close().await;
    // Each migration runs once.
    open(&place, OpenOptions::default(), LATER).unwrap().close().await;
    assert_eq!(number(&place, "SELECT count(*) FROM counted"), Ok(1));
    for options in [READ_ONLY, OpenOptions::default()] {
        let error = open(&place, options, SCHEMA).err();
        assert_eq!(error, Some(StoreError::Newer { path: place.path(), found: 3, known: 1 }));
    }
}

/// `N-G6`: an older file is compared with its own schema, before a migration runs in it.
#[tokio::test]
async fn an_altered_older_file_is_not_migrated() {
    let place = Place::new();
    place.open().await.close().await;
    let planted = "CREATE TRIGGER planted AFTER UPDATE ON sessions BEGIN DELETE FROM leases; END";
    Connection::open(place.path()).unwrap().execute_batch(planted).unwrap();
    for options in [READ_ONLY, OpenOptions::default()] {
        let error = open(&place, options, LATER).err().unwrap();
        assert!(matches!(&error, StoreError::Altered { what, .. } if what.contains("planted")), "{error}");
    }
    assert_eq!(number(&place, "SELECT user_version FROM pragma_user_version"), Ok(1), "it was not touched");
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_older_schema() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_old", 2).await;
    store.close().await;
    let error = open(&place, OpenOptions::default(), BROKEN).err().unwrap();
    assert!(error.to_string().contains("bringing the schema"), "{error}");
    let store = place.open().await;
    assert_eq!(all(&store, &tale).await.len(), 8);
    store.append(tale.append(1)).await.unwrap();
    store.close().await;
}
