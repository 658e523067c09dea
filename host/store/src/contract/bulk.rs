//! Checks of the ports of states, snapshots, blobs and bundles.

use rewake_core::ids::Digest;

use super::tale::Tale;
use crate::StoreError;
use crate::ports::{Append, Blob, Bundle, SavedState, Snapshot, Store};

fn saved(tale: &mut Tale, text: &str) -> (Digest, Append) {
    let mut append = tale.append(1);
    let bytes = text.as_bytes().to_vec();
    let digest = Digest::of(&bytes);
    append.state = Some(SavedState { version: 3, digest, bytes, step_seq: tale.head.seq });
    (digest, append)
}

/// The last two states are kept, and those that snapshots name.
pub(super) async fn states(store: &dyn Store) {
    let mut tale = Tale::new("ses_states");
    let session = tale.session.clone();
    store.create(tale.creation()).await.unwrap();
    let mut digests = Vec::new();
    for text in ["one", "two", "three"] {
        let (digest, append) = saved(&mut tale, text);
        let wrong = SavedState { bytes: b"else".to_vec(), ..append.state.clone().unwrap() };
        let refused = store.append(Append { state: Some(wrong), ..append.clone() }).await;
        assert!(matches!(refused, Err(StoreError::Corrupt { .. })));
        let state = append.state.clone();
        store.append(append).await.unwrap();
        assert_eq!(store.state(&session, &digest).await.unwrap(), state);
        digests.push(digest);
    }
    assert_eq!(store.state(&session, &digests[0]).await.unwrap(), None);

    let snapshot =
        |seq| Snapshot { seq, hash: tale.head.hash, version: 1, bytes: vec![9], state: Some(digests[1]) };
    let gone = Snapshot { state: Some(digests[0]), ..snapshot(5) };
    assert!(matches!(store.put_snapshot(&session, gone).await, Err(StoreError::NotFound(_))));
    store.put_snapshot(&session, snapshot(5)).await.unwrap();
    // The same as before comes again: it is the newest then, not one more.
    for text in ["four", "three", "five"] {
        let (digest, append) = saved(&mut tale, text);
        store.append(append).await.unwrap();
        digests.push(digest);
    }
    let kept = async |index: usize| store.state(&session, &digests[index]).await.unwrap().is_some();
    assert!(kept(1).await, "a snapshot names it");
    assert!(kept(2).await && kept(5).await, "the last two");
    assert!(!kept(3).await);
}

/// The newest two are kept.
pub(super) async fn snapshots(store: &dyn Store) {
    let tale = Tale::new("ses_snapshots");
    let session = tale.session.clone();
    assert!(matches!(store.newest_snapshot(&session, u64::MAX).await, Err(StoreError::NotFound(_))));
    store.create(tale.creation()).await.unwrap();
    assert_eq!(store.newest_snapshot(&session, u64::MAX).await.unwrap(), None);
    let snapshot = |seq: u64, byte: u8| Snapshot {
        seq,
        hash: Digest::of(&seq.to_le_bytes()),
        version: 2,
        bytes: vec![byte; 10],
        state: None,
    };
    for seq in [10, 20, 30] {
        store.put_snapshot(&session, snapshot(seq, 0)).await.unwrap();
    }
    store.put_snapshot(&session, snapshot(20, 1)).await.expect("one is replaced");
    let newest = async |below: u64| store.newest_snapshot(&session, below).await.unwrap();
    assert_eq!(newest(u64::MAX).await, Some(snapshot(30, 0)));
    assert_eq!(newest(30).await, Some(snapshot(20, 1)));
    assert_eq!(newest(20).await, None, "the third newest is gone");
}

/// Bytes by digest, each project its own.
pub(super) async fn blobs(store: &dyn Store) {
    let mut tale = Tale::new("ses_blobs");
    store.create(tale.creation()).await.unwrap();
    let digest = store.put_blob("default", b"some bytes".to_vec()).await.unwrap();
    assert_eq!(digest, Digest::of(b"some bytes"));
    assert_eq!(store.put_blob("default", b"some bytes".to_vec()).await.unwrap(), digest);
    assert_eq!(store.blob("default", &digest).await.unwrap().as_deref(), Some(&b"some bytes"[..]));
    assert_eq!(store.blob("another", &digest).await.unwrap(), None);

    let mut append = tale.append(1);
    append.blobs = vec![Blob::of(b"some bytes".to_vec()), Blob::of(b"named".to_vec()), Blob::of(vec![])];
    store.append(append.clone()).await.unwrap();
    for blob in append.blobs {
        assert_eq!(store.blob("default", &blob.digest).await.unwrap(), Some(blob.bytes));
    }
    let mut fenced = Tale { epoch: 5, ..tale.clone() }.append(1);
    fenced.blobs = vec![Blob::of(b"never".to_vec())];
    assert!(store.append(fenced).await.is_err());
    assert_eq!(store.blob("default", &Digest::of(b"never")).await.unwrap(), None);
}

/// Bundles come back whole.
pub(super) async fn bundles(store: &dyn Store) {
    let files = vec![("a.wasm".to_owned(), vec![0, 1]), ("b/c.txt".to_owned(), vec![0, 1])];
    let one = Bundle { digest: Digest::of(b"1"), name: "x/one".into(), version: "1.0.0".into(), files };
    let mut two = Bundle { digest: Digest::of(b"2"), version: "2.0.0".into(), ..one.clone() };
    two.files.push(("d".into(), vec![]));
    assert_eq!(store.bundle(&one.digest).await.unwrap(), None);
    for bundle in [&one, &two, &one] {
        store.put_bundle(bundle.clone()).await.unwrap();
    }
    assert_eq!(store.bundle(&one.digest).await.unwrap(), Some(one.clone()));
    assert_eq!(store.bundle(&two.digest).await.unwrap(), Some(two.clone()));
    let listed = store.list_bundles().await.unwrap();
    let versions: Vec<&str> = listed.iter().map(|bundle| bundle.version.as_str()).collect();
    assert_eq!(versions[..2], ["2.0.0", "1.0.0"]);

    let mut twice = one;
    twice.digest = Digest::of(b"3");
    twice.files.push(("a.wasm".into(), vec![2]));
    assert!(matches!(store.put_bundle(twice).await, Err(StoreError::Corrupt { .. })));
}
