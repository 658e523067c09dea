//! A data folder, the hosts over it, and sessions that are sent messages until they rest.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_policy::limits::CompileLimits;
use rewake_policy::trust::TrustKey;
use rewake_runtime::live::UnloadReason;
use rewake_runtime::{Approval, Config, Host, HostError, NewSession, host};
use rewake_store::{OpenOptions, SqliteStore, Store};
use rewake_wire::{Part, Sender};
use tempfile::TempDir;

use crate::bundles::{Draft, root};
use crate::journal::Events;
use crate::running::Running;

/// How long anything may take before a test is sure that it hangs.
pub const HANGS: Duration = Duration::from_secs(60);

/// The store's file in a data folder.
const JOURNAL: &str = "journal.db";

/// The operator's rules in a data folder.
const RULES: &str = "rewake.toml";

/// A data folder and a store in it.
pub struct World {
    dir: TempDir,
    /// The state of its machine, with the trust key.
    state: Arc<TempDir>,
    /// The store.
    pub store: Arc<dyn Store>,
    sqlite: Arc<SqliteStore>,
    snapshot_entries: u64,
    own: OnceLock<Host>,
}

/// How a session came to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It waits for something.
    Idle,
    /// The host no longer runs it.
    Gone(UnloadReason),
}

impl World {
    /// A new data folder, with the embedded store in it.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn new() -> Self {
        World::open(tempfile::tempdir().expect("a folder"), state()).await
    }

    /// A data folder with these bytes as its store's file.
    ///
    /// # Panics
    /// If it cannot be made, or they are no store.
    pub async fn with_store(bytes: &[u8]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join(JOURNAL), bytes).expect("the store's file");
        World::open(dir, state()).await
    }

    async fn open(dir: TempDir, state: Arc<TempDir>) -> Self {
        trust(&state).know(dir.path()).expect("a folder that this machine knows");
        let store = SqliteStore::open(&dir.path().join(JOURNAL), OpenOptions::default()).await;
        let sqlite = Arc::new(store.expect("a store"));
        World { store: sqlite.clone(), sqlite, dir, state, snapshot_entries: 1_000, own: OnceLock::new() }
    }

    /// The same, with a snapshot every so many entries.
    pub async fn with_snapshots(entries: u64) -> Self {
        World::new().await.snapshots_every(entries)
    }

    /// Has its hosts keep a snapshot every so many entries.
    pub fn snapshots_every(self, entries: u64) -> Self {
        World { snapshot_entries: entries, ..self }
    }

    /// A copy of the data folder, taken while this one is in use, and opened.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn copy(&self) -> Self {
        self.copy_to(self.state.clone()).await
    }

    /// The same, on a machine with another trust key, which uses the rules in the folder.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn copy_elsewhere(&self) -> Self {
        self.copy_to(state()).await
    }

    async fn copy_to(&self, state: Arc<TempDir>) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        // The log before the file: what is moved into the file meanwhile then stands in both.
        let log = format!("{JOURNAL}-wal");
        for name in [log.as_str(), JOURNAL] {
            let from = self.path().join(name);
            if from.exists() {
                std::fs::copy(&from, dir.path().join(name)).expect("a copy of the store");
            }
        }
        if self.path().join(RULES).exists() {
            std::fs::copy(self.path().join(RULES), dir.path().join(RULES)).expect("a copy of the rules");
        }
        for name in ["hosts", "workspaces"] {
            copy_folder(&self.path().join(name), &dir.path().join(name));
        }
        World::open(dir, state).await
    }

    /// Closes the store, changes its file from outside, and opens it again: every `from` becomes a `to`.
    ///
    /// # Panics
    /// If the file does not hold `from`, or the two are not as long as each other.
    pub async fn tamper(self, from: &str, to: &str) -> Self {
        let World { dir, state, store, sqlite, own, .. } = self;
        drop((store, own));
        sqlite.close().await;
        assert!(!dir.path().join(format!("{JOURNAL}-wal")).exists(), "the log was not moved into the file");
        let path = dir.path().join(JOURNAL);
        let mut bytes = std::fs::read(&path).expect("the file");
        assert_eq!(from.len(), to.len());
        let places: Vec<usize> =
            (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
        assert!(!places.is_empty(), "{from:?} is not in the file");
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        std::fs::write(&path, bytes).expect("the changed file");
        World::open(dir, state).await
    }

    /// Writes the operator's rules.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn rule(&self, rules: &str) {
        std::fs::write(self.path().join(RULES), rules).expect("the rules");
    }

    /// Bytes of the store's file, with all that was written in it.
    ///
    /// # Panics
    /// If the log was not moved into the file.
    pub async fn close(self) -> u64 {
        let World { dir, store, sqlite, own, .. } = self;
        drop((store, own));
        sqlite.close().await;
        assert!(!dir.path().join(format!("{JOURNAL}-wal")).exists(), "the log was not moved into the file");
        std::fs::metadata(dir.path().join(JOURNAL)).expect("the file").len()
    }

    /// The store's file, with all that was written in it.
    ///
    /// # Panics
    /// If the log was not moved into the file.
    pub async fn close_and_read(self) -> Vec<u8> {
        let World { dir, store, sqlite, own, .. } = self;
        drop((store, own));
        sqlite.close().await;
        assert!(!dir.path().join(format!("{JOURNAL}-wal")).exists(), "the log was not moved into the file");
        std::fs::read(dir.path().join(JOURNAL)).expect("the file")
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
            rules: None,
            trust: trust(&self.state),
            compiler: None,
            compile: CompileLimits::default(),
            mocks: None,
        }
    }

    /// The world's own host, always the same: making one costs more than what most tests do with it.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn own(&self) -> &Host {
        self.own.get_or_init(|| self.host())
    }

    /// A new host over its store.
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

    /// Creates a session of a bundle, with others beside it.
    ///
    /// # Panics
    /// If it cannot be created.
    pub async fn create_with(&self, draft: &Draft, with: &[&Draft]) -> SessionId {
        let with = with.iter().map(|draft| self.bundle(draft).into()).collect();
        let new = NewSession { bundle: self.bundle(draft).into(), with, ..asked_for() };
        self.own().create(&new).await.expect("a session").id
    }

    /// Creates a session of a bundle.
    ///
    /// # Errors
    /// As the host says.
    pub async fn try_create(&self, draft: &Draft) -> Result<SessionId, HostError> {
        let new = NewSession { bundle: self.bundle(draft).into(), ..asked_for() };
        self.own().create(&new).await.map(|made| made.id)
    }

    /// Sends a message, and runs the session until it rests. The host then unloads it.
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
        let replayed = self.own().replay(id).await.expect("replayable");
        assert_eq!(replayed.mismatch, None);
        events
    }

    /// A file in the session's workspace; none if it is not there.
    pub fn workspace_file(&self, id: &SessionId, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join("workspaces").join(id.as_str()).join(name)).ok()
    }
}

fn state() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().expect("a folder"))
}

fn trust(state: &TempDir) -> TrustKey {
    TrustKey::in_state(Some(state.path()))
}

/// A session that gets what its bundles ask for.
pub fn asked_for() -> NewSession {
    NewSession { approval: Some(Approval::of_all("ann")), origin: "test".into(), ..NewSession::default() }
}

/// The person who sends everything.
pub fn ann() -> Sender {
    Sender::Operator("ann".into())
}

/// Sends a message.
///
/// # Panics
/// If it is refused.
pub async fn send(host: &Host, id: &SessionId, text: &str) -> u64 {
    let command = Command::Message { parts: vec![Part::text(text)] };
    host.send(id, ann(), command, None).await.expect("taken")
}

/// Loads a session and waits until it rests.
///
/// # Panics
/// If it cannot be loaded, or never rests.
pub async fn rest(host: &Host, id: &SessionId) -> Outcome {
    Running::load(host, id).await.rest().await
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder of the copy");
    let Ok(entries) = std::fs::read_dir(from) else { return };
    for entry in entries {
        let entry = entry.expect("a readable folder");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else if let Err(error) = std::fs::copy(entry.path(), target) {
            // A host that ends takes its lock's file along.
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", entry.path().display());
        }
    }
}
