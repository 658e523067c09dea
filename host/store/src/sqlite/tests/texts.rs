//! One copy of each text (journal.md R14): what rows hold of it, and that nothing of that is seen from outside.

use rewake_core::ids::Digest;
use serde_json::json;

use super::{Place, all};
use crate::contract::tale::Tale;
use crate::ports::{
    Append, Blob, Blobs as _, Journal as _, SavedState, Snapshot, Snapshots as _, States as _,
};
use crate::sqlite::connect::closed;
use crate::{SqliteStore, StoreError};

const TEXT_BYTES: usize = 100_000;

/// A tale whose payloads hold a text, from its first append on.
fn tale(id: &str) -> (Tale, String) {
    let mut tale = Tale::new(id);
    tale.payload_bytes = TEXT_BYTES;
    (tale, "x".repeat(TEXT_BYTES))
}

fn saved(tale: &Tale, bytes: Vec<u8>) -> SavedState {
    SavedState { version: 1, digest: Digest::of(&bytes), bytes, step_seq: tale.head.seq }
}

/// Bytes of all values of all rows.
fn bytes(place: &Place) -> usize {
    let connection = place.connection();
    let sum = |table: &str, columns: &str| -> usize {
        let query = format!("SELECT coalesce(sum({columns}), 0) FROM {table}");
        connection.query_row(&query, [], |row| row.get(0)).unwrap()
    };
    let all = ["payloads", "blobs", "states", "snapshots"]
        .map(|table| sum(table, "length(bytes) + coalesce(length(texts), 0)"));
    closed(connection);
    all.iter().sum()
}

async fn kept(store: &SqliteStore, tale: &mut Tale, state: Vec<u8>) -> SavedState {
    let mut append = tale.append(1);
    let state = saved(tale, state);
    append.state = Some(state.clone());
    store.append(append).await.unwrap();
    assert_eq!(store.state(&tale.session, &state.digest).await.unwrap(), Some(state.clone()));
    state
}

#[tokio::test]
async fn a_text_is_kept_once_however_many_name_it() {
    let place = Place::new();
    let store = place.open().await;
    let (mut tale, text) = tale("ses_one");
    store.create(tale.creation()).await.unwrap();
    let blob = Blob::of(json!({ "content": [text, text] }).to_string().into_bytes());
    for _ in 0..5 {
        store.append(Append { blobs: vec![blob.clone()], ..tale.append(2) }).await.unwrap();
    }
    let state = json!({ "conversation": [text, "more"] }).to_string().into_bytes();
    kept(&store, &mut tale, state).await;
    let snapshot = Snapshot {
        seq: tale.head.seq,
        hash: tale.head.hash,
        version: 1,
        bytes: json!({ "said": text }).to_string().into_bytes(),
        state: None,
    };
    store.put_snapshot(&tale.session, snapshot.clone()).await.unwrap();
    assert_eq!(store.newest_snapshot(&tale.session, u64::MAX).await.unwrap(), Some(snapshot));
    assert_eq!(store.blob("default", &blob.digest).await.unwrap(), Some(blob.bytes));
    assert_eq!(all(&store, &tale).await.len(), 13);
    store.close().await;
    let bytes = bytes(&place);
    assert!((TEXT_BYTES..TEXT_BYTES + 5_000).contains(&bytes), "{bytes}");
}

/// A state is gone two states later, and so is what it alone says: else texts that no entry names would be kept as
/// long as the session.
#[tokio::test]
async fn a_text_of_a_state_alone_goes_with_the_state() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = Tale::new("ses_one");
    store.create(tale.creation()).await.unwrap();
    for n in 0..5 {
        let notes = format!("{n}{}", "y".repeat(TEXT_BYTES));
        kept(&store, &mut tale, json!({ "notes": notes }).to_string().into_bytes()).await;
    }
    store.close().await;
    let bytes = bytes(&place);
    assert!((2 * TEXT_BYTES..2 * TEXT_BYTES + 5_000).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn what_is_no_json_comes_back_as_it_was() {
    let place = Place::new();
    let store = place.open().await;
    let (mut tale, text) = tale("ses_one");
    store.create(tale.creation()).await.unwrap();
    let long = text.as_str();
    for bytes in [
        format!("\"{long}"),
        format!("{long}\"\\"),
        format!("\\\"{long}\""),
        format!("\"{long}\"\"{long}\"\"\""),
        format!("{long}\"{long}\\\"{long}\"{long}"),
        long.to_owned(),
        String::new(),
    ] {
        let bytes = bytes.into_bytes();
        let blob = Blob::of([b"blob".as_slice(), &bytes].concat());
        store.append(Append { blobs: vec![blob.clone()], ..tale.append(1) }).await.unwrap();
        assert_eq!(store.blob("default", &blob.digest).await.unwrap(), Some(blob.bytes));
        kept(&store, &mut tale, bytes).await;
    }
    store.close().await;
}

#[tokio::test]
async fn a_text_that_is_gone_is_corrupt_and_named() {
    let place = Place::new();
    let store = place.open().await;
    let (mut tale, text) = tale("ses_one");
    store.create(tale.creation()).await.unwrap();
    let state = kept(&store, &mut tale, json!([text]).to_string().into_bytes()).await;
    let blob = Blob::of(json!([text, 1]).to_string().into_bytes());
    store.append(Append { blobs: vec![blob.clone()], ..tale.append(1) }).await.unwrap();
    let snapshot =
        Snapshot { seq: 3, hash: tale.head.hash, version: 1, bytes: state.bytes.clone(), state: None };
    store.put_snapshot(&tale.session, snapshot).await.unwrap();
    store.close().await;
    let connection = place.connection();
    connection.execute_batch("DELETE FROM blob_refs; DELETE FROM blobs WHERE texts IS NULL").unwrap();
    closed(connection);
    let store = place.open().await;
    let session = &tale.session;
    for (error, named) in [
        (store.read(session, 2, 10).await.err(), "entry 3 of ses_one"),
        (store.state(session, &state.digest).await.err(), "the state of ses_one"),
        (store.newest_snapshot(session, u64::MAX).await.err(), "the snapshot of ses_one"),
        (store.blob("default", &blob.digest).await.err(), "blob "),
    ] {
        let error = error.expect(named);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(named) && error.to_string().contains("text"), "{error}");
    }
    // References that lead nowhere are damage, too.
    assert_eq!(store.read(session, 0, 2).await.unwrap().len(), 2);
    store.close().await;
    let connection = place.connection();
    connection
        .execute_batch("UPDATE states SET texts = x'00'; UPDATE snapshots SET texts = zeroblob(37)")
        .unwrap();
    closed(connection);
    let store = place.open().await;
    assert!(matches!(store.state(session, &state.digest).await, Err(StoreError::Corrupt { .. })));
    assert!(matches!(store.newest_snapshot(session, 9).await, Err(StoreError::Corrupt { .. })));
    store.close().await;
}
