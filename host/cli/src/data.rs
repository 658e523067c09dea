//! Where things are kept, and how they are opened: to be read, or to run sessions.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use rewake_core::ids::SessionId;
use rewake_core::limits::SNAPSHOT_ENTRIES;
use rewake_policy::config::RulesFile;
use rewake_policy::limits::CompileLimits;
use rewake_policy::trust::{KEY_VARIABLE, TrustKey};
use rewake_runtime::workbench::Workbench;
use rewake_runtime::{Config, Host, HostError};
use rewake_store::{MemoryStore, OpenOptions, SqliteStore, Store, StoreError};

use crate::exit::Failure;
use crate::shell::shell_word;

/// This very program, even if its file is replaced while it runs.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The folders.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Journal, workspaces, locks.
    pub(crate) data: PathBuf,
    /// Compiled components.
    pub(crate) cache: PathBuf,
    /// The operator's rules, if they were named.
    pub(crate) rules: Option<PathBuf>,
    /// The key that vouches for approvals.
    pub(crate) trust: TrustKey,
    /// The data folder was named, so that hints must name it too.
    is_named: bool,
}

/// A host and its store.
pub(crate) struct Opened {
    /// The host.
    pub(crate) host: Host,
    store: Arc<SqliteStore>,
}

impl Opened {
    /// Unloads everything, in good order.
    pub(crate) async fn close(self) {
        self.host.shut_down().await;
        drop(self.host);
        self.store.close().await;
    }
}

impl Places {
    /// As given, else the platform's folders of this user.
    pub(crate) fn find(
        data: Option<PathBuf>,
        cache: Option<PathBuf>,
        rules: Option<PathBuf>,
    ) -> Result<Places, Failure> {
        let is_named = data.is_some();
        let given = |path: PathBuf| {
            std::path::absolute(&path).map_err(|error| Failure::io("finding the folder", error))
        };
        let rules = rules.map(given).transpose()?;
        let (data, cache) = match (data, cache) {
            (Some(data), Some(cache)) => (given(data)?, given(cache)?),
            (data, cache) => {
                let user = etcetera::choose_base_strategy().map_err(|error| {
                    Failure::Usage(format!(
                        "there is no home folder ({error}); name folders with --data and --cache"
                    ))
                })?;
                (
                    data.map(given).transpose()?.unwrap_or_else(|| user.data_dir().join("rewake")),
                    cache
                        .map(given)
                        .transpose()?
                        .unwrap_or_else(|| user.cache_dir().join("rewake").join("components")),
                )
            }
        };
        let trust = match std::env::var_os(KEY_VARIABLE).filter(|file| !file.is_empty()) {
            Some(file) => TrustKey::named(&given(file.into())?),
            None => TrustKey::in_state(state_folder().as_deref()),
        };
        Ok(Places { data, cache, rules, trust, is_named })
    }

    /// The store, to be read only. Works while another process runs sessions, and takes no lock.
    pub(crate) async fn read(&self) -> Result<Arc<SqliteStore>, Failure> {
        match self.read_if_there().await? {
            Some(store) => Ok(store),
            None => Err(Failure::Usage(format!(
                "there are no sessions in {} yet; start one with `rewake run`, or name another folder with --data",
                self.data.display()
            ))),
        }
    }

    /// The same, before something is written to it: a store of an older version is upgraded first.
    pub(crate) async fn read_to_write(&self) -> Result<Arc<SqliteStore>, Failure> {
        match self.read().await {
            Err(Failure::Store(StoreError::Older { .. })) => {
                self.write().await?.close().await;
                self.read().await
            }
            outcome => outcome,
        }
    }

    /// As [`Places::read`]; none if nothing was ever kept here.
    pub(crate) async fn read_if_there(&self) -> Result<Option<Arc<SqliteStore>>, Failure> {
        self.check()?;
        let file = self.file();
        if !file.try_exists().map_err(|error| Failure::io(&file.display().to_string(), error))? {
            return Ok(None);
        }
        Ok(Some(Arc::new(SqliteStore::open(&file, OpenOptions { read_only: true }).await?)))
    }

    /// The store that bundles are found in by name, to be read only; an empty one if nothing was ever kept here.
    pub(crate) async fn catalogue(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(match self.read_if_there().await? {
            Some(store) => store,
            None => Arc::new(MemoryStore::new()),
        })
    }

    /// The store, to be written.
    pub(crate) async fn write(&self) -> Result<Arc<SqliteStore>, Failure> {
        self.check()?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.data)
            .map_err(|error| Failure::io(&format!("making the folder {}", self.data.display()), error))?;
        let rules = self.rules_file();
        let store = SqliteStore::open(&self.file(), OpenOptions::default()).await?;
        if let Err(error) = rules.know_new() {
            store.close().await;
            return Err(HostError::Rules(error).into());
        }
        Ok(Arc::new(store))
    }

    /// The operator's rules. Those that a user wrote into the usual data folder before its first use are theirs.
    pub(crate) fn rules_file(&self) -> RulesFile {
        let is_fresh = !self.is_named && !self.file().exists();
        RulesFile::new(self.rules.as_deref(), &self.data, &self.cache, &self.trust).fresh(is_fresh)
    }

    /// Where components are made ready outside of a session.
    pub(crate) fn workbench(&self) -> Result<Workbench, Failure> {
        let bench = Workbench::open(&self.cache, Some(THIS_PROGRAM.into()), CompileLimits::default());
        bench.map_err(Failure::Machine)
    }

    /// A host over the store as it is opened.
    pub(crate) fn host(&self, store: Arc<SqliteStore>) -> Result<Opened, Failure> {
        let config = Config {
            data: self.data.clone(),
            cache: self.cache.clone(),
            snapshot_entries: SNAPSHOT_ENTRIES,
            rules: self.rules.clone(),
            trust: self.trust.clone(),
            compiler: Some(PathBuf::from(THIS_PROGRAM)),
            compile: CompileLimits::default(),
            mocks: None,
        };
        let host = Host::open(&config, store.clone())?;
        Ok(Opened { host, store })
    }

    /// A command line, as a hint writes it.
    pub(crate) fn hint(&self, rest: &str) -> String {
        let mut line = "rewake".to_owned();
        if self.is_named {
            line.push_str(&format!(" --data {}", shell_word(&self.data.to_string_lossy())));
        }
        if let Some(rules) = &self.rules {
            line.push_str(&format!(" --config {}", shell_word(&rules.to_string_lossy())));
        }
        format!("{line} {rest}")
    }

    /// The command line that loads a session again.
    pub(crate) fn resume(&self, id: &SessionId) -> String {
        self.hint(&format!("run --session {id}"))
    }

    /// A mistaken name is told as one, before the system says something about the files in it.
    fn check(&self) -> Result<(), Failure> {
        if self.data.exists() && !self.data.is_dir() {
            let data = self.data.display();
            return Err(Failure::Usage(format!("{data} is not a folder; name the data folder with --data")));
        }
        Ok(())
    }

    fn file(&self) -> PathBuf {
        self.data.join("journal.db")
    }
}

/// Where this program keeps the trust key; none: this user has no home folder.
fn state_folder() -> Option<PathBuf> {
    let user = etcetera::choose_base_strategy().ok()?;
    Some(user.state_dir().unwrap_or_else(|| user.data_dir()).join("rewake"))
}
