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
        tokio::runtime::Runtime::new().unwrap().block_on(failing_disk());
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

async fn failing_disk() {
    let place = Place::new();
    let store = place.open().await;
    let mut tale = told(&store, "ses_one", 3).await;
    let mut other = told(&store, "ses_two", 3).await;
    let log = std::fs::metadata(place.path().with_file_name("rewake.db-wal")).unwrap().len();

    let failed = tale.append(3);
    limit_files(Some(log));
    let (one, two) = tokio::join!(store.append(failed.clone()), store.append(other.clone().append(1)));
    assert!(matches!(one, Err(StoreError::Unknown(_))), "{one:?}");
    assert!(matches!(two, Err(StoreError::Unknown(_))), "{two:?}");
    let still = store.append(other.clone().append(1)).await;
    assert!(matches!(still, Err(StoreError::Unknown(_))), "{still:?}");
    assert!(matches!(store.create(Tale::new("ses_new").creation()).await, Err(StoreError::Unknown(_))));
    limit_files(None);
    println!("LIMIT {:?}", getrlimit(Resource::Fsize));
    for _ in 0..4 { let r = store.append(other.clone().append(1)).await; println!("TRY {r:?}"); for f in std::fs::read_dir(place.path().parent().unwrap()).unwrap() { let f=f.unwrap(); println!("{:?} {}", f.file_name(), f.metadata().unwrap().len()); } }
    // The first one to come may still meet the closed file; from then on it is open again.
    if let Err(error) = store.append(other.clone().append(1)).await {
        assert!(matches!(error, StoreError::Unknown(_)), "{error:?}");
        store.append(other.append(1)).await.expect("the disk is well again");
    } else {
        other.append(1);
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
