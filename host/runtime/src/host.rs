//! The host: one process able to run sessions. Creates, loads and lets go of them, and takes commands;
//! what a session does is its driver's.

mod importing;
mod install;
mod read;
pub mod solo;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use rewake_core::Refusal;
use rewake_core::codec::{self, Seal};
use rewake_core::command::Command;
use rewake_core::decide::{self, Input};
use rewake_core::fact::Created;
use rewake_core::ids::{HostId, SessionId};
use rewake_core::session::Session;
use rewake_store::{self as store, HostLock, Projection, Store, StoreError};
use rewake_wire::Sender;
use thiserror::Error;
use tokio::sync::{Notify, broadcast, mpsc, watch};

pub use self::importing::Import;
use self::install::kept;
pub use self::install::{Candidate, catalogue, complete, find, gather};
pub use self::read::{events, pins, verify};
use crate::audit::{self, Replayed};
use crate::baseline::Baseline;
use crate::bundle::Bundle;
use crate::compiler::{CompileLimits, Compiler};
use crate::components::Components;
use crate::config::{Limits, Rules};
use crate::context::SessionContext;
use crate::driver::{Driver, Options, corrupt_fault};
use crate::egress::{Egress, HttpLimits};
use crate::grants;
use crate::lease::{Keeper, LEASE_MS, boot_ms};
use crate::live::{Followers, Gone, Live};
use crate::load::{self, Unreadable};
use crate::loaded::Loaded;
use crate::mounts::{self, Volumes};
use crate::plan::{self, NewSession, PlanError};
use crate::providers::Models;
use crate::workspace::{self, Copied, WorkspaceError};
use crate::{HOST_VERSION, PROJECT};

/// Where a host keeps things.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data folder: journal, workspaces, locks.
    pub data: PathBuf,
    /// The folder of compiled components; private to this user, outside of the data folder.
    pub cache: PathBuf,
    /// Entries between two snapshots of a session.
    pub snapshot_entries: u64,
    /// The operator's rules; none: `rewake.toml` in the data folder, if it is there. Read again whenever a
    /// session is made or loaded.
    pub rules: Option<PathBuf>,
    /// The program that compiles components, in a process of its own each: one that calls
    /// [`compile_for_parent`](crate::compiler::compile_for_parent). None: this process compiles, as tests
    /// do.
    pub compiler: Option<PathBuf>,
    /// What compiling a component may cost.
    pub compile: CompileLimits,
}

/// Why a host does not do what it was asked.
#[derive(Debug, Error)]
pub enum HostError {
    /// The operator's rules are not as they must be.
    #[error(transparent)]
    Rules(crate::bundle::Error),
    /// The session cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The workspace cannot be made.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The store does not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal's rules refuse it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The session takes no step here.
    #[error("session {session} takes no step here ({}): {}", fault.reason, fault.detail)]
    Faulted {
        /// Which.
        session: SessionId,
        /// Why.
        fault: Box<rewake_wire::Fault>,
    },
    /// This machine cannot run it.
    #[error("{0}")]
    Machine(String),
}

/// A new session.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its id.
    pub id: SessionId,
    /// What it will run with.
    pub created: Created,
    /// What was copied into its workspace.
    pub copied: Copied,
}

/// One process able to run sessions. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    id: HostId,
    data: PathBuf,
    cache: PathBuf,
    rules: Option<PathBuf>,
    snapshot_entries: u64,
    store: Arc<dyn Store>,
    components: Arc<Components>,
    models: Arc<Models>,
    egress: Arc<Egress>,
    loaded: std::sync::Mutex<HashMap<SessionId, Loaded>>,
    /// One load at a time: two of one session would fence each other.
    loading: tokio::sync::Mutex<()>,
    lock: HostLock,
}

impl Host {
    /// Opens a host over a store.
    ///
    /// # Errors
    /// If the operator's rules are not as they must be, or the engines or the host's lock cannot be had.
    pub fn open(config: &Config, store: Arc<dyn Store>) -> Result<Host, HostError> {
        let limits = Rules::find(config.rules.as_deref(), &config.data).map_err(HostError::Rules)?.limits;
        let compiler = Compiler::new(config.compiler.clone(), limits.compile.over(config.compile));
        let components = Components::open(&config.cache, compiler)
            .map_err(|error| HostError::Machine(format!("this machine cannot run components: {error:?}")))?;
        Host::over(config, store, components, &limits)
    }

