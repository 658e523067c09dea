//! Installed bundles in the file: what the storage itself refuses.

use rewake_core::ids::Digest;
use rusqlite::Connection;

use super::Place;
use crate::contract::tale::Tale;
use crate::ports::{Bundle, Bundles as _, Install, Installs as _, Journal as _};
use crate::sqlite::connect::closed;

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
