//! What every store must do, as checks that panic where one does not: the ports' promises, tried. Knows
//! no store.

mod bulk;
mod changes;
mod inbox;
mod installed;
mod journal;
mod leases;
pub(crate) mod tale;
mod vouchers;

use rewake_core::ids::{HostId, Timestamp};

use crate::memory::{Failure, MemoryStore};
use crate::ports::{Journal as _, Leases as _, Store};
use crate::{Position, StoreError};
use tale::Tale;

/// Runs all checks that need nothing but a store. Each makes sessions of its own.
pub(crate) async fn check(store: &dyn Store) {
    journal::creation(store).await;
    journal::appends(store).await;
    journal::broken_records(store).await;
    journal::fences(store).await;
    journal::large_payloads(store).await;
    journal::projections(store).await;
    journal::faults(store).await;
    inbox::rows_are_taken_once(store).await;
    inbox::nothing_is_overlooked_at_the_end(store).await;
    inbox::keys(store).await;
    inbox::limits(store).await;
    inbox::controls_have_room(store).await;
    changes::targets(store).await;
    changes::senders_and_keys(store).await;
    changes::nothing_about_it_is_left(store).await;
    leases::epochs(store).await;
    leases::busy_expired_dead(store).await;
    leases::cut_if_too_long(store).await;
    bulk::states(store).await;
    bulk::snapshots(store).await;
    bulk::blobs(store).await;
    bulk::bundles(store).await;
    installed::names_and_versions(store).await;
    installed::what_goes_and_what_stays(store).await;
    vouchers::are_added(store).await;
}

/// The failures that a store in memory can be told to have.
pub(crate) async fn failures(store: &MemoryStore) {
    let mut tale = Tale::new("ses_failures");
    store.create(tale.creation()).await.unwrap();

    store.fail_next_append(Failure::Fenced);
    store.fail_next_append(Failure::Io);
    store.fail_next_append(Failure::UnknownNotApplied);
    let append = tale.append(1);
    assert!(matches!(store.append(append.clone()).await, Err(StoreError::Fenced { .. })));
    assert!(matches!(store.append(append.clone()).await, Err(StoreError::Io { .. })));
    assert!(matches!(store.append(append.clone()).await, Err(StoreError::Unknown(_))));
    store.append(append).await.expect("nothing of it was written before");

    store.fail_next_append(Failure::UnknownApplied);
    let append = tale.append(1);
    assert!(matches!(store.append(append.clone()).await, Err(StoreError::Unknown(_))));
    assert_eq!(store.head(&tale.session).await.unwrap(), Some(tale.head), "it was written");
    let found = Position { epoch: 0, seq: tale.head.seq };
    assert_eq!(
        store.append(append.clone()).await,
        Err(StoreError::Fenced {
            session: tale.session.clone(),
            expected: Position { epoch: 0, seq: append.expected.seq },
            found,
        }),
        "what came back meets the check of the head"
    );
}

/// Leases end by the store's clock, not by time that passes.
pub(crate) async fn clock(store: &MemoryStore) {
    let tale = Tale::new("ses_clock");
    let (one, other) = (HostId::parse("host_1").unwrap(), HostId::parse("host_2").unwrap());
    store.create(tale.creation()).await.unwrap();
    store.set_now(Timestamp(1_000));
    let lease = store.acquire(&tale.session, &one, 500, &|_| false).await.unwrap();
    assert_eq!((lease.epoch, lease.expires_at), (1, Timestamp(1_500)));
    store.set_now(Timestamp(1_499));
    let busy = store.acquire(&tale.session, &other, 500, &|_| false).await;
    assert!(matches!(busy, Err(StoreError::Busy { holder, .. }) if holder == one));
    store.set_now(Timestamp(1_500));
    assert_eq!(store.acquire(&tale.session, &other, 500, &|_| false).await.unwrap().epoch, 2);
    assert!(matches!(store.renew(&lease, 500).await, Err(StoreError::Fenced { .. })));
}
