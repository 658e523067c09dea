//! Checks of commands about messages: edits, cancellations, promotions. What is acknowledged has its effect, as
//! their insert sees that the message waits, and taking it in that nothing about it is left.

use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_core::limits;
use rewake_wire::{Part, Sender};

use super::tale::Tale;
use crate::StoreError;
use crate::ports::Store;

fn message(text: &str) -> Command {
    Command::Message { parts: vec![Part::text(text)] }
}

fn edit(target: u64, text: &str) -> Command {
    Command::Edit { target, parts: vec![Part::text(text)] }
}

fn cancel(target: u64) -> Command {
    Command::Cancel { target }
}

fn promote(target: u64) -> Command {
    Command::Promote { target, turn: Some(1) }
}

fn ann() -> Sender {
    Sender::Operator("ann".into())
}

/// A session with so many messages of Ann's.
async fn waiting(store: &dyn Store, id: &str, messages: u64) -> Tale {
    let tale = Tale::new(id);
    store.create(tale.creation()).await.unwrap();
    for n in 1..=messages {
        assert_eq!(send(store, &tale.session, message("x")).await, Ok(n));
    }
    tale
}

async fn send(store: &dyn Store, session: &SessionId, command: Command) -> Result<u64, StoreError> {
    store.send(session, ann(), command, None).await
}

async fn take(store: &dyn Store, tale: &mut Tale, rows: &[u64]) -> Result<(), StoreError> {
    let mut next = tale.clone();
    let mut append = next.append(1);
    append.taken = rows.to_vec();
    store.append(append).await?;
    *tale = next;
    Ok(())
}

fn is_conflict<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Refused(Refusal::Conflict(_))))
}

/// A message that waits can be changed, canceled and promoted; no other.
pub(super) async fn targets(store: &dyn Store) {
    let mut tale = waiting(store, "ses_targets", 3).await;
    let session = tale.session.clone();
    let other = waiting(store, "ses_targets2", 9).await.session;
    assert_eq!(send(store, &other, cancel(9)).await, Ok(10));
    for about in [|n| edit(n, "y"), cancel, promote] {
        for nothing in [0, 9, 10, u64::MAX] {
            let refused = send(store, &session, about(nothing)).await;
            assert!(matches!(refused, Err(StoreError::NotFound(_))), "row {nothing}: {refused:?}");
        }
    }
    assert_eq!(send(store, &session, edit(1, "y")).await, Ok(4));
    assert_eq!(send(store, &session, edit(1, "z")).await, Ok(5), "twice");
    assert_eq!(send(store, &session, promote(1)).await, Ok(6));
    for about in [edit(4, "y"), cancel(4), promote(6)] {
        let refused = send(store, &session, about).await;
        assert!(is_conflict(&refused), "no message: {refused:?}");
    }
    let pending = store.pending(&session).await.unwrap();
    assert_eq!(pending[3].command, edit(1, "y"), "the message stays as it was sent");
    assert_eq!(pending[0].command, message("x"));

    take(store, &mut tale, &[1, 4, 5, 6]).await.unwrap();
    for about in [edit(1, "w"), cancel(1), promote(1)] {
        let refused = send(store, &session, about).await;
        assert_eq!(refused, Err(Refusal::Delivered { n: 1 }.into()));
    }

    assert_eq!(send(store, &session, edit(2, "y")).await, Ok(7));
    assert_eq!(send(store, &session, cancel(2)).await, Ok(8), "after an edit");
    for again in 0..2 {
        for about in [edit(2, "w"), cancel(2), promote(2)] {
            let refused = send(store, &session, about).await;
            assert!(is_conflict(&refused), "taken back, and {again} times taken in: {refused:?}");
        }
        if again == 0 {
            take(store, &mut tale, &[7, 8, 2]).await.unwrap();
        }
    }
    assert_eq!(store.pending(&session).await.unwrap().len(), 1);
}

/// An operator's messages are no trigger's to change; and the same key is the same command.
pub(super) async fn senders_and_keys(store: &dyn Store) {
    let tale = waiting(store, "ses_whose", 2).await;
    let session = &tale.session;
    let (trigger, bob) = (Sender::Trigger("daily".into()), Sender::Operator("bob".into()));
    assert_eq!(store.send(session, trigger.clone(), message("mine"), None).await, Ok(3));
    for about in [edit(1, "y"), cancel(1), promote(1)] {
        let refused = store.send(session, trigger.clone(), about, None).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Forbidden(_)))), "{refused:?}");
    }
    assert_eq!(store.send(session, trigger.clone(), edit(3, "y"), None).await, Ok(4));
    assert_eq!(store.send(session, bob.clone(), edit(3, "z"), None).await, Ok(5));

    let keyed = |command: Command| store.send(session, bob.clone(), command, Some("k".into()));
    assert_eq!(keyed(edit(1, "y")).await, Ok(6));
    assert_eq!(keyed(edit(1, "y")).await, Ok(6));
    assert!(is_conflict(&keyed(edit(1, "z")).await));
    assert_eq!(send(store, session, cancel(1)).await, Ok(7));
    assert_eq!(keyed(edit(1, "y")).await, Ok(6), "what was acknowledged is acknowledged again");
    assert_eq!(store.through(session).await, Ok(7));
    for _ in 0..limits::INBOX_CONTROLS_MAX {
        send(store, session, edit(2, "y")).await.unwrap();
    }
    let refused = send(store, session, edit(2, "y")).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Limit { .. }))), "{refused:?}");
    send(store, session, cancel(2)).await.expect("it has room of its own");
}

/// Who takes a message in accepts what is about it, or nothing.
pub(super) async fn nothing_about_it_is_left(store: &dyn Store) {
    let mut tale = waiting(store, "ses_about", 3).await;
    let session = tale.session.clone();
    for about in [edit(2, "y"), promote(2)] {
        let n = send(store, &session, about).await.unwrap();
        let refused = take(store, &mut tale, &[1, 2]).await;
        assert_eq!(refused, Err(StoreError::RowChanged { session: session.clone(), n: 2 }));
        assert_eq!(store.head(&session).await.unwrap(), Some(tale.head), "nothing of it was written");
        take(store, &mut tale, &[n]).await.expect("what is about it comes first, or with it");
    }
    let late = send(store, &session, edit(2, "z")).await.unwrap();
    take(store, &mut tale, &[1]).await.expect("it is about another one");
    take(store, &mut tale, &[late, 2]).await.expect("with it");
    let cancellation = send(store, &session, cancel(3)).await.unwrap();
    let refused = take(store, &mut tale, &[3]).await;
    assert_eq!(refused, Err(StoreError::RowChanged { session: session.clone(), n: 3 }));
    take(store, &mut tale, &[3, cancellation]).await.unwrap();
    assert_eq!(store.pending(&session).await.unwrap(), []);
}
