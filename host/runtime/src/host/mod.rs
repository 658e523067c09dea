//! The host: one process able to run sessions. Takes commands for them, and unloads them; how they are made
//! and loaded stands in `host/`, and what a session does is its driver's.

mod arrivals;
mod creating;
mod importing;
mod install;
mod loading;
mod read;
pub mod standalone;
mod trust;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::fact::{Created, Source};
use rewake_core::ids::{HostId, SessionId};
use rewake_core::session::Session;
use rewake_store::{HostLock, Store, StoreError};
use rewake_wire::Sender;
use thiserror::Error;
use tokio::sync::OnceCell;
use tracing::warn;

pub use self::importing::Import;
pub use self::install::{Candidate, catalogue, complete, find, gather};
pub use self::read::{Standing, events, pins, standing, verify};
pub use self::trust::{Granted, Unvouched, granted};
use crate::driver::corrupt_fault;
use crate::load::{self, Unreadable};
use crate::loaded::Loaded;
use crate::plan::PlanError;
use crate::replay_check::{self, Replayed};
pub use rewake_egress::Mock as HttpMock;
use rewake_egress::{Egress, HttpLimits};
use rewake_models::Models;
use rewake_policy::config::{Rules, RulesFile};
use rewake_policy::grants::Vouched;
use rewake_policy::trust::TrustKey;
use rewake_sandbox::clock::{Clock, MachineClock};
use rewake_sandbox::compiler::{CompileLimits, Compiler};
use rewake_sandbox::components::Components;
use rewake_sandbox::workspace::{Copied, WorkspaceError};

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
    /// The key that vouches for approvals; outside of the data folder and the cache.
    pub trust: TrustKey,
    /// The program that compiles components, in a process of its own each: one that calls
    /// [`compile_for_parent`](rewake_sandbox::compiler::compile_for_parent). None: this process compiles, as tests
    /// do.
    pub compiler: Option<PathBuf>,
    /// What compiling a component may cost.
    pub compile: CompileLimits,
    /// Answers in place of the network, for tests: nothing leaves the machine, and only scripted models are asked.
    pub mocks: Option<Vec<HttpMock>>,
}

/// Why a host does not do what it was asked.
#[derive(Debug, Error)]
pub enum HostError {
    /// The operator's rules are not as they must be.
    #[error(transparent)]
    Rules(rewake_toml::Error),
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
    rules: RulesFile,
    /// What was said about the rules already.
    warned: Mutex<BTreeSet<String>>,
    snapshot_entries: u64,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    files_in_place: bool,
    components: Arc<Components>,
    models: Arc<Models>,
    egress: Arc<Egress>,
    loaded: Mutex<HashMap<SessionId, Loaded>>,
    /// One load at a time: two of one session would fence each other.
    loading: tokio::sync::Mutex<()>,
    lock: OnceCell<HostLock>,
    /// Set once arrivals are looked for.
    arrivals: OnceCell<()>,
}

/// What a host has of its machine.
struct Machine {
    /// May be other hosts' too.
    components: Arc<Components>,
    clock: Arc<dyn Clock>,
    /// See [`Sandbox::files_in_place`](rewake_bindings::Sandbox).
    files_in_place: bool,
}

impl Host {
    /// Opens a host over a store. Writes nothing yet.
    ///
    /// # Errors
    /// If the operator's rules are not as they must be, or the engines cannot be had.
    pub fn open(config: &Config, store: Arc<dyn Store>) -> Result<Host, HostError> {
        let (rules, read) = read_rules(config)?;
        let compiler = Compiler::new(config.compiler.clone(), read.limits.compile.over(config.compile));
        let components = Components::open(&config.cache, compiler)
            .map_err(|error| HostError::Machine(format!("this machine cannot run components: {error:#}")))?;
        let clock = Arc::new(MachineClock);
        Host::over(config, store, Machine { components, clock, files_in_place: false }, rules, &read)
    }

    fn over(
        config: &Config,
        store: Arc<dyn Store>,
        machine: Machine,
        rules: RulesFile,
        read: &Rules,
    ) -> Result<Host, HostError> {
        let Machine { components, clock, files_in_place } = machine;
        let id =
            HostId::parse(&format!("host_{}", ulid()?)).map_err(|bad| HostError::Machine(bad.to_string()))?;
        let authorities = read.authorities().map_err(HostError::Rules)?;
        let egress = Egress::new(read.limits.http.over(HttpLimits::default()), &authorities)
            .map_err(|why| HostError::Machine(format!("this machine cannot do TLS: {why}")))?;
        let egress = match &config.mocks {
            Some(mocks) => egress.mocked(mocks.clone()),
            None => egress,
        };
        let egress = Arc::new(egress);
        let models = Arc::new(Models::new(egress.clone(), store.clone()));
        Ok(Host(Arc::new(Inner {
            id,
            data: config.data.clone(),
            cache: config.cache.clone(),
            rules,
            warned: Mutex::default(),
            snapshot_entries: config.snapshot_entries.max(1),
            models,
            store,
            clock,
            files_in_place,
            components,
            egress,
            loaded: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            lock: OnceCell::new(),
            arrivals: OnceCell::new(),
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
        let rules = self.0.rules.read().map_err(HostError::Rules)?;
        self.warn(&rules.warnings);
        Ok(rules)
    }

    /// Says what is unsafe about the operator's rules, each thing once.
    fn warn(&self, warnings: &[String]) {
        let mut warned = self.0.warned.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings {
            if warned.insert(warning.clone()) {
                warn!("{warning}");
            }
        }
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

    /// Replays a session's completed steps, and compares. Changes nothing, and asks no rule: what is replayed
    /// performs nothing.
    ///
    /// # Errors
    /// If the session cannot be replayed, or a component of it cannot be had.
    pub async fn replay(&self, id: &SessionId) -> Result<Replayed, HostError> {
        let mut entries = Vec::new();
        let mut session = Session::new(id.clone());
        match load::fold_whole(self.0.store.as_ref(), &mut session, |entry| entries.push(entry)).await {
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
        let (rules, vouched) = (Rules::none(PathBuf::new()), Vouched::default());
        let cx = self.context(id, *created, Source::Resume, rules, vouched).await?;
        replay_check::replay(&cx, entries).await.map_err(HostError::Machine)
    }

    /// Unloads every session, in good order.
    pub async fn shut_down(&self) {
        let all: Vec<Loaded> = self.lock().values().cloned().collect();
        for loaded in all {
            loaded.unload("shutdown").await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Loaded>> {
        self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The operator's rules, and what they say now.
fn read_rules(config: &Config) -> Result<(RulesFile, Rules), HostError> {
    let rules = RulesFile::new(config.rules.as_deref(), &config.data, &config.cache, &config.trust);
    let read = rules.read().map_err(HostError::Rules)?;
    Ok((rules, read))
}

fn ulid() -> Result<String, HostError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| HostError::Machine(format!("no randomness: {error}")))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    Ok(ulid::Ulid::from_parts(ms, u128::from_le_bytes(bytes)).to_string())
}
