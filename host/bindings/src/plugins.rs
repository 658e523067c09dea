//! Typed handles of linked components, and of their instances.
//!
//! It knows each kind's exports. It does not know when to call them, or within what time.
//!
//! An `Err` of a call is a trap: the Store is of no use after it, but its data can still be taken.

use wasmtime::component::InstancePre;
use wasmtime::error::Context as _;
use wasmtime::{Result, Store, ensure};

use crate::data::Data;
use crate::generated::harness_plugin::exports::rewake::plugin as harness_exports;
use crate::generated::hook_plugin::{HookPlugin, HookPluginPre};
use crate::generated::tool_plugin::{ToolPlugin, ToolPluginPre};
use crate::linkers::Kind;
use crate::types::{Part, ToolDef};
use crate::{harness, hook, state, tool};

/// The export that makes a harness keep state.
const STATE: &str = "rewake:plugin/state@0.1.0";

/// A harness that is ready to be instantiated.
#[derive(Clone)]
pub struct HarnessPre {
    pre: InstancePre<Data>,
    harness: harness_exports::harness::GuestIndices,
    state: Option<harness_exports::state::GuestIndices>,
}

impl HarnessPre {
    pub(crate) fn new(pre: InstancePre<Data>) -> Result<HarnessPre> {
        let harness =
            harness_exports::harness::GuestIndices::new(&pre).with_context(|| wrong_kind(Kind::Harness))?;
        // A broken `state` must not pass for none: state would be lost without a word.
        let state = match pre.component().get_export_index(None, STATE) {
            Some(_) => Some(
                harness_exports::state::GuestIndices::new(&pre).with_context(|| wrong_kind(Kind::Harness))?,
            ),
            None => None,
        };
        Ok(HarnessPre { pre, harness, state })
    }

    /// Whether it keeps state from step to step.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.state.is_some()
    }

    /// Makes a fresh instance.
    ///
    /// # Errors
    /// A Store with a mount that can be written; an export of the wrong type; no room in the pool; a
    /// limit.
    pub async fn instantiate(&self, store: &mut Store<Data>) -> Result<Harness> {
        ensure!(!store.data().can_write(), "a harness's mounts are read-only: tools change files");
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let state = match &self.state {
            Some(state) => Some(state.load(&mut *store, &instance)?),
            None => None,
        };
        Ok(Harness { harness: self.harness.load(&mut *store, &instance)?, state })
    }
}

/// An instance of a harness; good for one step.
pub struct Harness {
    harness: harness_exports::harness::Guest,
    state: Option<harness_exports::state::Guest>,
}

impl Harness {
    /// Hands it what it saved. The inner error is the harness's own refusal; one that keeps no
    /// state refuses too.
    ///
    /// # Errors
    /// A trap.
    pub async fn load(&self, store: &mut Store<Data>, saved: &state::Saved) -> Result<Result<(), String>> {
        match &self.state {
            Some(state) => state.call_load(store, saved).await,
            None => Ok(Err(format!("there is saved state to load, but the harness does not export {STATE}"))),
        }
    }

    /// Runs one step.
    ///
    /// # Errors
    /// A trap.
    pub async fn step(
        &self,
        store: &mut Store<Data>,
        input: &harness::Input,
    ) -> Result<Result<harness::Next, harness::Failure>> {
        self.harness.call_step(store, input).await
    }

    /// Asks it for its state; none if it keeps none.
    ///
    /// # Errors
    /// A trap.
    pub async fn save(&self, store: &mut Store<Data>) -> Result<Option<state::Saved>> {
        match &self.state {
            Some(state) => state.call_save(store).await.map(Some),
            None => Ok(None),
        }
    }
}

/// A tool that is ready to be instantiated.
#[derive(Clone)]
pub struct ToolPre(ToolPluginPre<Data>);

impl ToolPre {
    pub(crate) fn new(pre: InstancePre<Data>) -> Result<ToolPre> {
        let pre = ToolPluginPre::new(pre).with_context(|| wrong_kind(Kind::Tool))?;
        Ok(ToolPre(pre))
    }

    /// Makes a fresh instance.
    ///
    /// # Errors
    /// An export of the wrong type; no room in the pool; a limit.
    pub async fn instantiate(&self, store: &mut Store<Data>) -> Result<Tool> {
        Ok(Tool(self.0.instantiate_async(store).await?))
    }
}

/// An instance of a tool; good for one call.
pub struct Tool(ToolPlugin);

impl Tool {
    /// Asks which functions it has.
    ///
    /// # Errors
    /// A trap.
    pub async fn list_tools(&self, store: &mut Store<Data>) -> Result<Vec<ToolDef>> {
        self.0.rewake_plugin_tool().call_list_tools(store).await
    }

    /// Calls the function `name` with `input` (JSON text).
    ///
    /// # Errors
    /// A trap.
    pub async fn call(
        &self,
        store: &mut Store<Data>,
        name: &str,
        input: &str,
        context: &tool::Context,
    ) -> Result<Result<Vec<Part>, tool::Error>> {
        // Owned, because that is what the generated call wants to borrow.
        let (name, input) = (name.to_owned(), input.to_owned());
        self.0.rewake_plugin_tool().call_call(store, &name, &input, context).await
    }
}

/// A hook that is ready to be instantiated.
#[derive(Clone)]
pub struct HookPre(HookPluginPre<Data>);

impl HookPre {
    pub(crate) fn new(pre: InstancePre<Data>) -> Result<HookPre> {
        let pre = HookPluginPre::new(pre).with_context(|| wrong_kind(Kind::Hook))?;
        Ok(HookPre(pre))
    }

    /// Makes a fresh instance.
    ///
    /// # Errors
    /// An export of the wrong type; no room in the pool; a limit.
    pub async fn instantiate(&self, store: &mut Store<Data>) -> Result<Hook> {
        Ok(Hook(self.0.instantiate_async(store).await?))
    }
}

/// An instance of a hook; good for one event.
pub struct Hook(HookPlugin);

impl Hook {
    /// Has it decide on an event. The inner error is the hook's own: it could not decide.
    ///
    /// # Errors
    /// A trap.
    pub async fn handle(
        &self,
        store: &mut Store<Data>,
        event: &hook::Event,
    ) -> Result<Result<hook::Verdict, String>> {
        self.0.rewake_plugin_hook().call_handle(store, event).await
    }
}

fn wrong_kind(kind: Kind) -> String {
    format!("this component is not a {kind} of rewake:plugin@0.1.0")
}
