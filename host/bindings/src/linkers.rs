//! Which imports each kind of plugin finds.
//!
//! It knows names. What stands behind them is `imports.rs`, `ambient.rs`, `poll.rs`, `random.rs`, `files/`,
//! and wasmtime-wasi for the rest of WASI.

use std::fmt;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker, ResourceType};
use wasmtime::error::Context as _;
use wasmtime::{Engine, Result, bail};

use crate::data::Data;
use crate::generated::{harness_plugin, hook_plugin, tool_plugin};
use crate::plugins::{HarnessPre, HookPre, ToolPre};

/// The kinds of component that a bundle may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An agent loop.
    Harness,
    /// Functions that a model can call.
    Tool,
    /// Decisions on what happens in a session.
    Hook,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Harness => "harness",
            Kind::Tool => "tool",
            Kind::Hook => "hook",
        })
    }
}

/// WASI's own HTTP. Guests of some languages import it whether they use it or not.
const WASI_HTTP: &str = "wasi:http/";

/// The linkers of one engine; make them once.
pub struct Linkers {
    harness: Linker<Data>,
    tool: Linker<Data>,
    hook: Linker<Data>,
}

impl Linkers {
    /// Makes the linkers of `engine`.
    ///
    /// # Errors
    /// A name that is defined twice, which is a bug.
    pub fn new(engine: &Engine) -> Result<Linkers> {
        Ok(Linkers { harness: harness(engine)?, tool: tool(engine)?, hook: hook(engine)? })
    }

    /// Links a harness, with saved state or without.
    ///
    /// # Errors
    /// A component of another engine, one that imports what a harness may not, or one that exports
    /// no harness.
    pub fn harness(&self, component: &Component) -> Result<HarnessPre> {
        HarnessPre::new(self.link(Kind::Harness, component)?)
    }

    /// Links a tool.
    ///
    /// # Errors
    /// A component of another engine, one that imports what a tool may not, or one that exports no
    /// tool.
    pub fn tool(&self, component: &Component) -> Result<ToolPre> {
        ToolPre::new(self.link(Kind::Tool, component)?)
    }

    /// Links a hook.
    ///
    /// # Errors
    /// A component of another engine, one that imports what a hook may not, or one that exports no
    /// hook.
    pub fn hook(&self, component: &Component) -> Result<HookPre> {
        HookPre::new(self.link(Kind::Hook, component)?)
    }

    pub(crate) fn link(&self, kind: Kind, component: &Component) -> Result<InstancePre<Data>> {
        let linker = match kind {
            Kind::Harness => &self.harness,
            Kind::Tool => &self.tool,
            Kind::Hook => &self.hook,
        };
        let linked = match without_http(linker, component)? {
            Some(linker) => linker.instantiate_pre(component),
            None => linker.instantiate_pre(component),
        };
        linked.with_context(|| format!("this component cannot be linked as a {kind}"))
    }
}

/// What a component that imports WASI's HTTP is linked with, if it does: every function of that traps. There
/// is one way out, the contract's `http`, which knows grants.
fn without_http(linker: &Linker<Data>, component: &Component) -> Result<Option<Linker<Data>>> {
    let engine = linker.engine();
    let ty = component.component_type();
    // An interface names resources of others again, as of those before it; they are linked where they are new.
    let mut known: Vec<ResourceType> = Vec::new();
    let mut with_traps = None;
    for (interface, import) in ty.imports(engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else { continue };
        if !interface.starts_with(WASI_HTTP) {
            known.extend(instance.exports(engine).filter_map(|(_, export)| match export.ty {
                ComponentItem::Resource(resource) => Some(resource),
                _ => None,
            }));
            continue;
        }
        let linker = with_traps.get_or_insert_with(|| linker.clone());
        let mut linked = linker.instance(interface)?;
        for (name, export) in instance.exports(engine) {
            match export.ty {
                ComponentItem::Resource(resource) if known.contains(&resource) => {}
                ComponentItem::ComponentFunc(_) => {
                    let called = format!("{interface}.{name}");
                    linked.func_new(name, move |_, _, _, _| {
                        bail!("{called} is not given to guests: use rewake:plugin/http, and ask for it in bundle.toml")
                    })?;
                }
                ComponentItem::Resource(resource) => {
                    known.push(resource);
                    linked.resource(name, ResourceType::host::<NoHttp>(), |_, _| Ok(()))?;
                }
                _ => {}
            }
        }
    }
    Ok(with_traps)
}

