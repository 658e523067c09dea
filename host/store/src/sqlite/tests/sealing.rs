//! Sealing and retention as the storage allows them (journal.md R0): in the order that loses nothing, and no further.

use rusqlite::Connection;

use super::{Place, all, told};
use crate::contract::tale::Tale;
use crate::sqlite::connect::closed;

/// Session 1 has the entries 1 to 8.
async fn prepared(place: &Place) -> Connection {
    let store = place.open().await;
    told(&store, "ses_one", 2).await;
    told(&store, "ses_two", 1).await;
    store.close().await;
    place.connection()
}

fn headers(session: i64, first: i64, last: i64) -> String {
    format!(
        "INSERT INTO header_segments SELECT {session}, {first}, {last}, hash, zeroblob(32), x'01' FROM entries \
         WHERE session = {session} AND seq = {last};"
    )
}

fn payloads(session: i64, first: i64, lacks: i64) -> String {
    format!("INSERT INTO payload_segments VALUES ({session}, {first}, {lacks}, zeroblob(32), x'02');")
}

fn sealed(through: i64) -> String {
    format!("UPDATE sessions SET sealed_through = {through} WHERE id = 1;")
}

/// Deletes the payloads of session 1 up to a seq.
fn without_payloads(through: i64) -> String {
    format!(
        "DELETE FROM payloads WHERE entry IN (SELECT id FROM entries WHERE session = 1 AND seq <= {through});"
    )
}

fn without_entries(through: i64) -> String {
    format!("DELETE FROM entries WHERE session = 1 AND seq <= {through};")
}

/// The entries 1 to 4 of session 1, sealed.
fn sealing() -> String {
    headers(1, 1, 4) + &payloads(1, 1, 0) + &sealed(4) + &without_payloads(4) + &without_entries(4)
}

/// Tries a statement in a transaction of its own, after those that prepare it: it must be refused with these words.
fn refused(connection: &Connection, before: &str, statement: &str, words: &str) {
    connection.execute_batch("BEGIN").unwrap();
    connection.execute_batch(before).unwrap_or_else(|error| panic!("{before}: {error}"));
    let error = connection.execute_batch(statement).expect_err(statement);
    assert!(error.to_string().contains(words), "{statement}: {error}");
    connection.execute_batch("ROLLBACK").unwrap();
}

