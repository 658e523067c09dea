//! Checks of the inbox's port, and of taking its rows in.

use rewake_core::Refusal;
use rewake_core::command::{Command, Row};
use rewake_core::limits;
use rewake_wire::{Part, Sender, Status};

use super::tale::Tale;
use crate::StoreError;
use crate::ports::{Arrivals, Store};

fn message(text: &str) -> Command {
    Command::Message { parts: vec![Part::text(text)] }
}

fn operator(name: &str) -> Sender {
    Sender::Operator(name.into())
}

/// A row is in one entry, or in none.
pub(super) async fn rows_are_taken_once(store: &dyn Store) {
    let mut tale = Tale::new("ses_rows");
    let session = tale.session.clone();
    assert!(matches!(store.pending(&session).await, Err(StoreError::NotFound(_))));
    assert!(matches!(
        store.send(&session, operator("a"), message("x"), None).await,
        Err(StoreError::NotFound(_))
    ));
    store.create(tale.creation()).await.unwrap();
    assert_eq!((store.pending(&session).await.unwrap(), store.through(&session).await.unwrap()), (vec![], 0));
    let none = store.arrivals(u64::MAX).await.unwrap();
    assert_eq!(none.sessions, []);
    for n in 1..=4 {
        let command = message(&format!("number {n}"));
        assert_eq!(store.send(&session, operator("a"), command, None).await.unwrap(), n);
    }
    let row = |n: u64| Row { n, sender: operator("a"), command: message(&format!("number {n}")) };
    assert_eq!(store.pending(&session).await.unwrap(), [1, 2, 3, 4].map(row));
    let four = store.arrivals(none.newest).await.unwrap();
    assert!(four.newest >= none.newest + 4, "{four:?} after {none:?}");
    assert_eq!(four.sessions, std::slice::from_ref(&session));
    let no_more = Arrivals { newest: four.newest, sessions: vec![] };
    assert_eq!(store.arrivals(four.newest).await.unwrap(), no_more);

    let mut append = tale.append(2);
    append.taken = vec![4, 2];
    store.append(append).await.unwrap();
    assert_eq!(store.pending(&session).await.unwrap(), [1, 3].map(row));
    assert_eq!(store.through(&session).await.unwrap(), 4);

    for (taken, bad) in [(vec![1, 2], 2), (vec![1, 9], 9), (vec![3, 3], 3)] {
        let mut append = tale.clone().append(1);
        append.taken = taken;
        let refused = store.append(append).await;
        assert_eq!(refused, Err(StoreError::RowTaken { session: session.clone(), n: bad }));
        assert_eq!(store.pending(&session).await.unwrap(), [1, 3].map(row), "nothing of it was written");
        assert_eq!(store.head(&session).await.unwrap(), Some(tale.head));
    }
    let mut append = tale.append(1);
    append.taken = vec![1, 3];
    store.append(append).await.unwrap();
    assert_eq!(store.pending(&session).await.unwrap(), []);
}

/// The transaction that ends a session has seen all of its inbox, and nothing comes after it.
pub(super) async fn nothing_is_overlooked_at_the_end(store: &dyn Store) {
    let mut tale = Tale::new("ses_end");
    let session = tale.session.clone();
    store.create(tale.creation()).await.unwrap();
    let mut append = tale.append(1);
    append.inbox_through = Some(0);
    store.append(append).await.expect("an empty inbox ends at 0");
    store.send(&session, operator("a"), message("x"), Some("k".into())).await.unwrap();

    let mut last = Tale { projection: ended(&tale), ..tale.clone() }.append(1);
    last.inbox_through = Some(0);
    let moved = StoreError::InboxMoved { session: session.clone(), expected: 0, found: 1 };
    assert_eq!(store.append(last.clone()).await, Err(moved));
    last.inbox_through = Some(1);
    last.taken = vec![1];
    store.append(last).await.unwrap();

    let refused = store.send(&session, operator("a"), message("x"), None).await;
    assert_eq!(refused, Err(Refusal::Ended { status: "stopped" }.into()));
    let again = store.send(&session, operator("a"), message("x"), Some("k".into())).await;
    assert_eq!(again, Ok(1), "what was acknowledged is acknowledged again");
}

