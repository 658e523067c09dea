//! A file that is not what was written: a torn log, damaged pages, a file that is gone or another one. What is whole
//! stays readable, what is not is told, and nothing is written where nobody would find it.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use rewake_core::command::Command;
use rewake_wire::Sender;

use super::{Place, all, hold, told};
use crate::StoreError;
use crate::ports::{Inbox as _, Journal as _, Sessions as _, Snapshot, Snapshots as _};
use crate::sqlite::{OpenOptions as Options, SqliteStore};
use crate::tamper::{FRAME_BYTES, LOG_HEAD_BYTES, PAGE_BYTES, Tamper, log_transactions};

/// A copy of a file in use and of its log, made by another process: closing a handle here would release locks.
fn copy(place: &Place, name: &str) -> PathBuf {
    let copy = place.folder.path().join(name);
    let copied = Process::new("cp").arg("-r").arg(place.path().parent().unwrap()).arg(&copy).status();
    assert!(copied.unwrap().success());
    copy.join("rewake.db")
}

fn log_of(path: &Path) -> PathBuf {
    path.with_file_name("rewake.db-wal")
}

fn flip(path: &Path, at: u64, count: usize) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut bytes = vec![0; count];
    file.read_exact_at(&mut bytes, at).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    file.write_all_at(&bytes, at).unwrap();
}

/// A log that is cut at every 500th byte of its last transaction, and changed there: nothing of that one is there,
/// and all of the others, of every session; and each goes on.
#[tokio::test]
async fn of_a_torn_transaction_nothing_is_there_and_of_the_others_all() {
    let place = Place::new();
    let store = place.open().await;
    let other = told(&store, "ses_other", 4).await;
    let mut tale = told(&store, "ses_one", 4).await;
    let before = tale.clone();
    tale.payload_bytes = 5_000;
    store.append(tale.append(3)).await.unwrap();
    let whole = copy(&place, "whole");
    store.close().await;
    let transactions = log_transactions(&log_of(&whole)).unwrap();
    let (ends, before_it) = transactions.split_last().unwrap();
    let (begins, ends) = (*before_it.last().unwrap_or(&LOG_HEAD_BYTES), *ends);
    assert!(ends >= begins + 6 * FRAME_BYTES, "it is {begins} to {ends}");

    let files = [whole.clone(), log_of(&whole)].map(|file| std::fs::read(file).unwrap());
    let torn = place.folder.path().join("torn");
    std::fs::create_dir(&torn).unwrap();
    let path = torn.join("rewake.db");
    let cuts = (begins..ends).step_by(500).map(|at| (at, None));
    let flips = [begins + 3, begins + 12, begins + 20, begins + 2_000, ends - FRAME_BYTES + 5, ends - 1];
    for (at, flipped) in cuts.chain(flips.map(|at| (ends, Some(at)))) {
        let _ = std::fs::remove_file(torn.join("rewake.db-shm"));
        std::fs::write(&path, &files[0]).unwrap();
        std::fs::write(log_of(&path), &files[1][..at as usize]).unwrap();
        if let Some(at) = flipped {
            flip(&log_of(&path), at, 1);
        }
        let store = SqliteStore::open(&path, Options::default()).await.unwrap();
        assert_eq!(all(&store, &before).await.len(), 14, "cut at {at}, flipped at {flipped:?}");
        assert_eq!(all(&store, &other).await.len(), 14);
        store.append(before.clone().append(1)).await.unwrap();
        assert_eq!(store.check_file().await.unwrap(), Vec::<String>::new());
        store.close().await;
    }
    let store = SqliteStore::open(&whole, Options::default()).await.unwrap();
    assert_eq!(all(&store, &tale).await.len(), 17, "the whole log has it");
    store.close().await;
}

