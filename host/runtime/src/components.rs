//! Components, ready to be instantiated: found by digest, compiled once, kept.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rewake_bindings::{HarnessPre, HookPre, Kind, ToolPre};
use rewake_core::fact::PluginKind;
use rewake_core::ids::Digest;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::component_cache::ComponentCache;
use crate::engine::{Engines, Mode};

/// A component that can be instantiated.
#[derive(Clone)]
pub(crate) enum Ready {
    Harness(Engine, HarnessPre),
    Tool(Engine, ToolPre),
    Hook(Engine, HookPre),
}

/// The components of this process.
pub(crate) struct Components {
    pub(crate) engines: Engines,
    cache: ComponentCache,
    ready: Mutex<HashMap<(Digest, PluginKind), Ready>>,
}

impl Components {
    /// Over the engines of this process and a folder of compiled components.
    ///
    /// # Errors
    /// As [`Engines::shared`].
    pub(crate) fn open(cache: &Path) -> wasmtime::Result<Arc<Components>> {
        Ok(Arc::new(Components {
            engines: Engines::shared()?,
            cache: ComponentCache::open(cache),
            ready: Mutex::default(),
        }))
    }

    /// One that is ready already.
    pub(crate) fn get(&self, digest: Digest, kind: PluginKind) -> Option<Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(&(digest, kind)).cloned()
    }

    /// Makes a component ready: from the cache, or by compiling `bytes`. Blocks for as long as that
    /// takes.
    ///
    /// # Errors
    /// If the bytes do not compile, or the component is none of this kind.
    pub(crate) fn prepare(&self, digest: Digest, kind: PluginKind, bytes: &[u8]) -> wasmtime::Result<Ready> {
        if let Some(ready) = self.get(digest, kind) {
            return Ok(ready);
        }
        let (component, mode) = match self.cache.get(&self.engines, digest) {
            Some(kept) => kept,
            None => {
                let (component, mode) = self.compile(bytes)?;
                self.cache.put(&self.engines, digest, mode, &component);
                (component, mode)
            }
        };
        let runtime = self.engines.get(mode)?;
        let engine = runtime.engine.clone();
        let ready = match kind {
            PluginKind::Harness => Ready::Harness(engine, runtime.linkers.harness(&component)?),
            PluginKind::Tool => Ready::Tool(engine, runtime.linkers.tool(&component)?),
            PluginKind::Hook => Ready::Hook(engine, runtime.linkers.hook(&component)?),
        };
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert((digest, kind), ready.clone());
        Ok(ready)
    }

    /// The plain engine takes most components; its refusal is asked about once more in the other.
    fn compile(&self, bytes: &[u8]) -> wasmtime::Result<(Component, Mode)> {
        match Component::from_binary(&self.engines.get(Mode::Plain)?.engine, bytes) {
            Ok(component) => Ok((component, Mode::Plain)),
            Err(refusal) => {
                match Component::from_binary(&self.engines.get(Mode::Concurrent)?.engine, bytes) {
                    Ok(component) => Ok((component, Mode::Concurrent)),
                    Err(_) => Err(refusal),
                }
            }
        }
    }
}

/// The bindings' word for a kind.
pub(crate) fn kind_of(kind: PluginKind) -> Kind {
    match kind {
        PluginKind::Harness => Kind::Harness,
        PluginKind::Tool => Kind::Tool,
        PluginKind::Hook => Kind::Hook,
    }
}
