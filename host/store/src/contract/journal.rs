//! Checks of the journal's and the sessions' ports.

use rewake_core::ids::{Digest, Head, SessionId};
use rewake_core::limits::BODY_INLINE_BYTES_MAX;
use rewake_wire::{Fault, Status};

use super::tale::Tale;
use crate::ports::{Blob, Bundle, Store};
use crate::{Position, StoreError};

/// A session is created whole, once, and with bundles that are there.
pub(super) async fn creation(store: &dyn Store) {
    let tale = Tale::new("ses_creation");
    assert_eq!(store.head(&tale.session).await.unwrap(), None);
    assert!(matches!(store.read(&tale.session, 0, 10).await, Err(StoreError::NotFound(_))));
    assert!(matches!(store.append(tale.clone().append(1)).await, Err(StoreError::NotFound(_))));

    let digest = Digest::of(b"the bundle of ses_creation");
    let mut new = tale.creation();
    new.bundles = vec![digest, digest];
    assert!(matches!(store.create(new.clone()).await, Err(StoreError::NotFound(_))));
    assert_eq!(store.head(&tale.session).await.unwrap(), None, "nothing of it is left");

    let bundle = Bundle { digest, name: "a/b".into(), version: "1.0.0".into(), files: vec![] };
    store.put_bundle(bundle).await.unwrap();
    store.create(new.clone()).await.unwrap();
    assert_eq!(store.head(&tale.session).await.unwrap(), Some(tale.head));
    assert_eq!(store.read(&tale.session, 0, 10).await.unwrap(), new.records);
    assert_eq!(store.create(new).await, Err(StoreError::Exists(tale.session)));
}

/// What was appended is read back, in pages.
pub(super) async fn appends(store: &dyn Store) {
    let mut tale = Tale::new("ses_appends");
    store.create(tale.creation()).await.unwrap();
    let mut all = tale.creation().records;
    // Around the sizes that a text is padded to, and beyond the largest.
    for count in [1, 2, 3, 5, 7, 64, 300, 600] {
        let append = tale.append(count);
        all.extend(append.records.clone());
        store.append(append).await.unwrap();
        assert_eq!(store.head(&tale.session).await.unwrap(), Some(tale.head));
    }
    assert_eq!(store.read(&tale.session, 0, u32::MAX).await.unwrap(), all);
    assert_eq!(store.read(&tale.session, 2, 3).await.unwrap(), all[2..5]);
    assert_eq!(store.read(&tale.session, tale.head.seq, 3).await.unwrap(), []);
    assert_eq!(store.read(&tale.session, u64::MAX, 3).await.unwrap(), []);
}

/// Records that are no chain are refused before they are queued.
pub(super) async fn broken_records(store: &dyn Store) {
    let mut tale = Tale::new("ses_broken");
    store.create(tale.creation()).await.unwrap();
    let whole = tale.append(3);
    let mut empty = whole.clone();
    empty.records.clear();
    let mut gap = whole.clone();
    gap.records.remove(1);
    let mut late = whole.clone();
    late.records.remove(0);
    let mut changed = whole.clone();
    changed.records[1].payload.as_mut().unwrap().bytes.push(b' ');
    let mut bare = whole.clone();
    bare.records[2].payload = None;
    let mut mixed = whole.clone();
    mixed.epoch = 7;
    let mut blob = whole.clone();
    blob.blobs = vec![Blob { digest: Digest::of(b"a"), bytes: b"b".to_vec() }];
    for broken in [empty, gap, late, changed, bare, mixed, blob] {
        let refused = store.append(broken).await;
        assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{refused:?}");
    }
    store.append(whole).await.unwrap();
}

/// An append under another lease, or to another head, writes nothing.
pub(super) async fn fences(store: &dyn Store) {
    let mut tale = Tale::new("ses_fences");
    store.create(tale.creation()).await.unwrap();
    let first = tale.append(2);
    let at = |epoch, seq| Position { epoch, seq };
    let fenced = |expected, found| {
        Err(StoreError::Fenced { session: SessionId::parse("ses_fences").unwrap(), expected, found })
    };

    let mut stale = Tale { epoch: 1, ..Tale::new("ses_fences") };
    assert_eq!(store.append(stale.append(1)).await, fenced(at(1, 2), at(0, 2)), "another lease");
    let mut early = tale.clone();
    assert_eq!(store.append(early.append(1)).await, fenced(at(0, 4), at(0, 2)), "not yet there");
    store.append(first.clone()).await.unwrap();
    assert_eq!(store.append(first).await, fenced(at(0, 2), at(0, 4)), "twice");
    // The same number with another hash: somebody else's entries.
    let mut other = Tale { payload_bytes: 7, ..Tale::new("ses_fences") };
    other.append(2);
    assert_eq!(store.append(other.append(1)).await, fenced(at(0, 4), at(0, 4)), "another hash");
    assert_eq!(store.head(&tale.session).await.unwrap(), Some(tale.head));
    store.append(tale.append(1)).await.expect("the right one still can");
}

