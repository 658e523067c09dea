//! The file itself: who may open it, how, and what is in it after a crash.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;

use super::{Place, all, told};
use crate::StoreError;
use crate::contract::tale::Tale;
use crate::ports::{Inbox as _, Journal as _, Leases as _, Sessions as _};
use crate::sqlite::connect::{closed, log_of};
use crate::sqlite::{OpenOptions, SqliteStore, checkpoint};
use rewake_core::ids::HostId;
use rewake_wire::Sender;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn only_its_owner_can_read_it() {
    let place = Place::new();
    let store = place.open().await;
    told(&store, "ses_one", 1).await;
    assert_eq!(mode(place.path().parent().unwrap()), 0o700);
    for end in ["", "-wal", "-shm"] {
        let file = place.path().with_file_name(format!("rewake.db{end}"));
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    store.close().await;
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    place.open().await.close().await;
    assert_eq!(mode(&place.path()), 0o600, "what others could read is made private");
}

/// A10: acknowledged appends are in the file after a crash.
#[tokio::test]
async fn what_was_answered_is_there_after_a_crash() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 30).await;
    // As the files are at this moment, with nobody having closed anything. Another process copies them:
    // one that opened and closed the file in this process would release SQLite's locks.
    let copy = place.folder.path().join("copy");
    let copied = Command::new("cp").arg("-r").arg(place.path().parent().unwrap()).arg(&copy).status();
    assert!(copied.unwrap().success());
    let path = copy.join("rewake.db");
    let size = std::fs::metadata(copy.join("rewake.db-wal")).unwrap().len();
    assert!(size > 0, "what is looked at is a log");

    let again = SqliteStore::open(&path, OpenOptions::default()).await.unwrap();
    assert_eq!(all(&again, &tale).await, all(&store, &tale).await);
    again.append(tale.append(2)).await.unwrap();
    again.close().await;
    store.close().await;
    assert!(!copy.join("rewake.db-wal").exists(), "closing in order leaves one file");
}

#[tokio::test]
async fn what_a_crash_cut_off_is_not_there() {
    let place = Place::new();
    let store = place.open().await;
    let tale = told(&store, "ses_one", 5).await;
    let mut longer = tale.clone();
    store.append(longer.append(3)).await.unwrap();
    let copy = place.folder.path().join("copy");
    let copied = Command::new("cp").arg("-r").arg(place.path().parent().unwrap()).arg(&copy).status();
    assert!(copied.unwrap().success());
    store.close().await;
    // The last transaction's frames did not all reach the disk.
    let log = std::fs::File::options().write(true).open(copy.join("rewake.db-wal")).unwrap();
    log.set_len(log.metadata().unwrap().len() - 5_000).unwrap();
    drop(log);
    let again = SqliteStore::open(&copy.join("rewake.db"), OpenOptions::default()).await.unwrap();
    assert_eq!(all(&again, &tale).await.len(), 17, "all of the others, nothing of the last");
    again.close().await;
}

#[tokio::test]
async fn it_is_there_when_it_is_opened_again() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 2).await;
    let host = HostId::parse("host_1").unwrap();
    let lease = store.acquire(&tale.session, &host, 60_000, &|_| false).await.unwrap();
    // Nobody closes it: its threads end with it.
    drop(store);
    let store = place.open().await;
    assert_eq!(store.holder(&tale.session).await.unwrap(), Some(lease));
    assert!(matches!(store.append(tale.clone().append(1)).await, Err(StoreError::Fenced { .. })));
    tale.epoch = 1;
    store.append(tale.append(1)).await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_open_a_file_at_once_that_is_not_there() {
    for _ in 0..100 {
        let place = Place::new();
        let stores = join_all((0..8).map(|_| place.open())).await;
        told(&stores[7], "ses_one", 1).await;
        join_all(stores.iter().map(SqliteStore::close)).await;
    }
}

#[tokio::test]
async fn reading_only_works_beside_a_writer() {
    let place = Place::new();
    let absent = SqliteStore::open(&place.path(), OpenOptions { read_only: true }).await;
    assert!(matches!(absent.err(), Some(StoreError::NotFound(_))));
    assert!(!place.path().exists(), "reading makes nothing");

    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 1).await;
    let reader = place.read().await;
    assert_eq!(all(&reader, &tale).await.len(), 5);
    store.append(tale.append(1)).await.unwrap();
    assert_eq!(all(&reader, &tale).await.len(), 6);
    assert_eq!(reader.append(tale.clone().append(1)).await, Err(StoreError::ReadOnly));
    let stop = rewake_core::command::Command::Stop { reason: String::new() };
    assert_eq!(reader.send(&tale.session, Sender::System, stop, None).await, Err(StoreError::ReadOnly));
    assert_eq!(reader.set_fault(&tale.session, None).await, Err(StoreError::ReadOnly));
    store.close().await;
    assert_eq!(all(&reader, &tale).await.len(), 6, "the writer is gone");
    reader.close().await;
}

