//! Checks that only a file can fail.

mod damage;
mod disk;
mod files;
mod groups;
mod guards;
mod installed;

use std::path::PathBuf;

use rewake_core::codec::Record;
use tempfile::TempDir;

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
