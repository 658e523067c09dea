//! How appends share commits, and how one that fails leaves the others alone.

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use rusqlite::Connection;

use super::{Place, all, hold, told};
use crate::StoreError;
use crate::contract::tale::Tale;
use crate::ports::{Append, Inbox as _, Journal as _, Leases as _};
use crate::sqlite::SqliteStore;
use crate::sqlite::job::{Operation, Stop};
use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::ids::HostId;
use rewake_wire::{Part, Sender};

async fn sessions(store: &SqliteStore, count: usize) -> Vec<Tale> {
    let mut tales = Vec::new();
    for index in 0..count {
        tales.push(told(store, &format!("ses_{index}"), 1).await);
    }
    tales
}

/// Queues all before the writer takes the first; tells in how many commits they were.
async fn at_once(store: &SqliteStore, appends: Vec<Append>) -> (Vec<crate::Result<()>>, u64) {
    let (before, held) = (store.commits() + 1, hold(store).await);
    let outcomes = join_all(appends.into_iter().map(|append| store.append(append)));
    let (outcomes, ()) = tokio::join!(biased; outcomes, async { drop(held) });
    (outcomes, store.commits() - before)
}

#[tokio::test]
async fn what_is_queued_together_is_committed_together() {
    let place = Place::new();
    let store = place.open().await;
    let mut tales = sessions(&store, 100).await;
    let (outcomes, commits) = at_once(&store, tales.iter_mut().map(|tale| tale.append(3)).collect()).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(commits, 1);
    for tale in &tales {
        assert_eq!(all(&store, tale).await.len(), 8);
    }
    // More entries than one group may have.
    let (outcomes, commits) = at_once(&store, tales.iter_mut().map(|tale| tale.append(30)).collect()).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert!((2..10).contains(&commits), "{commits}");
    for tale in &tales {
        assert_eq!(all(&store, tale).await.len(), 38);
    }
    store.close().await;
}

#[tokio::test]
async fn appends_of_one_session_follow_each_other() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 0).await;
    let (outcomes, commits) = at_once(&store, (0..5).map(|_| tale.append(2)).collect()).await;
    assert_eq!((outcomes, commits), (vec![Ok(()); 5], 1));
    assert_eq!(all(&store, &tale).await.len(), 12);
    // One that is refused, and what was to follow it, leave what was before them.
    let mut appends: Vec<Append> = (0..4).map(|_| tale.append(1)).collect();
    appends[1].taken = vec![9];
    let (outcomes, commits) = at_once(&store, appends).await;
    assert!(matches!(outcomes[1], Err(StoreError::RowTaken { n: 9, .. })), "{outcomes:?}");
    assert_eq!((&outcomes[0], commits), (&Ok(()), 1));
    assert!(outcomes[2..].iter().all(|one| matches!(one, Err(StoreError::Fenced { .. }))), "{outcomes:?}");
    assert_eq!(store.head(&tale.session).await.unwrap().map(|head| head.seq), Some(13));
    store.close().await;
}

#[tokio::test]
async fn who_is_fenced_hurts_nobody_else() {
    let place = Place::new();
    let store = place.open().await;
    let mut tales = sessions(&store, 20).await;
    let host = HostId::parse("host_other").unwrap();
    store.acquire(&tales[3].session, &host, 60_000, &|_| false).await.unwrap();
    store.append(tales[7].clone().append(1)).await.unwrap();
    let mut appends: Vec<Append> = tales.iter_mut().map(|tale| tale.append(3)).collect();
    appends[11].taken = vec![1];
    appends[13].inbox_through = Some(4);
    let (outcomes, commits) = at_once(&store, appends).await;
    assert_eq!(commits, 1, "the others share one commit still");
    for (index, (outcome, tale)) in outcomes.iter().zip(&tales).enumerate() {
        match index {
            3 | 7 => assert!(matches!(outcome, Err(StoreError::Fenced { .. })), "{outcome:?}"),
            11 => assert!(matches!(outcome, Err(StoreError::RowTaken { n: 1, .. })), "{outcome:?}"),
            13 => assert!(matches!(outcome, Err(StoreError::InboxMoved { found: 0, .. })), "{outcome:?}"),
            _ => assert_eq!((outcome, all(&store, tale).await.len()), (&Ok(()), 8)),
        }
    }
    store.close().await;
}

