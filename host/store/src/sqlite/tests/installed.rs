//! What is installed, in the file: the schema before it, and what the storage itself refuses.

use rewake_core::command::Command;
use rewake_core::ids::Digest;
use rewake_wire::{Part, Sender};
use rusqlite::Connection;

use super::{Place, all, told};
use crate::StoreError;
use crate::contract::tale::Tale;
use crate::ports::{Bundle, Bundles as _, Inbox as _, Install, Installs as _, Journal as _};
use crate::sqlite::connect::{Location, closed};
use crate::sqlite::{OpenOptions, SqliteStore};

/// A file as the first version wrote it is brought up to date by whoever opens it to write, and keeps all.
#[tokio::test]
async fn a_file_of_the_first_schema_is_taken_up() {
    let place = Place::new();
    let store = place.open().await;
    let tale = told(&store, "ses_old", 2).await;
    let ann = Sender::Operator("ann".into());
    let hello = Command::Message { parts: vec![Part::text("hello")] };
    store.send(&tale.session, ann.clone(), hello, None).await.unwrap();
    store.close().await;
    // Back to the schema before.
    let connection = Location::for_writing(&place.path()).unwrap().1;
    connection
        .execute_batch(
            "DROP TRIGGER inbox_rows_are_taken_once; DROP INDEX inbox_by_target; \
             ALTER TABLE inbox DROP COLUMN target; \
             CREATE TRIGGER inbox_rows_are_taken_once BEFORE UPDATE ON inbox WHEN OLD.taken_seq IS NOT NULL \
             BEGIN SELECT RAISE(ABORT, 'once'); END; \
             DROP TABLE installed; DROP INDEX bundle_files_by_content; DROP TRIGGER bundles_in_use_stay; \
             PRAGMA user_version = 1",
        )
        .unwrap();
    closed(connection);

    let error = SqliteStore::open(&place.path(), OpenOptions { read_only: true }).await.err().unwrap();
    assert!(error.to_string().contains("open it once for writing"), "{error}");
    let store = place.open().await;
    assert_eq!(all(&store, &tale).await.len(), 8);
    let cancel = Command::Cancel { target: 1 };
    assert_eq!(store.send(&tale.session, ann, cancel, None).await, Ok(2));
    let bundle =
        Bundle { digest: Digest::of(b"b"), name: "a/b".into(), version: "0.1.0".into(), files: vec![] };
    store.put_bundle(bundle).await.unwrap();
    store.install(install()).await.unwrap();
    assert_eq!(store.installed("default").await.unwrap().len(), 1);
    store.close().await;
    let reader = place.read().await;
    assert_eq!(reader.installed("default").await.unwrap().len(), 1);
    assert_eq!(reader.uninstall("default", &Digest::of(b"b")).await, Err(StoreError::ReadOnly));
    reader.close().await;
}

fn install() -> Install {
    Install {
        project: "default".into(),
        digest: Digest::of(b"b"),
        source: "here".into(),
        by: "ann".into(),
        instead_of: None,
    }
}

#[tokio::test]
async fn what_a_session_or_an_installation_names_is_not_deleted() {
    let place = Place::new();
    let store = place.open().await;
    let files = vec![("a".to_owned(), vec![1])];
    let bundle = Bundle { digest: Digest::of(b"b"), name: "a/b".into(), version: "0.1.0".into(), files };
    store.put_bundle(bundle.clone()).await.unwrap();
    store.install(install()).await.unwrap();
    let mut creation = Tale::new("ses_one").creation();
    creation.bundles = vec![bundle.digest];
    store.create(creation).await.unwrap();
    store.close().await;
    let connection = Connection::open(place.path()).unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    for (statement, words) in [
        ("UPDATE installed SET version = '9'", "never changed"),
        ("DELETE FROM bundle_files; DELETE FROM bundles", "a bundle that a session names is not deleted"),
        ("DELETE FROM contents", "FOREIGN KEY"),
    ] {
        let text = format!("BEGIN; {statement}; COMMIT");
        let error = connection.execute_batch(&text).expect_err(statement);
        assert!(error.to_string().contains(words), "{statement}: {error}");
        connection.execute_batch("ROLLBACK").unwrap();
    }
    closed(connection);
    let store = place.open().await;
    assert_eq!(store.bundle(&bundle.digest).await.unwrap(), Some(bundle));
    store.close().await;
}