/// A session whose append meets a damaged page is told that nothing was written; who is in the same group, and who
/// comes after, has nothing to do with it.
#[tokio::test]
async fn a_damaged_page_fails_who_needs_it_and_nobody_else() {
    let place = Place::new();
    let store = place.open().await;
    let mut one = told(&store, "ses_one", 1).await;
    let mut two = told(&store, "ses_two", 1).await;
    let stop = Command::Stop { reason: "enough".into() };
    store.send(&one.session, Sender::System, stop, None).await.unwrap();
    store.close().await;
    let tamper = Tamper::open(&place.path()).unwrap();
    let page = tamper.leaves("inbox").unwrap()[0];
    tamper.close().unwrap();
    flip(&place.path(), (page as u64 - 1) * PAGE_BYTES, 8);

    let store = place.open().await;
    for tale in [&one, &two] {
        store.shared.keys(&tale.session).await.unwrap();
    }
    let mut needs = one.append(1);
    needs.taken = vec![1];
    let (before, after) = (two.append(1), two.append(1));
    // All in one group, whose first has written when the second meets the page.
    let held = hold(&store).await;
    let (first, hit, last, ()) = tokio::join!(
        biased;
        store.append(before),
        store.append(needs.clone()),
        store.append(after),
        async { drop(held) },
    );
    assert!(matches!(hit, Err(StoreError::Damaged { .. })), "{hit:?}");
    assert!(hit.unwrap_err().to_string().contains("nothing was written"));
    assert_eq!((first, last), (Ok(()), Ok(())));
    assert_eq!(store.head(&one.session).await.unwrap(), Some(needs.expected));
    store.append(two.append(1)).await.unwrap();
    assert_eq!(all(&store, &two).await.len(), 8);
    let pending = store.pending(&one.session).await;
    assert!(matches!(pending, Err(StoreError::Damaged { .. })), "{pending:?}");
    assert!(!store.check_file().await.unwrap().is_empty());
    store.close().await;
}

/// A session whose row makes no sense hides no other.
#[tokio::test]
async fn a_damaged_row_hides_no_other_session() {
    let place = Place::new();
    let store = place.open().await;
    let one = told(&store, "ses_one", 1).await;
    told(&store, "ses_two", 1).await;
    store.close().await;
    let tamper = Tamper::open(&place.path()).unwrap();
    tamper.change("UPDATE sessions SET status = 'dreaming', turns = -1 WHERE name = 'ses_one'").unwrap();
    tamper.close().unwrap();
    let store = place.open().await;
    let listed = store.list_sessions(10, None).await.unwrap();
    let faults: Vec<Option<&str>> =
        listed.iter().map(|row| row.fault.as_ref().map(|fault| fault.reason.as_str())).collect();
    assert_eq!(faults, [None, Some("damaged")]);
    assert!(listed[1].fault.as_ref().unwrap().detail.contains("dreaming"));
    assert!(store.session(&one.session).await.is_err(), "who asks for it is told");
    store.close().await;
}

/// R0: a file that was deleted, moved or replaced while it is open is not written any more.
#[tokio::test]
async fn a_file_that_is_not_where_it_was_is_not_written() {
    for what in ["deleted", "replaced", "log"] {
        let place = Place::new();
        let store = place.open().await;
        let mut tale = told(&store, "ses_one", 2).await;
        match what {
            "deleted" => std::fs::remove_file(place.path()).unwrap(),
            "replaced" => {
                let copy = copy(&place, "copy");
                std::fs::rename(copy, place.path()).unwrap();
            }
            _ => std::fs::remove_file(log_of(&place.path())).unwrap(),
        }
        for _ in 0..2 {
            let refused = store.append(tale.clone().append(1)).await;
            assert_eq!(refused, Err(StoreError::Moved { path: place.path() }), "{what}");
        }
        let stop = Command::Stop { reason: String::new() };
        let refused = store.send(&tale.session, Sender::System, stop, None).await;
        assert!(matches!(refused, Err(StoreError::Moved { .. })), "{what}: {refused:?}");
        store.close().await;
        if what == "replaced" {
            let store = place.open().await;
            store.append(tale.append(1)).await.expect("the file that is there now");
            store.close().await;
        }
    }
}

/// A damaged snapshot is told as that, and the journal is read all the same.
#[tokio::test]
async fn a_snapshot_that_cannot_be_read_is_told_apart_from_none() {
    let place = Place::new();
    let store = place.open().await;
    let tale = told(&store, "ses_one", 1).await;
    let snapshot = Snapshot { seq: 5, hash: tale.head.hash, version: 1, bytes: vec![1; 300], state: None };
    store.put_snapshot(&tale.session, snapshot).await.unwrap();
    store.close().await;
    let tamper = Tamper::open(&place.path()).unwrap();
    let page = tamper.leaves("snapshots").unwrap()[0];
    tamper.close().unwrap();
    flip(&place.path(), (page as u64 - 1) * PAGE_BYTES, 8);
    let store = place.open().await;
    let found = store.newest_snapshot(&tale.session, u64::MAX).await;
    assert!(matches!(found, Err(StoreError::Damaged { .. })), "{found:?}");
    assert_eq!(all(&store, &tale).await.len(), 5, "the journal is another page's");
    store.close().await;
}
