//! What the storage refuses, anyone who asks (journal.md R0).

use rusqlite::Connection;

use super::{Place, told};
use crate::ports::{Blob, Inbox as _, Journal as _};
use crate::sqlite::connect::closed;
use rewake_core::command::Command;
use rewake_wire::Sender;

/// A store with two sessions, an inbox and a blob, and a connection as the host makes them.
async fn prepared(place: &Place) -> Connection {
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 2).await;
    told(&store, "ses_two", 1).await;
    for _ in 0..2 {
        let stop = Command::Stop { reason: "enough".into() };
        store.send(&tale.session, Sender::System, stop, None).await.unwrap();
    }
    let mut append = tale.append(1);
    append.taken = vec![1];
    append.blobs = vec![Blob::of(b"kept".to_vec())];
    store.append(append).await.unwrap();
    store.close().await;
    place.connection()
}

/// Every statement must be refused with these words, and change nothing.
async fn refused(words: &str, statements: &[&str]) {
    let place = Place::new();
    let connection = prepared(&place).await;
    for statement in statements {
        let error = connection.execute_batch(statement).expect_err(statement);
        assert!(error.to_string().contains(words), "{statement}: {error}");
    }
    closed(connection);
    let store = place.open().await;
    let tale = crate::contract::tale::Tale::new("ses_one");
    let records = store.read(&tale.session, 0, 100).await.unwrap();
    assert_eq!(records.len(), 9);
    assert!(records.iter().all(|record| record.payload.is_some()));
    store.close().await;
}

const ROW: &str = "id, session, seq, epoch, 'forged', version, turn, step, ordinal, use_index, at, actor, \
                   payload_digest, hash FROM entries WHERE id = 1";

/// B01, B25, B43: the storage refuses every UPDATE of an entry.
#[tokio::test]
async fn entries_are_never_changed() {
    refused(
        "an entry is never changed",
        &[
            "UPDATE entries SET kind = 'forged'",
            "UPDATE entries SET kind = kind WHERE id = 1",
            "UPDATE OR IGNORE entries SET epoch = 9",
            "UPDATE OR REPLACE entries SET id = 2 WHERE id = 1",
            "INSERT INTO entries SELECT * FROM entries WHERE id = 1 ON CONFLICT DO UPDATE SET kind = 'forged'",
        ],
    )
    .await;
}

/// B01: the storage refuses DELETE and REPLACE of an unsealed entry.
#[tokio::test]
async fn entries_are_never_deleted_nor_replaced() {
    let replace = format!("REPLACE INTO entries SELECT {ROW}");
    let or_replace = format!("INSERT OR REPLACE INTO entries SELECT {ROW}");
    let other_id = format!("INSERT OR REPLACE INTO entries SELECT 999, {}", ROW.replacen("id, ", "", 1));
    refused(
        "an entry that is not sealed is never deleted",
        &[
            "DELETE FROM entries",
            "DELETE FROM entries WHERE id = 1",
            &replace,
            &or_replace,
            &other_id,
            "DELETE FROM entries WHERE session = 2 AND seq = 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn payloads_are_never_changed_nor_replaced() {
    refused("a payload is never changed", &["UPDATE payloads SET bytes = x'00'"]).await;
    refused(
        "a payload is deleted only if its entry is sealed or named by a tombstone",
        &[
            "DELETE FROM payloads",
            "REPLACE INTO payloads (entry, salt, bytes) VALUES (1, zeroblob(16), x'00')",
            "INSERT OR REPLACE INTO payloads (entry, salt, bytes) VALUES (1, zeroblob(16), x'00')",
            "INSERT INTO tombstones SELECT session, 2, 3 FROM entries WHERE id = 1; \
             DELETE FROM payloads WHERE entry = 1",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_allows_deletion_only_grows() {
    refused(
        "epoch, head and sealed_through only grow",
        &[
            "UPDATE sessions SET sealed_through = -1",
            "UPDATE sessions SET epoch = -1",
            "UPDATE sessions SET head_seq = 1",
        ],
    )
    .await;
    refused(
        "a tombstone is never deleted",
        &["INSERT INTO tombstones VALUES (1, 1, 2); DELETE FROM tombstones"],
    )
    .await;
    refused(
        "a tombstone is named by an entry of its session",
        &["INSERT INTO tombstones VALUES (1, 1, 1000)", "INSERT INTO tombstones VALUES (2, 1, 9)"],
    )
    .await;
    refused("CHECK constraint", &["INSERT INTO tombstones VALUES (1, 2, 2)"]).await;
    refused("a session with entries is not deleted", &["DELETE FROM sessions WHERE id = 1"]).await;
    refused("keeps its id", &["UPDATE sessions SET name = 'ses_other' WHERE id = 1"]).await;
}

#[tokio::test]
async fn rows_of_the_inbox_change_once() {
    refused(
        "a row of the inbox is changed once",
        &[
            "UPDATE inbox SET taken_seq = 5 WHERE n = 1",
            "UPDATE inbox SET taken_seq = NULL WHERE n = 1",
            "UPDATE inbox SET command = '{}' WHERE n = 2",
            "UPDATE inbox SET command = '{}', taken_seq = 9 WHERE n = 2",
            "UPDATE inbox SET target = 1, taken_seq = 9 WHERE n = 2",
        ],
    )
    .await;
    refused(
        "a row of the inbox is never deleted",
        &[
            "DELETE FROM inbox",
            "REPLACE INTO inbox (session, n, sender, command, at) VALUES (1, 2, '\"system\"', '{}', 0)",
        ],
    )
    .await;
}

#[tokio::test]
async fn blobs_in_use_stay() {
    refused("a blob that a session names is not deleted", &["DELETE FROM blobs"]).await;
    refused("a blob is never changed", &["UPDATE blobs SET bytes = x'00'"]).await;
}