fn ended(tale: &Tale) -> crate::ports::Projection {
    crate::ports::Projection { status: Status::Stopped, ..tale.projection.clone() }
}

/// The same key is the same row.
pub(super) async fn keys(store: &dyn Store) {
    let mut tale = Tale::new("ses_keys");
    let session = tale.session.clone();
    store.create(tale.creation()).await.unwrap();
    let send = |who: &str, text: &str, key: &str| {
        store.send(&session, operator(who), message(text), Some(key.into()))
    };
    let send = |who: &'static str, text: &'static str, key: &'static str| send(who, text, key);
    assert_eq!(send("a", "x", "k").await, Ok(1));
    assert_eq!(send("a", "x", "k").await, Ok(1));
    assert!(matches!(send("a", "y", "k").await, Err(StoreError::Refused(Refusal::Conflict(_)))));
    assert_eq!(send("a", "x", "other").await, Ok(2));
    assert_eq!(send("b", "y", "k").await, Ok(3), "nobody answers for another's key");
    let mut append = tale.append(1);
    append.taken = vec![1];
    store.append(append).await.unwrap();
    assert_eq!(send("a", "x", "k").await, Ok(1), "taken in or not");
    assert_eq!(store.through(&session).await.unwrap(), 3);
    for key in [String::new(), "k".repeat(256)] {
        let refused = store.send(&session, operator("a"), message("x"), Some(key)).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Limit { .. }))));
    }
}

/// Controls have room of their own, whatever the inbox is full of: who has filled it can still answer,
/// interrupt and stop. That room is bounded too, for each sender and kind.
pub(super) async fn controls_have_room(store: &dyn Store) {
    let mut tale = Tale::new("ses_controls");
    let session = tale.session.clone();
    store.create(tale.creation()).await.unwrap();
    for _ in 0..limits::INBOX_ROWS_MAX / 4 {
        store.send(&session, operator("a"), message("x"), None).await.unwrap();
    }
    let controls = [
        Command::Answer { question: "q".into(), value: "1".into() },
        Command::Interrupt { turn: 1 },
        Command::Stop { reason: "enough".into() },
    ];
    for command in &controls {
        for _ in 0..limits::INBOX_CONTROLS_MAX {
            store.send(&session, operator("a"), command.clone(), None).await.unwrap();
        }
        let refused = store.send(&session, operator("a"), command.clone(), None).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Limit { .. }))), "{refused:?}");
        store.send(&session, operator("b"), command.clone(), None).await.expect("another sender's room");
    }
    let refused = store.send(&session, operator("a"), message("x"), None).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Limit { .. }))), "{refused:?}");
    let mut append = tale.append(1);
    append.taken = vec![1, limits::INBOX_ROWS_MAX as u64 / 4 + 1];
    store.append(append).await.unwrap();
    store.send(&session, operator("a"), message("x"), None).await.expect("one message was taken in");
    store.send(&session, operator("a"), controls[0].clone(), None).await.expect("one answer was taken in");
}

/// An inbox is bounded, and so is each sender's part of it.
pub(super) async fn limits(store: &dyn Store) {
    let mut tale = Tale::new("ses_limits");
    let session = tale.session.clone();
    store.create(tale.creation()).await.unwrap();
    let bad = store.send(&session, operator("a"), message(""), None).await;
    assert!(matches!(bad, Err(StoreError::Refused(Refusal::Conflict(_)))));

    let quarter = limits::INBOX_ROWS_MAX / 4;
    for sender in ["a", "b", "c", "d"] {
        for _ in 0..quarter {
            store.send(&session, operator(sender), message("x"), None).await.unwrap();
        }
        let refused = store.send(&session, operator(sender), message("x"), None).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Limit { .. }))), "{refused:?}");
    }
    let full = store.send(&session, operator("e"), message("x"), None).await;
    assert!(matches!(full, Err(StoreError::Refused(Refusal::Limit { .. }))), "{full:?}");
    let mut append = tale.append(1);
    append.taken = vec![1];
    store.append(append).await.unwrap();
    assert_eq!(store.send(&session, operator("e"), message("x"), None).await, Ok(1_001));
}