/// An edit and the append that takes its message in meet in one transaction: the later of them is told no.
#[tokio::test]
async fn an_edit_and_the_taking_of_its_message_share_a_commit_and_do_not_pass_each_other() {
    for is_edit_first in [true, false] {
        let place = Place::new();
        let store = place.open().await;
        let mut tales = sessions(&store, 5).await;
        let ann = Sender::Operator("ann".into());
        let parts = |text: &str| vec![Part::text(text)];
        for tale in &tales {
            let message = Command::Message { parts: parts("x") };
            store.send(&tale.session, ann.clone(), message, None).await.unwrap();
        }
        let mut appends: Vec<Append> = tales.clone().iter_mut().map(|tale| tale.append(2)).collect();
        appends.iter_mut().for_each(|append| append.taken = vec![1]);
        let (before, held) = (store.commits() + 1, hold(&store).await);
        let edit = store.send(&tales[2].session, ann, Command::Edit { target: 1, parts: parts("y") }, None);
        let appends = join_all(appends.into_iter().map(|append| store.append(append)));
        let (edited, outcomes) = if is_edit_first {
            let (edited, outcomes, ()) = tokio::join!(biased; edit, appends, async { drop(held) });
            (edited, outcomes)
        } else {
            let (outcomes, edited, ()) = tokio::join!(biased; appends, edit, async { drop(held) });
            (edited, outcomes)
        };
        assert_eq!(store.commits() - before, 1);
        for (index, outcome) in outcomes.iter().enumerate() {
            if index == 2 && is_edit_first {
                assert!(matches!(outcome, Err(StoreError::RowChanged { n: 1, .. })), "{outcome:?}");
            } else {
                assert_eq!(*outcome, Ok(()), "{index}");
            }
        }
        if is_edit_first {
            assert_eq!(edited, Ok(2));
            // Now with it.
            let mut append = tales[2].append(2);
            append.taken = vec![2, 1];
            store.append(append).await.unwrap();
        } else {
            assert_eq!(edited, Err(Refusal::Delivered { n: 1 }.into()));
        }
        store.close().await;
    }
}

#[tokio::test]
async fn what_its_caller_dropped_is_withdrawn() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 1).await;
    let before = tale.head;
    let held = hold(&store).await;
    let mut append = store.append(tale.append(1));
    assert!((&mut append).now_or_never().is_none(), "it is queued");
    drop(append);
    drop(held);
    told(&store, "ses_two", 1).await;
    assert_eq!(store.head(&tale.session).await.unwrap(), Some(before));
    store.close().await;
}

/// A bug within a transaction ends the writer: who waits is told that nothing is known, and the file is there for others.
#[tokio::test]
async fn a_writer_that_breaks_off_leaves_the_file_to_others() {
    struct Broken;
    impl Operation for Broken {
        type Output = ();

        fn run(&self, _: &Connection) -> Result<(), Stop> {
            panic!("a bug");
        }
    }
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 1).await;
    let held = hold(&store).await;
    let next = tale.append(1);
    let (written, broken, ()) =
        tokio::join!(biased; store.append(next.clone()), store.ask(Broken), async { drop(held) });
    assert!(matches!(written, Err(StoreError::Unknown(_))), "{written:?}");
    assert!(matches!(broken, Err(StoreError::Unknown(_))), "{broken:?}");
    assert!(store.append(next.clone()).await.is_err());
    let other = place.open().await;
    other.append(next).await.expect("nothing of it was written, and nothing is locked");
    other.close().await;
}

#[tokio::test]
async fn two_stores_share_a_file() {
    let place = Place::new();
    let (one, two) = (place.open().await, place.open().await);
    let mut first = told(&one, "ses_one", 1).await;
    let mut second = told(&two, "ses_two", 1).await;
    for _ in 0..20 {
        let outcomes = tokio::join!(one.append(first.append(2)), two.append(second.append(3)));
        assert_eq!(outcomes, (Ok(()), Ok(())));
    }
    assert_eq!(all(&two, &first).await.len(), 45);
    assert_eq!(all(&one, &second).await.len(), 65);
    // Who appends to the other's session without a lease is seen.
    one.append(second.clone().append(1)).await.expect("the head is right");
    assert!(matches!(two.append(second.append(1)).await, Err(StoreError::Fenced { .. })));
    one.close().await;
    two.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sessions_side_by_side() {
    let place = Place::new();
    let store = std::sync::Arc::new(place.open().await);
    let tales = sessions(&store, 40).await;
    let before = store.commits();
    let tasks = tales.into_iter().map(|mut tale| {
        let store = std::sync::Arc::clone(&store);
        tokio::spawn(async move {
            for count in 1..=20 {
                store.append(tale.append(count % 4 + 1)).await.unwrap();
            }
            tale
        })
    });
    for tale in join_all(tasks).await {
        assert_eq!(all(&*store, &tale.unwrap()).await.len(), 5 + 50);
    }
    let commits = store.commits() - before;
    assert!(commits < 40 * 20 / 2, "{commits} commits of 800 appends");
    store.close().await;
}