#[tokio::test]
async fn reading_only_needs_to_make_nothing_beside_the_file() {
    let place = Place::new();
    let store = place.open().await;
    let tale = told(&store, "ses_one", 3).await;
    store.close().await;
    // Stands for a folder that cannot be written, also where the tests may write anywhere: the log's
    // index cannot be made.
    std::fs::create_dir(place.path().with_file_name("rewake.db-shm")).unwrap();
    let reader = place.read().await;
    assert_eq!(all(&reader, &tale).await.len(), 11);
    reader.close().await;
}

#[tokio::test]
async fn files_of_others_and_of_newer_versions_are_left_alone() {
    let place = Place::new();
    place.open().await.close().await;
    let connection = place.connection();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    closed(connection);
    for read_only in [true, false] {
        let error = SqliteStore::open(&place.path(), OpenOptions { read_only }).await.err().unwrap();
        assert_eq!(error, StoreError::Newer { path: place.path(), found: 99, known: 1 });
    }

    std::fs::remove_file(place.path()).unwrap();
    std::fs::write(place.path(), "no database, and long enough to be looked at: ".repeat(100)).unwrap();
    for read_only in [true, false] {
        let error = SqliteStore::open(&place.path(), OpenOptions { read_only }).await.err().unwrap();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }
    assert!(std::fs::read_to_string(place.path()).unwrap().starts_with("no database"));

    std::fs::remove_file(place.path()).unwrap();
    let other = format!("sqlite3 {} 'CREATE TABLE theirs (a)'", place.path().display());
    if Command::new("sh").arg("-c").arg(other).status().is_ok_and(|status| status.success()) {
        let error = SqliteStore::open(&place.path(), OpenOptions::default()).await.err().unwrap();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_payload_whose_blob_is_gone_is_corrupt_not_a_panic() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = Tale::new("ses_one");
    tale.payload_bytes = 100_000;
    store.create(tale.creation()).await.unwrap();
    store.append(tale.append(1)).await.unwrap();
    store.close().await;
    let connection = place.connection();
    connection.execute_batch("DELETE FROM blob_refs; DELETE FROM blobs").unwrap();
    closed(connection);
    let store = place.open().await;
    let error = store.read(&tale.session, 0, 10).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("ses_one"), "{error}");
    store.close().await;
}

#[tokio::test]
async fn the_log_is_moved_into_the_file_beside_the_writer_and_by_it() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 0).await;
    let size = || std::fs::metadata(place.path()).unwrap().len();
    let mut before = size();
    let connection = store.shared.location.checkpointer().unwrap();
    for by_writer in [false, true] {
        for _ in 0..3 {
            // Each another text, which is stored once.
            tale.payload_bytes += 50_000;
            store.append(tale.append(1)).await.unwrap();
        }
        if by_writer {
            store.shared.log.is_full.store(true, Ordering::Relaxed);
            store.append(tale.append(1)).await.unwrap();
            assert!(!store.shared.log.is_full.load(Ordering::Relaxed));
        } else {
            let (pages, moved) = checkpoint::move_log(&connection).unwrap();
            assert_eq!(pages, moved, "all of it");
        }
        assert!(size() >= before + 150_000, "{before} {}", size());
        before = size();
    }
    assert_eq!(all(&store, &tale).await.len(), 9);
    closed(connection);
    store.close().await;
}

/// `N-A8`: the log begins again while commits follow each other without a pause. It is a tenth of what is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_small_under_load() {
    let place = Place::new();
    let store = place.open().await;
    let log = log_of(&place.path());
    let load = async |id: &str, odd: usize| {
        let mut tale = told(&store, id, 0).await;
        let (mut written, mut largest) = (0, 0);
        while written < 25 << 20 {
            // Each another text, which is stored once.
            tale.payload_bytes = 60_000 + odd + written / 60_000 * 2;
            written += tale.payload_bytes;
            store.append(tale.append(1)).await.unwrap();
            largest = std::fs::metadata(&log).unwrap().len().max(largest);
        }
        (tale, largest)
    };
    // While one is committed, the other is queued.
    let ((one, largest), (two, _)) = tokio::join!(load("ses_one", 0), load("ses_two", 1));
    assert!(largest < 20 << 20, "the log has {largest} bytes");
    assert_eq!(store.check_file().await.unwrap(), Vec::<String>::new());
    let heads = [store.head(&one.session).await.unwrap(), store.head(&two.session).await.unwrap()];
    assert_eq!(heads, [Some(one.head), Some(two.head)]);
    store.close().await;
    assert!(!log.exists(), "closing moves all of it");
}
