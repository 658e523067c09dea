//! A disk that fails under a commit. The limit of a file's size stands for it, which the system keeps
//! per process: so the test runs itself once more, in a process of its own.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Place, all, told};
use crate::StoreError;
use crate::contract::tale::Tale;
use crate::ports::Journal as _;

const IN_CHILD: &str = "REWAKE_STORE_TEST_DISK";

#[test]
fn after_a_failed_commit_nothing_is_concluded() {
    if std::env::var_os(IN_CHILD).is_some() {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(failing_disk());
        return;
    }
    // The system would kill a process that passes the limit; ignored signals are handed down.
    let child = Command::new("sh")
        .arg("-c")
        .arg("trap '' XFSZ; exec \"$0\" --exact --nocapture \"$1\"")
        .arg(std::env::current_exe().unwrap())
        .arg("sqlite::tests::disk::after_a_failed_commit_nothing_is_concluded")
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}{errors}");
}

fn limit_files(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

/// Refused because of the disk: by the writer, or already when the session was looked up.
fn is_disk(outcome: &crate::Result<()>) -> bool {
    matches!(outcome, Err(StoreError::Unknown(_) | StoreError::Io { .. }))
}

async fn failing_disk() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 3).await;
    let mut other = told(&store, "ses_two", 3).await;
    let failed = tale.append(3);
    // Too small for any page, wherever it is written.
    limit_files(Some(100));
    let (one, two) = tokio::join!(store.append(failed.clone()), store.append(other.clone().append(1)));
    assert!(matches!(one, Err(StoreError::Unknown(_))), "{one:?}");
    assert!(is_disk(&two), "{two:?}");
    let still = store.append(other.clone().append(1)).await;
    assert!(is_disk(&still), "{still:?}");
    assert!(is_disk(&store.create(Tale::new("ses_new").creation()).await));
    limit_files(None);

    // The first one to come may still find the file closed; from then on it is open again.
    let next = other.append(1);
    if let Err(error) = store.append(next.clone()).await {
        assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
        store.append(next).await.expect("the disk is well again");
    }
    let head = store.head(&tale.session).await.unwrap().unwrap();
    match store.append(failed.clone()).await {
        Ok(()) => assert_eq!(head, failed.expected, "it had not been written"),
        Err(StoreError::Fenced { .. }) => assert_eq!(head, tale.head, "it had been written"),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(all(&store, &tale).await.len(), 14);
    assert_eq!(all(&store, &other).await.len(), 12);
    store.close().await;
    let store = place.open().await;
    assert_eq!(all(&store, &tale).await.len(), 14);
    store.close().await;
}
