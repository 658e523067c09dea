//! What figures are measured on: a data folder with a store, the real host over it, bundles of the benchmarks'
//! guests, and sessions that are sent plans. Measures nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_core::limits::{SNAPSHOT_ENTRIES, TURN_STEPS_MAX};
use rewake_policy::limits::CompileLimits;
use rewake_policy::trust::TrustKey;
use rewake_runtime::live::Live;
use rewake_runtime::{Approval, Config, Host, Loaded, NewSession};
use rewake_store::{MemoryStore, OpenOptions, SqliteStore, Store};
use rewake_wire::{Part, Sender};
use serde::Serialize;
use tempfile::TempDir;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::{Failed, Result};

/// How long anything may take before it is sure that it hangs.
const HANGS: Duration = Duration::from_secs(90);
/// How often the client that follows a session looks for more, as `rewake run` does.
const PACE: Duration = Duration::from_millis(5);

/// Where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The components of the guests.
    pub(crate) guests: PathBuf,
    /// What is compiled is kept here.
    pub(crate) cache: PathBuf,
    /// Data folders are made in it: on the disk that is measured.
    pub(crate) data: PathBuf,
    /// A tool that QuickJS runs, if there is one.
    pub(crate) js: Option<PathBuf>,
}

impl Places {
    /// The key that vouches for what the benchmarks' sessions are granted.
    pub(crate) fn trust(&self) -> TrustKey {
        TrustKey::in_state(Some(&self.data.join("bench-state")))
    }
}

/// A store and a host over it, in a folder of their own.
pub(crate) struct Bed {
    dir: TempDir,
    pub(crate) host: Host,
    pub(crate) store: Arc<dyn Store>,
    sqlite: Option<Arc<SqliteStore>>,
    places: Places,
}

/// What a message asks the harness for; see `tests/guests/src/bin/harness_bench.rs`.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Plan {
    pub(crate) steps: u32,
    pub(crate) calls: u32,
    pub(crate) tool: &'static str,
    pub(crate) input: String,
    pub(crate) clocks: u32,
    pub(crate) asks: bool,
    pub(crate) state: usize,
}

impl Plan {
    /// So many calls of the tool that does hardly anything, with about 200 bytes of JSON.
    pub(crate) fn calls(calls: u32) -> Plan {
        Plan { calls, ..Plan::work(180) }
    }

    /// Calls with a text of so many bytes.
    pub(crate) fn work(bytes: usize) -> Plan {
        Plan { tool: "work", input: format!("{{\"text\":\"{}\"}}", "x".repeat(bytes)), ..Plan::default() }
    }
}

impl Bed {
    /// With the embedded store.
    pub(crate) async fn durable(places: &Places) -> Result<Bed> {
        Bed::with_snapshots(places, SNAPSHOT_ENTRIES).await
    }

    /// The same, with a snapshot every so many entries.
    pub(crate) async fn with_snapshots(places: &Places, entries: u64) -> Result<Bed> {
        Bed::on(places, Bed::folder(places)?, entries).await
    }

    /// Over what a folder holds.
    pub(crate) async fn on(places: &Places, dir: TempDir, snapshot_entries: u64) -> Result<Bed> {
        let opened = SqliteStore::open(&dir.path().join("journal.db"), OpenOptions::default()).await?;
        let sqlite = Arc::new(opened);
        Bed::over(places, dir, sqlite.clone(), Some(sqlite), snapshot_entries)
    }

    /// With a store that keeps nothing.
    pub(crate) fn in_memory(places: &Places) -> Result<Bed> {
        let dir = Bed::folder(places)?;
        Bed::over(places, dir, Arc::new(MemoryStore::new()), None, SNAPSHOT_ENTRIES)
    }

    /// A new data folder.
    pub(crate) fn folder(places: &Places) -> Result<TempDir> {
        fs::create_dir_all(&places.data)?;
        Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(&places.data)?)
    }

    fn over(
        places: &Places,
        dir: TempDir,
        store: Arc<dyn Store>,
        sqlite: Option<Arc<SqliteStore>>,
        snapshot_entries: u64,
    ) -> Result<Bed> {
        let trust = places.trust();
        trust.know(dir.path())?;
        let config = Config {
            data: dir.path().to_owned(),
            cache: places.cache.clone(),
            snapshot_entries,
            rules: None,
            trust,
            compiler: None,
            compile: CompileLimits::default(),
            mocks: None,
        };
        let host = Host::open(&config, store.clone())?;
        Ok(Bed { dir, host, store, sqlite, places: places.clone() })
    }

    /// The data folder.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a bundle of the benchmarks' harness and of `components`; returns its folder.
    pub(crate) fn bundle(&self, components: &[Component]) -> Result<PathBuf> {
        let bundle = self.path().join("bundle");
        fs::create_dir_all(&bundle)?;
        let mut manifest =
            "schema = 1\n\n[bundle]\nname = \"bench/bench\"\nversion = \"0.1.0\"\nlicense = \"MIT\"\n\
                            api = \"0.1\"\n"
                .to_owned();
        for component in [Component::harness()].iter().chain(components) {
            let file = component.file(&self.places)?;
            fs::copy(&file, bundle.join(component.name).with_extension("wasm"))
                .map_err(|error| format!("{}: {error}; `cargo xtask guests` makes it", file.display()))?;
            manifest.push_str(&component.toml());
        }
        fs::write(bundle.join("bundle.toml"), manifest)?;
        Ok(bundle)
    }

    /// A session of such a bundle, loaded and at rest.
    pub(crate) async fn session(&self, components: &[Component]) -> Result<Session> {
        let bundle = self.bundle(components)?;
        let id = self.create(&bundle, None).await?;
        Session::load(&self.host, &id).await
    }

    /// A session that has made so many calls in one step, and is not loaded.
    pub(crate) async fn played(&self, calls: u32) -> Result<SessionId> {
        let mut session = self.session(&[Component::tools()]).await?;
        let id = session.id.clone();
        session.turn(&Plan::calls(calls)).await?;
        session.unload().await;
        Ok(id)
    }

    /// Creates a session of a bundle.
    pub(crate) async fn create(&self, bundle: &Path, model: Option<&str>) -> Result<SessionId> {
        let new = NewSession {
            bundle: bundle.to_owned().into(),
            approval: Some(Approval::of_all("bench")),
            origin: "bench".to_owned(),
            model: model.map(str::to_owned),
            max_steps: Some(TURN_STEPS_MAX),
            ..NewSession::default()
        };
        Ok(self.host.create(&new).await?.id)
    }

    /// Releases all sessions and closes the store, whose log is then in its file. Returns the folder.
    pub(crate) async fn close(self) -> TempDir {
        self.host.shut_down().await;
        if let Some(sqlite) = &self.sqlite {
            sqlite.close().await;
        }
        self.dir
    }
}

