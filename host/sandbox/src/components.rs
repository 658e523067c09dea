//! Components, ready to be instantiated: found by digest, compiled once, kept.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rewake_bindings::{HarnessPre, HookPre, Kind, ToolPre};
use rewake_core::fact::PluginKind;
use rewake_core::ids::Digest;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::compiler::Compiler;
use crate::component_cache::ComponentCache;
use crate::engine::{Engines, Mode};

/// How long other processes of this machine that compile are waited for: two of them, at their limits.
const TURN_WAIT_MAX: Duration = Duration::from_secs(600);

/// A component that can be instantiated.
#[derive(Clone)]
pub enum Ready {
    /// A harness, on its engine.
    Harness(Engine, HarnessPre),
    /// A tool component, on its engine.
    Tool(Engine, ToolPre),
    /// A hook, on its engine.
    Hook(Engine, HookPre),
}

/// The components of this process.
pub struct Components {
    /// The engines that run them, and the room they have.
    pub engines: Engines,
    cache: ComponentCache,
    compiler: Compiler,
    /// One compilation at a time, in this process and (by a lock in the cache) in all that share its cache:
    /// anyone who fills a machine's processors and memory with components to compile waits for themselves.
    compiling: Arc<Semaphore>,
    ready: Mutex<HashMap<(Digest, PluginKind), Ready>>,
}

impl Components {
    /// Over the engines of this process and a folder of compiled components.
    ///
    /// # Errors
    /// Why this machine cannot run components.
    pub fn open(cache: &Path, compiler: Compiler) -> wasmtime::Result<Arc<Components>> {
        Ok(Arc::new(Components {
            engines: Engines::shared()?,
            cache: ComponentCache::open(cache),
            compiler,
            compiling: Arc::new(Semaphore::new(1)),
            ready: Mutex::default(),
        }))
    }

    /// Bytes of a component that is compiled here.
    pub fn component_bytes_max(&self) -> u64 {
        self.compiler.limits().component_bytes_max
    }

    /// One that is ready already.
    pub fn get(&self, digest: Digest, kind: PluginKind) -> Option<Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(&(digest, kind)).cloned()
    }

    /// Makes a component ready: from the cache, or by compiling `bytes`, on threads that may block.
    ///
    /// # Errors
    /// Why the bytes do not compile, or are no component of this kind.
    pub async fn prepare(
        self: &Arc<Self>,
        digest: Digest,
        kind: PluginKind,
        bytes: &Bytes,
    ) -> Result<(), String> {
        if self.get(digest, kind).is_some() {
            return Ok(());
        }
        if let Some((component, mode)) = self.apart(move |all| all.cache.get(&all.engines, digest)).await? {
            return self.keep(digest, kind, &component, mode);
        }
        let room = self.compiling.clone().acquire_owned().await;
        // Anyone who was before may have compiled just this.
        if self.get(digest, kind).is_some() {
            return Ok(());
        }
        let bytes = bytes.clone();
        let compiled = self.apart(move |all| {
            // Held by the work itself, which goes on when nobody waits for it any more.
            let _room = room;
            all.compile(digest, &bytes)
        });
        let (component, mode) = compiled.await??;
        self.keep(digest, kind, &component, mode)
    }

    /// Does something that blocks.
    async fn apart<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Components) -> T + Send + 'static,
    ) -> Result<T, String> {
        let all = self.clone();
        tokio::task::spawn_blocking(move || work(&all)).await.map_err(|error| error.to_string())
    }

    fn compile(&self, digest: Digest, bytes: &[u8]) -> Result<(Component, Mode), String> {
        let _turn = self.cache.turn(TURN_WAIT_MAX);
        if let Some(kept) = self.cache.get(&self.engines, digest) {
            return Ok(kept);
        }
        let (mode, code) = self.compiler.compile(bytes).map_err(|error| error.to_string())?;
        let component = self.engines.load(mode, &code).map_err(|error| format!("{error:#}"))?;
        self.cache.put(digest, mode, &code);
        Ok((component, mode))
    }

    /// Compiles and loads a component that is not kept.
    pub fn try_out(&self, bytes: &[u8]) -> Result<(), String> {
        let (mode, code) = self.compiler.compile(bytes).map_err(|error| error.to_string())?;
        self.engines.load(mode, &code).map(drop).map_err(|error| format!("{error:?}"))
    }

    fn keep(
        &self,
        digest: Digest,
        kind: PluginKind,
        component: &Component,
        mode: Mode,
    ) -> Result<(), String> {
        let ready = self.link(kind, component, mode).map_err(|error| format!("{error:#}"))?;
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert((digest, kind), ready);
        Ok(())
    }

    fn link(&self, kind: PluginKind, component: &Component, mode: Mode) -> wasmtime::Result<Ready> {
        let runtime = self.engines.get(mode)?;
        let engine = runtime.engine.clone();
        Ok(match kind {
            PluginKind::Harness => Ready::Harness(engine, runtime.linkers.harness(component)?),
            PluginKind::Tool => Ready::Tool(engine, runtime.linkers.tool(component)?),
            PluginKind::Hook => Ready::Hook(engine, runtime.linkers.hook(component)?),
        })
    }
}

/// The bindings' word for a kind.
pub fn kind_of(kind: PluginKind) -> Kind {
    match kind {
        PluginKind::Harness => Kind::Harness,
        PluginKind::Tool => Kind::Tool,
        PluginKind::Hook => Kind::Hook,
    }
}
