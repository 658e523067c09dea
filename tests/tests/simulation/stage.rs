//! What all seeds of a process share, because making it costs more than a seed does: compiled components, data
//! folders, and the sessions as they are when they have just been created. Nothing of a seed's course stands here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rewake_core::codec::Record;
use rewake_core::entry::Entry;
use rewake_core::fact::Created;
use rewake_core::ids::SessionId;
use rewake_core::session::Session;
use rewake_policy::limits::CompileLimits;
use rewake_policy::trust::TrustKey;
use rewake_runtime::workbench::Workbench;
use rewake_runtime::{Config, Host, NewSession, PROJECT};
use rewake_sandbox::clock::Clock;
use rewake_store::{
    self as store, Blobs as _, Bundle, Bundles as _, Journal as _, MemoryStore, Projection, Voucher,
    Vouchers as _,
};
use rewake_tests::bundles::root;
use rewake_tests::forge;
use rewake_tests::world::asked_for;
use tempfile::TempDir;

use crate::plan::{self, SESSIONS_MAX, Talk};

/// A file system in memory.
const MEMORY: &str = "/dev/shm";

/// A session that was just created.
pub(crate) struct Template {
    pub(crate) id: SessionId,
    created: Created,
    records: Vec<Record>,
    /// The same, read.
    pub(crate) entries: Vec<Entry>,
    projection: Projection,
    script: Option<Vec<u8>>,
    /// For what it is granted.
    vouchers: Vec<Voucher>,
}

/// What all seeds of a process share.
pub(crate) struct Stage {
    bench: Workbench,
    config: Config,
    /// By the bundle, and by which of a seed's sessions it is.
    templates: Vec<Vec<Template>>,
    /// The workspaces that there are, by the host.
    workspaces: Mutex<BTreeSet<(u32, SessionId)>>,
    data: TempDir,
}

impl Stage {
    /// Makes the components ready and the sessions.
    pub(crate) fn new() -> Stage {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(Stage::made())
    }

    async fn made() -> Stage {
        let bundles = tempfile::tempdir().expect("a folder");
        // In memory, where that can be had: a disk adds time, and nothing else.
        let data = tempfile::tempdir_in(MEMORY).or_else(|_| tempfile::tempdir()).expect("a data folder");
        let config = Config {
            data: folder(data.path(), 0),
            cache: root().join("target/test-components"),
            snapshot_entries: 1_000,
            rules: None,
            trust: TrustKey::in_state(Some(&data.path().join("state"))),
            compiler: None,
            compile: CompileLimits::default(),
            mocks: None,
        };
        let bench = Workbench::open(&config.cache, None, CompileLimits::default()).expect("engines");
        let mut stage = Stage { bench, config, templates: Vec::new(), workspaces: Mutex::default(), data };
        for (n, draft) in plan::bundles().iter().enumerate() {
            let folder = draft.write(&bundles.path().join(n.to_string()));
            let new = NewSession { bundle: folder.into(), ..asked_for() };
            let templates = stage.templates(new).await;
            stage.templates.push(templates);
        }
        stage
    }

    /// A session, and the same under other ids: sealing one again costs far less than making it.
    async fn templates(&self, new: NewSession) -> Vec<Template> {
        let store = Arc::new(MemoryStore::new());
        let host = Host::open_on(&self.bench, &self.config, store.clone()).expect("a host");
        let made = host.create(&new).await.expect("a session");
        let mut templates = vec![Template::read(&store, made.id, made.created).await];
        for nth in 1..SESSIONS_MAX {
            let Template { id, created, entries, .. } = &templates[0];
            let (id, created) = (SessionId::parse(&format!("{id}{nth}")).expect("an id"), created.clone());
            forge::create(store.as_ref(), &id, forge::drafts(entries)).await;
            host.approve(&id, None, "ann").await.expect("approved");
            templates.push(Template::read(&store, id, created).await);
        }
        templates
    }

    /// A seed's session when it has just been created.
    pub(crate) fn session(&self, talk: &Talk) -> &Template {
        &self.templates[talk.bundle][talk.nth]
    }

    /// Where the data folders of hosts are.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// A host over a store, in a data folder of its own, with the components that are ready, and places for what
    /// these sessions write.
    pub(crate) fn host(
        &self,
        n: u32,
        sessions: &[SessionId],
        snapshot_entries: u64,
        store: Arc<dyn store::Store>,
        clock: Arc<dyn Clock>,
    ) -> Host {
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        for id in sessions {
            if workspaces.insert((n, id.clone())) {
                let log = log_path(self.data(), n, id);
                std::fs::create_dir_all(log.parent().expect("a workspace")).expect("a workspace");
            }
        }
        drop(workspaces);
        let config = Config { snapshot_entries, data: folder(self.data(), n), ..self.config.clone() };
        Host::open_simulated(&self.bench, &config, store, clock).expect("a host")
    }

    /// A store that holds nothing but these sessions. Their components are ready, so that their bundles' files are
    /// never asked for.
    pub(crate) async fn store<'a>(sessions: impl Iterator<Item = &'a Template>) -> MemoryStore {
        let store = MemoryStore::new();
        for session in sessions {
            session.put(&store).await;
        }
        store
    }
}

/// The data folder of a host.
fn folder(data: &Path, host: u32) -> PathBuf {
    data.join(format!("host-{host}"))
}

/// The file that a session's tools write to on a host.
pub(crate) fn log_path(data: &Path, host: u32, id: &SessionId) -> PathBuf {
    folder(data, host).join("workspaces").join(id.as_str()).join("log")
}

impl Template {
    async fn read(store: &MemoryStore, id: SessionId, created: Created) -> Template {
        let records = store.read(&id, 0, u32::MAX).await.expect("its first entries");
        let mut session = Session::new(id.clone());
        let mut entries = Vec::new();
        for record in &records {
            let entry = rewake_core::codec::open(&id, session.head, record).expect("its own entry");
            session.apply(&entry).expect("it folds");
            entries.push(entry);
        }
        let script = match created.agent.script {
            Some(digest) => store.blob(PROJECT, &digest).await.expect("readable"),
            None => None,
        };
        let projection = Projection::of(&session);
        let vouchers = store.vouchers(&id).await.expect("readable");
        Template { id, created, records, entries, projection, script, vouchers }
    }

    async fn put(&self, store: &MemoryStore) {
        for pin in &self.created.bundles {
            let (name, version) = (pin.name.clone(), pin.version.clone());
            let bundle = Bundle { digest: pin.digest, name, version, files: Vec::new() };
            store.put_bundle(bundle).await.expect("kept");
        }
        if let Some(script) = &self.script {
            store.put_blob(PROJECT, script.clone()).await.expect("kept");
        }
        let new = store::NewSession {
            session: self.id.clone(),
            project: PROJECT.into(),
            epoch: 0,
            records: self.records.clone(),
            projection: self.projection.clone(),
            bundles: self.created.bundles.iter().map(|bundle| bundle.digest).collect(),
            vouchers: self.vouchers.clone(),
        };
        store.create(new).await.expect("created");
    }
}
