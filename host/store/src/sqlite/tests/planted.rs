//! A file from elsewhere, with objects in it that SQLite would run for those who open it, or with values that take all
//! memory. It is refused by name before anything of it is run.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::{Place, all, told};
use crate::StoreError;
use crate::ports::{Journal as _, Sessions as _};
use crate::sqlite::{OpenOptions, SqliteStore};

/// Changes a file past all guards.
fn alter(place: &Place, statements: &str) {
    let connection = Connection::open(place.path()).unwrap();
    connection.execute_batch(statements).unwrap();
    connection.close().unwrap();
}

/// Puts a row into the schema's table, as somebody does who writes the file's bytes.
fn plant(kind: &str, name: &str, table: &str, root: u32, text: &str) -> String {
    format!(
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('{kind}', '{name}', '{table}', {root}, '{text}')"
    )
}

/// `N-G6`: a foreign trigger, view, table or index, a changed trigger and a missing one: opening the file says which
/// object it is, to readers and to writers, and leaves the file as it is.
#[tokio::test]
async fn an_altered_schema_is_refused_by_the_name_of_its_object() {
    let place = Place::new();
    let store = place.open().await;
    told(&store, "ses_one", 2).await;
    store.close().await;
    let whole = std::fs::read(place.path()).unwrap();

    let answers = "CREATE TRIGGER answers AFTER INSERT ON entries BEGIN \
                   INSERT INTO inbox (session, n, sender, command, at) \
                   SELECT NEW.session, 1, '\"system\"', '{\"type\":\"answer\"}', 0; END";
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*), 1 FROM n";
    let guard = "DROP TRIGGER entries_are_not_changed;";
    let looser = format!(
        "{guard} CREATE TRIGGER entries_are_not_changed BEFORE UPDATE ON entries BEGIN SELECT 1; END"
    );
    for (statements, what) in [
        (answers, r#"the trigger "answers" is not Rewake's"#),
        (&format!("CREATE VIEW endless AS {endless}"), r#"the view "endless" is not Rewake's"#),
        // The names of what a check could be written with.
        (
            &format!("CREATE VIEW pragma_user_version AS {endless}"),
            r#"the view "pragma_user_version" is not"#,
        ),
        (
            &format!("DROP TABLE faults; CREATE VIEW faults AS {endless}"),
            r#"the view "faults" is not Rewake's"#,
        ),
        ("CREATE TABLE asserts (holds INTEGER)", r#"the table "asserts" is not Rewake's"#),
        ("CREATE INDEX faster ON inbox (at)", r#"the index "faster" is not Rewake's"#),
        ("ANALYZE", r#"the table "sqlite_stat1" is not Rewake's"#),
        (guard, r#"the trigger "entries_are_not_changed" is missing"#),
        (&looser, r#"the trigger "entries_are_not_changed" was changed"#),
        ("ALTER TABLE faults ADD COLUMN more TEXT", r#"the table "faults" was changed"#),
        (
            &plant(
                "trigger",
                "sqlite_answers",
                "leases",
                0,
                "CREATE TRIGGER sqlite_answers AFTER INSERT ON leases BEGIN DELETE FROM leases; END",
            ),
            r#"the trigger "sqlite_answers" is not Rewake's"#,
        ),
        ("CREATE TABLE \"a\x1b[2J\u{202e}b\" (x)", r#"the table "a\u{1b}[2J\u{202e}b" is not Rewake's"#),
    ] {
        std::fs::write(place.path(), &whole).unwrap();
        alter(&place, statements);
        let altered = std::fs::read(place.path()).unwrap();
        assert_ne!(altered, whole, "{statements}");
        for read_only in [true, false] {
            let begun = Instant::now();
            let error =
                SqliteStore::open(&place.path(), OpenOptions { read_only }).await.err().expect(statements);
            assert!(matches!(error, StoreError::Altered { .. }), "{statements}: {error}");
            let shown = error.to_string();
            assert!(shown.contains(what) && shown.contains(&*place.path().to_string_lossy()), "{shown}");
            assert!(shown.contains("Take the file from a copy that you trust"), "{shown}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{statements}");
        }
        assert!(std::fs::read(place.path()).unwrap() == altered, "{statements}: the file was touched");
    }
    // What SQLite cannot read as a schema is refused by SQLite, which names it too.
    std::fs::write(place.path(), &whole).unwrap();
    alter(
        &place,
        &plant("view", "sqlite_master", "sqlite_master", 0, "CREATE VIEW sqlite_master AS SELECT 1"),
    );
    let error = SqliteStore::open(&place.path(), OpenOptions { read_only: true }).await.err().unwrap();
    assert!(error.to_string().contains("sqlite_master"), "{error}");
}

/// `N-G6`: what SQLite's own tools do to a whole store leaves it one.
#[tokio::test]
async fn a_store_that_was_vacuumed_or_copied_still_opens() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 2).await;
    store.close().await;
    let copy = Place::new();
    std::fs::create_dir(copy.path().parent().unwrap()).unwrap();
    alter(
        &place,
        &format!("PRAGMA journal_mode = DELETE; VACUUM; REINDEX; VACUUM INTO '{}'", copy.path().display()),
    );
    for place in [&place, &copy] {
        let reader = place.read().await;
        assert_eq!(all(&reader, &tale).await.len(), 8);
        reader.close().await;
    }
    let next = tale.append(1);
    for place in [&place, &copy] {
        let store = place.open().await;
        store.append(next.clone()).await.unwrap();
        store.close().await;
    }
}

/// `N-G6`: a reading that would never end is ended, and one of the whole file is not bounded by it.
#[tokio::test]
async fn an_endless_reading_is_ended() {
    let place = Place::new();
    let store = place.open().await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let read = store.shared.readers.read_within(1 << 20, "numbers", |connection| {
        Ok(connection.query_row(endless, [], |row| row.get::<_, u64>(0))?)
    });
    let error = read.await.unwrap_err();
    assert!(error.to_string().contains("more steps than any reading"), "{error}");
    assert_eq!(store.check_file().await.unwrap(), Vec::<String>::new(), "the connection is used again");
    store.close().await;
}

/// `N-G6`: a connection of the host runs no view and does not write the schema's table, should the file be altered
/// while it is open.
#[tokio::test]
async fn no_connection_runs_a_view_or_writes_the_schema() {
    let place = Place::new();
    let connection = place.connection();
    connection.execute_batch("CREATE VIEW seen AS SELECT 1").unwrap();
    assert!(connection.query_row("SELECT * FROM seen", [], |_| Ok(())).is_err());
    let planted = plant("view", "more", "more", 0, "CREATE VIEW more AS SELECT 1");
    assert!(connection.execute_batch(&planted).is_err());
}

/// `N-G15`: a payload or a text that no host wrote is not read; what else the store holds is.
#[tokio::test]
async fn a_value_that_is_too_long_is_not_read() {
    let place = Place::new();
    let store = place.open().await;
    let one = told(&store, "ses_one", 1).await;
    let mut two = told(&store, "ses_two", 0).await;
    two.payload_bytes = 5_000;
    store.append(two.append(1)).await.unwrap();
    store.close().await;
    for (table, change) in [
        ("payloads", "UPDATE payloads SET bytes = zeroblob(300000000) WHERE entry = 3"),
        ("payloads", "UPDATE payloads SET bytes = zeroblob(40000000) WHERE entry = 3"),
        ("blobs", "UPDATE blobs SET bytes = zeroblob(40000000)"),
        ("blobs", "UPDATE blobs SET bytes = zeroblob(33554432)"),
    ] {
        let whole = std::fs::read(place.path()).unwrap();
        let tamper = crate::tamper::Tamper::open(&place.path()).unwrap();
        tamper.change(change).unwrap();
        tamper.close().unwrap();
        let store = place.read().await;
        let (hit, other) = if table == "blobs" { (&two, &one) } else { (&one, &two) };
        let error = store.read(&hit.session, 0, 100).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{change}: {error}");
        let shown = error.to_string();
        assert!(shown.contains("entry 3 of ses_") && shown.contains("more than 33554432 bytes"), "{shown}");
        all(&store, other).await;
        store.close().await;
        std::fs::write(place.path(), whole).unwrap();
    }
    // A value of any other column.
    alter(&place, "UPDATE sessions SET title = hex(zeroblob(150000000)) WHERE name = 'ses_one'");
    let store = place.read().await;
    let error = store.session(&one.session).await.unwrap_err();
    assert!(error.to_string().contains("larger than 268435456 bytes"), "{error}");
    assert!(store.session(&two.session).await.unwrap().is_some());
    store.close().await;
}