fn count(connection: &Connection, what: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn entries_go_once_segments_hold_them() {
    let place = Place::new();
    let connection = prepared(&place).await;
    let both = headers(1, 1, 4) + &payloads(1, 1, 0);
    let end = "sealed_through is the end of a segment";
    refused(&connection, "", &sealed(4), end);
    refused(&connection, &headers(1, 1, 4), &sealed(4), end);
    refused(&connection, &both, &sealed(3), end);
    refused(&connection, &both, &sealed(5), end);
    let sealed_4 = both.clone() + &sealed(4);
    refused(&connection, &both, &without_payloads(1), "sealed or named by a tombstone");
    refused(&connection, &sealed_4, &without_payloads(5), "sealed or named by a tombstone");
    refused(&connection, &sealed_4, &without_entries(1), "deleted before the entry");
    let no_payloads = sealed_4.clone() + &without_payloads(4);
    refused(&connection, &no_payloads, &without_entries(5), "not sealed");
    refused(&connection, &sealed_4, &sealed(0), "only grow");

    connection.execute_batch(&format!("BEGIN; {} COMMIT", sealing())).expect("in this order it may");
    assert_eq!(count(&connection, "entries WHERE session = 1"), 4);
    assert_eq!(count(&connection, "payloads"), 4 + count(&connection, "entries WHERE session = 2"));
    connection.execute_batch(&(headers(1, 5, 8) + &payloads(1, 5, 0) + &sealed(8))).expect("the next range");
    closed(connection);
}

#[tokio::test]
async fn sealed_headers_stay_as_they_are() {
    let place = Place::new();
    let connection = prepared(&place).await;
    let follow = "a segment begins where the last one ended";
    for (before, statement) in [
        (String::new(), headers(1, 2, 4)),
        (headers(1, 1, 4), headers(1, 6, 8)),
        (headers(1, 1, 4), headers(1, 4, 8)),
        (
            String::new(),
            "INSERT INTO header_segments VALUES (1, 1, 4, zeroblob(32), zeroblob(32), x'')".into(),
        ),
        (
            String::new(),
            "INSERT INTO header_segments VALUES (1, 1, 99, zeroblob(32), zeroblob(32), x'')".into(),
        ),
    ] {
        refused(&connection, &before, &statement, follow);
    }
    connection.execute_batch(&sealing()).unwrap();
    for (statement, words) in [
        ("UPDATE header_segments SET bytes = x''", "are never changed"),
        ("UPDATE OR REPLACE header_segments SET first_seq = 2", "are never changed"),
        ("DELETE FROM header_segments", "are never deleted"),
        ("REPLACE INTO header_segments SELECT * FROM header_segments", follow),
        ("DELETE FROM sessions WHERE id = 1", "a session with entries is not deleted"),
    ] {
        refused(&connection, "", statement, words);
    }
    closed(connection);
}

#[tokio::test]
async fn sealed_payloads_lose_only_what_tombstones_name() {
    let place = Place::new();
    let connection = prepared(&place).await;
    let exactly = "sealed payloads lack exactly those that tombstones name";
    refused(&connection, &headers(1, 1, 4), &payloads(1, 1, 1), exactly);
    let tombstone = "INSERT INTO tombstones VALUES (1, 2, 3);";
    refused(&connection, &(headers(1, 1, 4) + tombstone), &payloads(1, 1, 0), exactly);
    refused(&connection, "", &payloads(1, 1, 0), "FOREIGN KEY");

    connection.execute_batch(&sealing()).unwrap();
    let only = "replaced only to remove those that tombstones name";
    for statement in [
        "UPDATE payload_segments SET bytes = x''",
        "UPDATE payload_segments SET bytes = x'', lacks = 1",
        "UPDATE payload_segments SET lacks = -1",
        "UPDATE payload_segments SET first_seq = 5",
        "UPDATE payload_segments SET session = 2",
    ] {
        refused(&connection, "", statement, only);
    }
    for statement in
        ["DELETE FROM payload_segments", "REPLACE INTO payload_segments SELECT * FROM payload_segments"]
    {
        refused(&connection, "", statement, "sealed payloads are never deleted");
    }
    // The entry that a tombstone names may be sealed; the one that names it is live when it does.
    refused(&connection, "", tombstone, "a tombstone is named by an entry of its session");
    connection.execute_batch("INSERT INTO tombstones VALUES (1, 2, 5), (1, 6, 7)").unwrap();
    refused(&connection, "", "UPDATE payload_segments SET bytes = x'', lacks = 2", only);
    connection
        .execute_batch("UPDATE payload_segments SET bytes = x'', lacks = 1")
        .expect("named in its range");
    refused(&connection, "", "UPDATE payload_segments SET bytes = x'03', lacks = 1", only);
    // Sealing also removes the entry that a tombstone is named by.
    let rest =
        headers(1, 5, 8) + &payloads(1, 5, 1) + &sealed(8) + &without_payloads(8) + &without_entries(8);
    connection.execute_batch(&rest).expect("both ends of a tombstone are sealed");
    assert_eq!((count(&connection, "entries WHERE session = 1"), count(&connection, "tombstones")), (0, 2));
    closed(connection);
}

#[tokio::test]
async fn a_chain_without_a_payload_that_was_removed_verifies() {
    let place = Place::new();
    let connection = prepared(&place).await;
    connection
        .execute_batch(
            "INSERT INTO tombstones VALUES (2, 1, 3); DELETE FROM payloads WHERE entry IN \
             (SELECT id FROM entries WHERE session = 2 AND seq = 1)",
        )
        .expect("a tombstone names it");
    closed(connection);
    let store = place.open().await;
    let mut tale = Tale::new("ses_two");
    tale.append(3);
    let records = all(&store, &tale).await;
    let gone: Vec<bool> = records.iter().map(|record| record.payload.is_none()).collect();
    assert_eq!(gone, [true, false, false, false, false]);
    let mut head = rewake_core::ids::Head::default();
    for record in &records {
        head = rewake_core::codec::verify(&tale.session, head, record).expect("the chain still verifies");
    }
    store.close().await;
}