    fn over(
        config: &Config,
        store: Arc<dyn Store>,
        components: Arc<Components>,
        limits: &Limits,
    ) -> Result<Host, HostError> {
        let id =
            HostId::parse(&format!("host_{}", ulid()?)).map_err(|bad| HostError::Machine(bad.to_string()))?;
        let lock = HostLock::take(&config.data, &id)?;
        workspace::sweep(&config.data);
        Ok(Host(Arc::new(Inner {
            id,
            data: config.data.clone(),
            cache: config.cache.clone(),
            rules: config.rules.clone(),
            snapshot_entries: config.snapshot_entries.max(1),
            store,
            components,
            models: Arc::new(Models::default()),
            egress: Arc::new(Egress::new(limits.http.over(HttpLimits::default()))),
            loaded: std::sync::Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            lock,
        })))
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.0.data
    }

    /// The operator's rules as they are now.
    ///
    /// # Errors
    /// With everything that is wrong with the file.
    pub fn rules(&self) -> Result<Rules, HostError> {
        Rules::find(self.0.rules.as_deref(), &self.0.data).map_err(HostError::Rules)
    }

    /// Creates a session; it is not loaded. Everything it will run with is pinned and kept.
    ///
    /// # Errors
    /// If a bundle is not as it must be, or something cannot be kept. Nothing is then created.
    pub async fn create(&self, new: &NewSession) -> Result<Made, HostError> {
        let inner = &self.0;
        if let Some(from) = new.workspace.as_ref().filter(|from| !from.is_dir()) {
            return Err(WorkspaceError::NoFolder(from.clone()).into());
        }
        let set = self.gather(new).await?;
        let plan = plan::plan(&inner.components, &self.rules()?, new, &set).await?;
        let id = SessionId::parse(&format!("ses_{}", ulid()?))
            .map_err(|bad| HostError::Machine(bad.to_string()))?;
        for bundle in &plan.bundles {
            inner.store.put_bundle(kept(bundle)).await?;
        }
        if let Some(script) = plan.script {
            inner.store.put_blob(PROJECT, script).await?;
        }
        let created = plan.created.clone();
        let made = async {
            let copied = self.fill_workspace(&id, new.workspace.as_deref()).await?;
            self.note_baseline(&id, new.workspace.as_deref()).await?;
            workspace::keep(&inner.data, &id)?;
            self.write_first_entry(&id, plan.created).await?;
            Ok(Made { id: id.clone(), created, copied })
        };
        made.await.inspect_err(|_| workspace::discard(&inner.data, &id))
    }

    async fn fill_workspace(&self, id: &SessionId, from: Option<&Path>) -> Result<Copied, HostError> {
        let folder = workspace::create(&self.0.data, id)?;
        let Some(from) = from.map(Path::to_owned) else { return Ok(Copied::default()) };
        let copied = tokio::task::spawn_blocking(move || workspace::copy_in(&from, &folder)).await;
        Ok(copied.map_err(|error| HostError::Machine(error.to_string()))??)
    }

    async fn note_baseline(&self, id: &SessionId, from: Option<&Path>) -> Result<(), HostError> {
        let (data, id, from) = (self.0.data.clone(), id.clone(), from.map(Path::to_owned));
        let noted = tokio::task::spawn_blocking(move || {
            Baseline::note(&data, &id, &workspace::new_path(&data, &id), from.as_deref())
        });
        let noted = noted.await.map_err(|error| HostError::Machine(error.to_string()))?;
        noted.map_err(|error| HostError::Machine(format!("noting what the workspace holds: {error}")))
    }