/// What stands behind each resource of WASI's HTTP. None is ever made.
struct NoHttp;

fn harness(engine: &Engine) -> Result<Linker<Data>> {
    let mut linker = wasi(engine)?;
    harness_plugin::HarnessPlugin::add_to_linker::<Data, HasSelf<Data>>(&mut linker, |data| data)?;
    Ok(linker)
}

fn tool(engine: &Engine) -> Result<Linker<Data>> {
    let mut linker = wasi(engine)?;
    tool_plugin::ToolPlugin::add_to_linker::<Data, HasSelf<Data>>(&mut linker, |data| data)?;
    Ok(linker)
}

fn hook(engine: &Engine) -> Result<Linker<Data>> {
    let mut linker = wasi(engine)?;
    hook_plugin::HookPlugin::add_to_linker::<Data, HasSelf<Data>>(&mut linker, |data| data)?;
    Ok(linker)
}

/// WASI as `rewake-wasi` links it. `Data` gives an instance an empty environment and no sockets.
fn wasi(engine: &Engine) -> Result<Linker<Data>> {
    let mut linker = Linker::new(engine);
    rewake_wasi::add_to_linker(&mut linker)?;
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Sandbox;
    use crate::{HttpImports, LogImports, ModelImports, SessionImports, ToolsImports};
    use rewake_wasi::WasiHost;

    struct Nothing;

    impl WasiHost for Nothing {}

    impl ModelImports for Nothing {}
    impl ToolsImports for Nothing {}
    impl SessionImports for Nothing {}
    impl HttpImports for Nothing {}
    impl LogImports for Nothing {}

    /// A guest that imports WASI's HTTP is linked; one that uses it traps, and is told what to use.
    #[tokio::test]
    async fn wasi_http_is_there_and_nothing_else() {
        let bytes = wat::parse_str(
            r#"(component $c
                (import "wasi:io/poll@0.2.0" (instance $poll (export "pollable" (type (sub resource)))))
                (alias export $poll "pollable" (type $pollable))
                (import "wasi:http/types@0.2.10" (instance $http
                    (alias outer $c $pollable (type $pollable))
                    (export "pollable" (type (eq $pollable)))
                    (export "fields" (type $fields (sub resource)))
                    (export "[constructor]fields" (func (result (own $fields))))))
                (core func $make (canon lower (func $http "[constructor]fields")))
                (core module $m
                    (import "" "make" (func $make (result i32)))
                    (func (export "use") (drop (call $make)))
                    (func (export "leave")))
                (core instance $i (instantiate $m (with "" (instance (export "make" (func $make))))))
                (func (export "use") (canon lift (core func $i "use")))
                (func (export "leave") (canon lift (core func $i "leave"))))"#,
        )
        .unwrap();
        let engine = Engine::default();
        let component = Component::new(&engine, bytes).unwrap();
        let linkers = Linkers::new(&engine).unwrap();
        for kind in [Kind::Harness, Kind::Tool, Kind::Hook] {
            let linked = linkers.link(kind, &component).unwrap();
            for (function, is_ended) in [("leave", false), ("use", true)] {
                let sandbox = Sandbox {
                    mounts: vec![],
                    memory_bytes_max: 1 << 20,
                    output_bytes_max: 0,
                    call_bytes_max: 1 << 20,
                    while_busy: None,
                    files_in_place: false,
                };
                let data = Data::new(&sandbox, Box::new(Nothing)).unwrap();
                let mut store = crate::store(&engine, data);
                let instance = linked.instantiate_async(&mut store).await.unwrap();
                let function = instance.get_typed_func::<(), ()>(&mut store, function).unwrap();
                let ended = function.call_async(&mut store, ()).await;
                assert_eq!(ended.is_err(), is_ended, "{kind}");
                if let Err(error) = ended {
                    assert!(format!("{error:#}").contains("use rewake:plugin/http"), "{error:#}");
                }
            }
        }
    }
}
