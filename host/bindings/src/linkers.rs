//! Which imports each kind of plugin finds.
//!
//! It knows names. What stands behind them is `contract.rs`, `ambient.rs`, `poll.rs`, `files/`,
//! and wasmtime-wasi for the rest of WASI.

use std::fmt;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::error::Context as _;
use wasmtime::{Engine, Result};

use crate::data::Data;
use crate::generated::{harness_plugin, hook_plugin, tool_plugin};
use crate::plugins::{HarnessPre, HookPre, ToolPre};
use crate::{ambient, files, poll};

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
        linker
            .instantiate_pre(component)
            .with_context(|| format!("this component cannot be linked as a {kind}"))
    }
}

fn harness(engine: &Engine) -> Result<Linker<Data>> {
    let mut linker = wasi(engine)?;
    // Only what could differ between one run of a step and the next is taken over: the rest of
    // WASI is constant, because `Data` gives an instance an empty environment and no sockets.
    linker.allow_shadowing(true);
    ambient::shadow(&mut linker)?;
    poll::shadow(&mut linker)?;
    linker.allow_shadowing(false);
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

fn wasi(engine: &Engine) -> Result<Linker<Data>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    linker.allow_shadowing(true);
    files::shadow(&mut linker)?;
    linker.allow_shadowing(false);
    Ok(linker)
}