/// A component of a bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    name: &'static str,
    kind: &'static str,
    more: &'static str,
}

impl Component {
    const fn harness() -> Component {
        Component { name: "harness_bench", kind: "harness", more: "state_version = 1\n" }
    }

    /// The tools, in Rust.
    pub(crate) const fn tools() -> Component {
        Component { name: "tool_bench", kind: "tool", more: "" }
    }

    /// The tool that QuickJS runs.
    pub(crate) const fn js() -> Component {
        Component { name: "tool_js", kind: "tool", more: "" }
    }

    /// The hook that every tool call must pass.
    pub(crate) const fn hook() -> Component {
        Component {
            name: "hook_bench",
            kind: "hook",
            more: "\n[[component.hook_bench.on]]\nevent = \"PreToolUse\"\n",
        }
    }

    fn file(&self, places: &Places) -> Result<PathBuf> {
        match (&places.js, self.name) {
            (Some(js), "tool_js") => Ok(js.clone()),
            (None, "tool_js") => Err("no component was named".into()),
            (_, name) => Ok(places.guests.join(name).with_extension("wasm")),
        }
    }

    fn toml(&self) -> String {
        let Component { name, kind, more } = self;
        format!("\n[component.{name}]\nkind = {kind:?}\nsource = \"{name}.wasm\"\n{more}")
    }
}

/// A session that the host runs, and that is followed as a client does.
pub(crate) struct Session {
    host: Host,
    pub(crate) id: SessionId,
    loaded: Loaded,
    follower: broadcast::Receiver<Live>,
    /// When it looked for more last.
    looked: tokio::time::Instant,
}

impl Session {
    /// Loads a session, and waits until it rests.
    pub(crate) async fn load(host: &Host, id: &SessionId) -> Result<Session> {
        let (loaded, follower) = host.load(id).await?;
        let looked = tokio::time::Instant::now();
        let mut session = Session { host: host.clone(), id: id.clone(), loaded, follower, looked };
        session.rest().await?;
        Ok(session)
    }

    /// Sends a plan and waits until its turn is on the disk; how long that took from the sending on. Then waits
    /// until the session rests.
    pub(crate) async fn turn(&mut self, plan: &Plan) -> Result<Duration> {
        let since = Instant::now();
        self.send(plan).await?;
        self.entry("turn.completed").await?;
        let took = since.elapsed();
        self.rest().await?;
        Ok(took)
    }

    /// Sends a plan.
    pub(crate) async fn send(&self, plan: &Plan) -> Result {
        let command = Command::Message { parts: vec![Part::text(serde_json::to_string(plan)?)] };
        self.host.send(&self.id, Sender::Operator("bench".into()), command, None).await?;
        Ok(())
    }

    /// Waits for an entry of a kind.
    pub(crate) async fn entry(&mut self, kind: &str) -> Result {
        loop {
            match self.next().await? {
                Live::Entry(entry) if entry.kind() == kind => return Ok(()),
                Live::Entry(entry) if entry.kind() == "turn.failed" => {
                    return Err(format!("a turn failed: {}", entry.event().data).into());
                }
                _ => {}
            }
        }
    }

    /// Waits until nothing is being done.
    pub(crate) async fn rest(&mut self) -> Result {
        while !matches!(self.next().await?, Live::Idle) {}
        Ok(())
    }

    /// What happens next.
    pub(crate) async fn next(&mut self) -> Result<Live> {
        loop {
            let waits = self.follower.is_empty();
            if waits {
                tokio::time::sleep_until(self.looked + PACE).await;
            }
            let heard = tokio::time::timeout(HANGS, self.follower.recv()).await;
            if waits {
                self.looked = tokio::time::Instant::now();
            }
            match heard.map_err(|_| Failed::from("a session hangs"))? {
                Ok(Live::Unloaded(gone)) => return Err(format!("a session is gone: {gone:?}").into()),
                Ok(live) => return Ok(live),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err("a session is gone".into()),
            }
        }
    }

    /// Has the host unloaded it.
    pub(crate) async fn unload(self) {
        self.loaded.unload("bench").await;
    }
}