    async fn write_first_entry(&self, id: &SessionId, created: Created) -> Result<(), HostError> {
        let bundles = created.bundles.iter().map(|bundle| bundle.digest).collect();
        let mut session = Session::new(id.clone());
        let decision = decide::decide(&session, Input::Create(Box::new(created)))?;
        let mut records = Vec::new();
        for draft in decision.entries {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|error| HostError::Machine(error.to_string()))?;
            let seal = Seal { epoch: 0, at: self.0.store.now(), salt };
            let (entry, record) = codec::seal(id, session.head, seal, draft)?;
            session.apply(&entry).map_err(|corrupt| HostError::Machine(corrupt.to_string()))?;
            records.push(record);
        }
        let new = store::NewSession {
            session: id.clone(),
            project: PROJECT.to_owned(),
            epoch: 0,
            records,
            projection: Projection::of(&session),
            bundles,
        };
        Ok(self.0.store.create(new).await?)
    }

    /// Takes a session up: acquires its lease, reads it back, and runs what is due. Cheap if this host
    /// runs it already. What comes with it is told everything from then on.
    ///
    /// # Errors
    /// If it is not there, another host has it, it takes no step here, or a component cannot be had.
    pub async fn load(&self, id: &SessionId) -> Result<(Loaded, broadcast::Receiver<Live>), HostError> {
        let _loading = self.0.loading.lock().await;
        if let Some(loaded) = self.loaded(id) {
            let follower = loaded.follow();
            if !loaded.leaving.load(Ordering::Acquire) {
                return Ok((loaded, follower));
            }
            loaded.gone().await;
        }
        let inner = &self.0;
        if let Some(fault) = inner.store.fault(id).await? {
            // Another version may replay what this one could not.
            if fault.host_version != HOST_VERSION {
                inner.store.set_fault(id, None).await?;
            } else {
                return Err(HostError::Faulted { session: id.clone(), fault: Box::new(fault) });
            }
        }
        let asked_ms = boot_ms();
        let dead = |host: &HostId| inner.lock.is_dead(host);
        let lease = inner.store.acquire(id, &inner.id, LEASE_MS, &dead).await;
        let lease = lease.map_err(|error| self.named(error))?;
        let keeper = Keeper::new(inner.store.clone(), lease.clone(), asked_ms);
        let (cx, folded) = match self.read_back(id).await {
            Ok(read) => read,
            Err(error) => {
                keeper.release().await;
                return Err(error);
            }
        };
        let followers = Followers::new();
        let wake = Arc::new(Notify::new());
        let (leave_sender, leave) = mpsc::channel(1);
        let leaving = Arc::default();
        let (told, gone) = watch::channel(None);
        let options = Options {
            cx,
            folded,
            lease,
            keeper,
            followers: followers.clone(),
            wake: wake.clone(),
            leave,
            leaving: Arc::clone(&leaving),
            snapshot_entries: inner.snapshot_entries,
        };
        let loaded =
            Loaded { id: id.clone(), followers: followers.clone(), wake, leave: leave_sender, leaving, gone };
        self.lock().insert(id.clone(), loaded.clone());
        let (host, id) = (self.clone(), id.clone());
        let follower = followers.follow();
        tokio::spawn(async move {
            // A task of its own, so that a session whose driver panics is not held for ever.
            let driven = tokio::spawn(Driver::drive(options)).await;
            let gone = driven.unwrap_or_else(|error| Gone::Failed(format!("a bug of this host: {error}")));
            host.lock().remove(&id);
            followers.tell(Live::Gone(gone.clone()));
            let _ = told.send(Some(gone));
        });
        Ok((loaded, follower))
    }

    /// The same error, with the process that has the session.
    fn named(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Busy { session, holder, expires_at, process: _ } => {
                let process = self.0.lock.process_of(&holder);
                StoreError::Busy { session, holder, process, expires_at }
            }
            other => other,
        }
    }

    /// What loading needs, in order: pins, components, fold.
    async fn read_back(&self, id: &SessionId) -> Result<(Arc<SessionContext>, load::Folded), HostError> {
        let folded = match load::fold(self.0.store.as_ref(), id).await {
            Ok(folded) => folded,
            Err(Unreadable::Store(error)) => return Err(error.into()),
            Err(Unreadable::Corrupt(corrupt)) => {
                let fault = corrupt_fault(&corrupt);
                self.0.store.set_fault(id, Some(fault.clone())).await?;
                return Err(HostError::Faulted { session: id.clone(), fault: Box::new(fault) });
            }
        };
        self.settle_imports(id, folded.session.imported).await?;
        let folder = workspace::path(&self.0.data, id);
        if folded.session.ended.is_none() && !workspace::is_there(&folder) {
            let folder = folder.display();
            return Err(HostError::Machine(format!(
                "the workspace of {id} is gone: put it back at {folder}"
            )));
        }
        let created = folded.session.pins().clone();
        let cx = self.context(id, created).await?;
        cx.volumes.clear(id);
        Ok((cx, folded))
    }

    /// Makes a session's components ready, from its bundles as the store keeps them.
    async fn context(&self, id: &SessionId, created: Created) -> Result<Arc<SessionContext>, HostError> {
        let inner = &self.0;
        let rules = self.rules()?;
        for pin in &created.bundles {
            let used = created.components.iter().filter(|component| component.bundle == pin.name);
            let missing: Vec<_> =
                used.filter(|pin| inner.components.get(pin.digest, pin.kind).is_none()).collect();
            if missing.is_empty() {
                continue;
            }
            let Some(kept) = inner.store.bundle(&pin.digest).await? else {
                let what =
                    format!("bundle {} {} ({}) is not in this store", pin.name, pin.version, pin.digest);
                return Err(HostError::Machine(what));
            };
            let files = kept.files.into_iter().map(|(path, bytes)| (path, bytes.into())).collect();
            let bundle = Bundle::from_files(files).map_err(PlanError::Bundle)?;
            for component in missing {
                match bundle.component(&component.name).filter(|found| found.digest == component.digest) {
                    Some(found) => plan::ready(&inner.components, &bundle, found).await?,
                    None => {
                        let what =
                            format!("bundle {} no longer has the component {}", pin.name, component.name);
                        return Err(HostError::Machine(what));
                    }
                }
            }
        }
        let grants = grants::of_session(&rules, &created);
        let volumes = self.volumes(id, &created, &rules).await?;
        Ok(Arc::new(SessionContext {
            id: id.clone(),
            created: grants::narrow(created, &grants),
            grants,
            volumes,
            rules: Arc::new(rules),
            components: inner.components.clone(),
            models: inner.models.clone(),
            egress: inner.egress.clone(),
            store: inner.store.clone(),
            running: Arc::default(),
        }))
    }

    /// The folders behind a session's mounts; the files of bundles are laid out where a component sees them.
    async fn volumes(&self, id: &SessionId, created: &Created, rules: &Rules) -> Result<Volumes, HostError> {
        let inner = &self.0;
        let mut bundles = BTreeMap::new();
        for (name, digest) in mounts::bundles_seen(created) {
            let kept = inner.store.bundle(&digest).await?;
            let files = kept.map(|kept| kept.files.into_iter().collect()).unwrap_or_default();
            let cache = inner.cache.clone();
            let laid_out = tokio::task::spawn_blocking(move || mounts::lay_out(&cache, digest, &files)).await;
            let volume = laid_out
                .map_err(std::io::Error::other)
                .and_then(|laid_out| laid_out)
                .map_err(|error| HostError::Machine(format!("cannot lay out the bundle {name}: {error}")))?;
            bundles.insert(name.to_owned(), Arc::new(volume));
        }
        let quota = workspace::quota(&rules.limits.workspace);
        let workspace = (workspace::path(&inner.data, id), quota);
        Ok(Volumes::new(&inner.data, id, workspace, &rules.dirs, bundles))
    }

    /// Puts a command into a session's inbox, and wakes the session if this host runs it. Returns its
    /// number once it is durable.
    ///
    /// # Errors
    /// If the session is not there or has ended, or the command is over a limit.
    pub async fn send(
        &self,
        id: &SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> Result<u64, HostError> {
        let n = self.0.store.send(id, sender, command, key).await?;
        if let Some(loaded) = self.loaded(id) {
            loaded.wake.notify_one();
        }
        Ok(n)
    }

    /// A session that this host runs.
    pub fn loaded(&self, id: &SessionId) -> Option<Loaded> {
        self.lock().get(id).cloned()
    }

    /// Replays a session's completed steps, and compares. Changes nothing.
    ///
    /// # Errors
    /// If the session cannot be read back, or a component of it cannot be had.
    pub async fn replay(&self, id: &SessionId) -> Result<Replayed, HostError> {
        let mut entries = Vec::new();
        let mut session = Session::new(id.clone());
        match load::fold_on(self.0.store.as_ref(), &mut session, |entry| entries.push(entry)).await {
            Ok(_) => {}
            Err(Unreadable::Store(error)) => return Err(error.into()),
            Err(Unreadable::Corrupt(corrupt)) => {
                let fault = Box::new(corrupt_fault(&corrupt));
                return Err(HostError::Faulted { session: id.clone(), fault });
            }
        }
        let Some(created) = session.created.take() else {
            return Err(StoreError::NotFound(format!("session {id}")).into());
        };
        let cx = self.context(id, *created).await?;
        audit::replay(&cx, entries).await.map_err(HostError::Machine)
    }

    /// Lets go of every session, in good order.
    pub async fn shut_down(&self) {
        let all: Vec<Loaded> = self.lock().values().cloned().collect();
        for loaded in all {
            loaded.unload("shutdown").await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Loaded>> {
        self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ulid() -> Result<String, HostError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| HostError::Machine(format!("no randomness: {error}")))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    Ok(ulid::Ulid::from_parts(ms, u128::from_le_bytes(bytes)).to_string())
}