/// Large payloads come back whole.
pub(super) async fn large_payloads(store: &dyn Store) {
    let mut tale = Tale::new("ses_large");
    tale.payload_bytes = BODY_INLINE_BYTES_MAX * 2;
    let mut new = tale.creation();
    new.records = {
        tale.head = Head::default();
        tale.records(2)
    };
    store.create(new.clone()).await.unwrap();
    let append = tale.append(2);
    let mut all = new.records;
    all.extend(append.records.clone());
    store.append(append).await.unwrap();
    assert_eq!(store.read(&tale.session, 0, 10).await.unwrap(), all);
    let payload = all[3].payload.as_ref().unwrap();
    assert!(payload.bytes.len() > BODY_INLINE_BYTES_MAX);
}

/// Lists show what the newest entry's transaction said.
pub(super) async fn projections(store: &dyn Store) {
    let mut tale = Tale::new("ses_projections");
    let later = Tale::new("ses_projections2");
    assert_eq!(store.session(&tale.session).await.unwrap(), None);
    store.create(tale.creation()).await.unwrap();
    store.create(later.creation()).await.unwrap();
    let summary = store.session(&tale.session).await.unwrap().unwrap();
    assert_eq!((summary.status, summary.turns, summary.entries), (Status::Queued, 0, 2));
    assert_eq!((summary.agent.as_str(), summary.title, summary.fault), ("tale", None, None));
    assert_eq!(summary.created_at, "1970-01-01T00:00:01.000Z");

    tale.projection.status = Status::Running;
    tale.projection.title = Some("A tale".into());
    tale.projection.turns = 1;
    store.append(tale.append(3)).await.unwrap();
    let summary = store.session(&tale.session).await.unwrap().unwrap();
    assert_eq!((summary.status, summary.turns, summary.entries), (Status::Running, 1, 5));
    assert_eq!(summary.title.as_deref(), Some("A tale"));
    assert_eq!(summary.created_at, "1970-01-01T00:00:01.000Z");
    assert_eq!(summary.updated_at, "1970-01-01T00:00:01.004Z");

    let page = store.list_sessions(1, None).await.unwrap();
    assert_eq!(page[0].id, "ses_projections2", "the last one created comes first");
    let page = store.list_sessions(1, Some(later.session)).await.unwrap();
    assert_eq!(page, [summary]);
    let nowhere = SessionId::parse("ses_nowhere").unwrap();
    assert!(matches!(store.list_sessions(1, Some(nowhere)).await, Err(StoreError::NotFound(_))));
}

/// Faults stand beside the journal; one of the storage ends with the next append.
pub(super) async fn faults(store: &dyn Store) {
    let mut tale = Tale::new("ses_faults");
    let fault = |reason: &str| Fault {
        reason: reason.into(),
        seq: Some(2),
        expected: "a".into(),
        got: "b".into(),
        field: "c".into(),
        detail: "d".into(),
        host_version: "0".into(),
    };
    assert!(matches!(store.fault(&tale.session).await, Err(StoreError::NotFound(_))));
    store.create(tale.creation()).await.unwrap();
    assert_eq!(store.fault(&tale.session).await.unwrap(), None);
    for (reason, stays) in [("mismatch", true), ("storage", false)] {
        store.set_fault(&tale.session, Some(fault(reason))).await.unwrap();
        assert_eq!(store.fault(&tale.session).await.unwrap(), Some(fault(reason)));
        store.append(tale.append(1)).await.unwrap();
        let summary = store.session(&tale.session).await.unwrap().unwrap();
        assert_eq!(summary.fault, stays.then(|| fault(reason)));
    }
    store.set_fault(&tale.session, Some(fault("mismatch"))).await.unwrap();
    store.set_fault(&tale.session, None).await.unwrap();
    assert_eq!(store.fault(&tale.session).await.unwrap(), None);
}
