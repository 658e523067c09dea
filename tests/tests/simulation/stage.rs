//! What all seeds of a process share, because making it costs more than a seed does: compiled components, a data
//! folder, and the sessions as they are when they have just been created. Nothing of a seed's course stands here.

use std::path::PathBuf;
use std::sync::Arc;

use rewake_core::codec::Record;
use rewake_core::fact::Created;
use rewake_core::ids::SessionId;
use rewake_core::session::Session;
use rewake_runtime::compiler::CompileLimits;
use rewake_runtime::workbench::Workbench;
use rewake_runtime::{Config, Host, NewSession, PROJECT};
use rewake_store::{self as store, Blobs as _, Bundle, Bundles as _, Journal as _, MemoryStore, Projection};
use rewake_tests::bundles::root;
use rewake_tests::world::asked_for;
use tempfile::TempDir;

use crate::plan;

/// A session that was just created.
pub(crate) struct Template {
    pub(crate) id: SessionId,
    created: Created,
    records: Vec<Record>,
    projection: Projection,
    script: Option<Vec<u8>>,
}

/// What all seeds of a process share.
pub(crate) struct Stage {
    bench: Workbench,
    config: Config,
    templates: Vec<Template>,
    _data: TempDir,
}

impl Stage {
    /// Makes the components ready and the sessions.
    pub(crate) fn new() -> Stage {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(Stage::made())
    }

    async fn made() -> Stage {
        let data = tempfile::tempdir().expect("a data folder");
        let config = Config {
            data: data.path().to_owned(),
            cache: root().join("target/test-components"),
            snapshot_entries: 1_000,
            rules: None,
            compiler: None,
            compile: CompileLimits::default(),
        };
        let bench = Workbench::open(&config.cache, None, CompileLimits::default()).expect("engines");
        let mut stage = Stage { bench, config, templates: Vec::new(), _data: data };
        for (n, draft) in plan::bundles().iter().enumerate() {
            let folder = draft.write(&stage.config.data.join("bundles").join(n.to_string()));
            let template = stage.template(NewSession { bundle: folder.into(), ..asked_for() }).await;
            stage.templates.push(template);
        }
        stage
    }

    async fn template(&self, new: NewSession) -> Template {
        let store = Arc::new(MemoryStore::new());
        let host = self.host(1_000, store.clone());
        let made = host.create(&new).await.expect("a session");
        let records = store.read(&made.id, 0, u32::MAX).await.expect("its first entries");
        let mut session = Session::new(made.id.clone());
        for record in &records {
            let entry = rewake_core::codec::open(&made.id, session.head, record).expect("its own entry");
            session.apply(&entry).expect("it folds");
        }
        let script = match made.created.agent.script {
            Some(digest) => store.blob(PROJECT, &digest).await.expect("readable"),
            None => None,
        };
        let projection = Projection::of(&session);
        Template { id: made.id, created: made.created, records, projection, script }
    }

    pub(crate) fn session(&self, bundle: usize) -> &Template {
        &self.templates[bundle]
    }

    /// A host over a store, in the shared data folder, with the components that are ready.
    pub(crate) fn host(&self, snapshot_entries: u64, store: Arc<dyn store::Store>) -> Host {
        let config = Config { snapshot_entries, ..self.config.clone() };
        Host::open_on(&self.bench, &config, store).expect("a host")
    }

    /// What tools of a session have written, line by line; and whoever reads it next finds nothing.
    pub(crate) fn log(&self, id: &SessionId) -> Vec<String> {
        let text = std::fs::read_to_string(self.log_path(id)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Has a session's tools have written nothing.
    pub(crate) fn clear(&self, id: &SessionId) {
        let _ = std::fs::remove_file(self.log_path(id));
    }

    fn log_path(&self, id: &SessionId) -> PathBuf {
        self.config.data.join("workspaces").join(id.as_str()).join("log")
    }
}

impl Template {
    /// A store that holds nothing but this session. Its components are ready, so that their bundles' files are
    /// never asked for.
    pub(crate) async fn store(&self) -> MemoryStore {
        let store = MemoryStore::new();
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
        };
        store.create(new).await.expect("created");
        store
    }
}
