//! A data folder, the hosts over it, and sessions that are sent messages until they rest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_runtime::live::{Gone, Live};
use rewake_runtime::{Config, Host, HostError, NewSession, host};
use rewake_store::{OpenOptions, SqliteStore, Store};
use rewake_wire::{Part, Sender};
use tempfile::TempDir;
use tokio::sync::broadcast::error::RecvError;

use crate::bundles::{Draft, root};
use crate::journal::Events;

/// How long anything may take before a test is sure that it hangs.
const HANGS: Duration = Duration::from_secs(60);

/// A data folder and a store in it.
pub struct World {
    dir: TempDir,
    /// The store.
    pub store: Arc<dyn Store>,
    snapshot_entries: u64,
}

/// How a session came to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It waits for something.
    Idle,
    /// The host no longer runs it.
    Gone(Gone),
}

impl World {
    /// A new data folder, with the embedded store in it.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&dir.path().join("journal.db"), OpenOptions::default()).await;
        World { store: Arc::new(store.expect("a store")), dir, snapshot_entries: 1_000 }
    }

    /// The same, with a snapshot every so many entries.
    pub async fn with_snapshots(entries: u64) -> Self {
        World { snapshot_entries: entries, ..World::new().await }
    }

    /// The data folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The configuration of its hosts.
    pub fn config(&self) -> Config {
        Config {
            data: self.path().to_owned(),
            cache: root().join("target/test-components"),
            snapshot_entries: self.snapshot_entries,
        }
    }

    /// A host over its store.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn host(&self) -> Host {
        self.host_over(self.store.clone())
    }

    /// A host over another store, in the same data folder.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn host_over(&self, store: Arc<dyn Store>) -> Host {
        Host::open(&self.config(), store).expect("a host")
    }

    /// Writes a bundle into the world.
    pub fn bundle(&self, draft: &Draft) -> PathBuf {
        let folders = self.path().join("bundles");
        let count = std::fs::read_dir(&folders).map_or(0, Iterator::count);
        draft.write(&folders.join(count.to_string()))
    }

    /// Creates a session of a bundle.
    ///
    /// # Panics
    /// If it cannot be created.
    pub async fn create(&self, draft: &Draft) -> SessionId {
        self.try_create(draft).await.expect("a session")
    }

    /// Creates a session of a bundle.
    ///
    /// # Errors
    /// As the host says.
    pub async fn try_create(&self, draft: &Draft) -> Result<SessionId, HostError> {
        let new = NewSession { bundle: self.bundle(draft), origin: "test".into(), ..NewSession::default() };
        self.host().create(&new).await.map(|made| made.id)
    }

    /// Sends a message, and runs the session until it rests. The host then lets go of it.
    pub async fn run(&self, id: &SessionId, text: &str) -> Outcome {
        let host = self.host();
        send(&host, id, text).await;
        let outcome = rest(&host, id).await;
        host.shut_down().await;
        outcome
    }

    /// Runs the session until it rests, without a message.
    pub async fn resume(&self, id: &SessionId) -> Outcome {
        let host = self.host();
        let outcome = rest(&host, id).await;
        host.shut_down().await;
        outcome
    }

    /// The session's events.
    pub async fn events(&self, id: &SessionId) -> Events {
        Events::of(self.store.as_ref(), id).await
    }

    /// Checks the journal: chain, fold, starts and ends; and that its steps replay as they ran.
    ///
    /// # Panics
    /// If something does not hold.
    pub async fn check(&self, id: &SessionId) -> Events {
        let verified = host::verify(self.store.as_ref(), id).await.expect("readable");
        assert_eq!(verified.broken, None);
        let events = self.events(id).await;
        events.check();
        let replayed = self.host().replay(id).await.expect("replayable");
        assert_eq!(replayed.mismatch, None);
        events
    }

    /// A file in the session's workspace; none if it is not there.
    pub fn workspace_file(&self, id: &SessionId, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join("workspaces").join(id.as_str()).join(name)).ok()
    }
}

/// Sends a message.
///
/// # Panics
/// If it is refused.
pub async fn send(host: &Host, id: &SessionId, text: &str) -> u64 {
    let command = Command::Message { parts: vec![Part::text(text)] };
    host.send(id, Sender::Operator("ann".into()), command, None).await.expect("taken")
}

/// Loads a session and waits until it rests.
///
/// # Panics
/// If it cannot be loaded, or never rests.
pub async fn rest(host: &Host, id: &SessionId) -> Outcome {
    let (_, mut follower) = host.load(id).await.expect("loaded");
    let rested = tokio::time::timeout(HANGS, async {
        loop {
            match follower.recv().await {
                Ok(Live::Idle) => return Outcome::Idle,
                Ok(Live::Gone(gone)) => return Outcome::Gone(gone),
                Ok(Live::Entry(_) | Live::Activity(_)) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Outcome::Gone(Gone::Unloaded),
            }
        }
    });
    rested.await.expect("the session hangs")
}
