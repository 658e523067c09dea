//! Checks that only a file can fail.

mod damage;
mod disk;
mod files;
mod groups;
mod guards;
mod installed;
mod migrations;
mod planted;
mod sealing;
mod texts;

use std::path::PathBuf;
use std::sync::{Mutex, mpsc};

use rewake_core::codec::Record;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::connect::{Location, SCHEMA};
use super::job::{Asked, Job, Operation, Stop};
use super::{OpenOptions, SqliteStore};
use crate::contract::tale::Tale;
use crate::ports::{Journal as _, Store};
use crate::{StoreError, contract};

/// A store in a folder of its own.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data").join("rewake.db")
    }

    async fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path(), OpenOptions::default()).await.unwrap()
    }

    /// A connection as the writer's, past the store.
    fn connection(&self) -> Connection {
        Location::for_writing(&self.path(), SCHEMA).unwrap().1
    }

    async fn read(&self) -> SqliteStore {
        SqliteStore::open(&self.path(), OpenOptions { read_only: true }).await.unwrap()
    }
}

/// A session that is there, with as many appends after its creation.
async fn told(store: &dyn Store, id: &str, appends: u64) -> Tale {
    let mut tale = Tale::new(id);
    store.create(tale.creation()).await.unwrap();
    for _ in 0..appends {
        store.append(tale.append(3)).await.unwrap();
    }
    tale
}

async fn all(store: &dyn Store, tale: &Tale) -> Vec<Record> {
    let records = store.read(&tale.session, 0, u32::MAX).await.unwrap();
    assert_eq!(records.last().map(|record| record.hash), Some(tale.head.hash));
    records
}

/// Keeps the writer in a transaction until it is dropped: what is queued meanwhile is there when the writer looks
/// again.
struct Hold {
    _until: mpsc::Sender<()>,
    _answered: oneshot::Receiver<crate::Result<()>>,
}

struct Held(Mutex<(Option<oneshot::Sender<()>>, mpsc::Receiver<()>)>);

impl Operation for Held {
    type Output = ();

    fn run(&self, _: &Connection) -> Result<(), Stop> {
        let (begun, until) = &mut *self.0.lock().unwrap();
        begun.take().unwrap().send(()).unwrap();
        let _ = until.recv();
        Ok(())
    }
}

async fn hold(store: &SqliteStore) -> Hold {
    let ((begin, begun), (answer, _answered)) = (oneshot::channel(), oneshot::channel());
    let (_until, until) = mpsc::channel();
    let held = Held(Mutex::new((Some(begin), until)));
    store.queue(Job::Task(Box::new(Asked::new(held, answer)))).await.unwrap();
    begun.await.unwrap();
    Hold { _until, _answered }
}

#[tokio::test]
async fn keeps_the_contract() {
    let place = Place::new();
    let store = place.open().await;
    contract::check(&store).await;
    store.close().await;
    let mut tale = Tale::new("ses_late");
    assert_eq!(store.create(tale.creation()).await, Err(StoreError::Closed));
    assert_eq!(store.append(tale.append(1)).await, Err(StoreError::Closed));
    assert_eq!(store.head(&tale.session).await, Err(StoreError::Closed));
}
