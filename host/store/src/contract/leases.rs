//! Checks of the leases' port.

use rewake_core::ids::HostId;

use super::tale::Tale;
use crate::ports::Store;
use crate::{Position, StoreError};

fn host(id: &str) -> HostId {
    HostId::parse(id).expect("an id")
}

/// Every acquisition has an epoch of its own, which fences what was before.
pub(super) async fn epochs(store: &dyn Store) {
    let mut tale = Tale::new("ses_epochs");
    let session = tale.session.clone();
    let (one, nobody) = (host("host_1"), |_: &HostId| false);
    assert!(matches!(store.acquire(&session, &one, 60_000, &nobody).await, Err(StoreError::NotFound(_))));
    store.create(tale.creation()).await.unwrap();
    assert_eq!(store.holder(&session).await.unwrap(), None);

    let first = store.acquire(&session, &one, 60_000, &nobody).await.unwrap();
    assert_eq!((first.epoch, &first.host), (1, &one));
    assert!(first.expires_at > store.now());
    assert_eq!(store.holder(&session).await.unwrap(), Some(first.clone()));
    let stale = store.append(tale.clone().append(1)).await;
    let found = Position { epoch: 1, seq: 2 };
    let expected = Position { epoch: 0, seq: 2 };
    assert_eq!(stale, Err(StoreError::Fenced { session: session.clone(), expected, found }));
    tale.epoch = 1;
    store.append(tale.append(1)).await.unwrap();

    let renewed = store.renew(&first, 120_000).await.unwrap();
    assert_eq!(renewed.epoch, 1);
    assert!(renewed.expires_at > first.expires_at);

    let second = store.acquire(&session, &one, 60_000, &nobody).await.expect("its own host may");
    assert_eq!(second.epoch, 2);
    assert!(matches!(store.renew(&first, 60_000).await, Err(StoreError::Fenced { .. })));
    store.release(&first).await.expect("what is another's by now is left alone");
    assert_eq!(store.holder(&session).await.unwrap(), Some(second.clone()));
    store.release(&second).await.unwrap();
    assert_eq!(store.holder(&session).await.unwrap(), None);
    assert!(matches!(store.renew(&second, 60_000).await, Err(StoreError::Fenced { .. })));
    let third = store.acquire(&session, &host("host_2"), 60_000, &nobody).await.unwrap();
    assert_eq!(third.epoch, 3);
    assert!(matches!(store.append(tale.append(1)).await, Err(StoreError::Fenced { .. })));
}

/// A lease that ends later than any that is given now was given before the clock went back: it is cut, so
/// that it cannot hold a session for years. Whoever lives renews it in time.
pub(super) async fn cut_if_too_long(store: &dyn Store) {
    const YEAR_MS: u64 = 365 * 24 * 60 * 60 * 1_000;
    let tale = Tale::new("ses_far");
    let session = tale.session.clone();
    let (one, two) = (host("host_1"), host("host_2"));
    store.create(tale.creation()).await.unwrap();
    let far = store.acquire(&session, &one, YEAR_MS, &|_| false).await.unwrap();
    let before = store.now().0;
    let busy = store.acquire(&session, &two, 60_000, &|_| false).await;
    let Err(StoreError::Busy { holder, expires_at, .. }) = busy else { panic!("{busy:?}") };
    let after = store.now().0;
    assert!((before + 60_000..=after + 60_000).contains(&expires_at.0), "{expires_at}");
    let held = store.holder(&session).await.unwrap().unwrap();
    assert_eq!((holder, held.expires_at, held.epoch), (one.clone(), expires_at, far.epoch));
    let busy = store.acquire(&session, &two, 120_000, &|_| false).await;
    assert!(matches!(busy, Err(StoreError::Busy { expires_at: same, .. }) if same == expires_at));
    let renewed = store.renew(&far, 120_000).await.expect("it is still its own");
    assert!(renewed.expires_at > expires_at);
}

/// A lease is another's until it has ended, or until its host is known to be dead.
pub(super) async fn busy_expired_dead(store: &dyn Store) {
    let tale = Tale::new("ses_busy");
    let session = tale.session.clone();
    let (one, two) = (host("host_1"), host("host_2"));
    store.create(tale.creation()).await.unwrap();
    store.acquire(&session, &one, 60_000, &|_| false).await.unwrap();
    let busy = store.acquire(&session, &two, 60_000, &|_| false).await;
    assert!(matches!(busy, Err(StoreError::Busy { holder, .. }) if holder == one));
    assert_eq!(store.holder(&session).await.unwrap().unwrap().host, one);

    // A lease of no length has ended as soon as it is taken.
    let dead = |host: &HostId| host.as_str() == "host_1";
    let ended = store.acquire(&session, &two, 0, &dead).await.expect("its host is dead");
    assert_eq!(ended.epoch, 2);
    let renewed = store.renew(&ended, 0).await.expect("nobody took it since");
    assert_eq!(renewed.epoch, 2);
    let taken = store.acquire(&session, &one, 60_000, &|_| false).await.expect("it has ended");
    assert_eq!(taken.epoch, 3);
    assert!(matches!(store.renew(&renewed, 60_000).await, Err(StoreError::Fenced { .. })));
}
