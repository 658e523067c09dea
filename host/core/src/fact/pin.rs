//! What a session runs with, pinned by digest at its creation (journal.md R11).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use rewake_wire::entry::OnError;

use super::hook::HookEvent;
use crate::effect::Effect;
use crate::grant::Grants;
use crate::ids::Digest;
use crate::money::Usd;

/// `session.created`: all that the session will run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The agent: harness, model, instructions.
    pub agent: AgentPin,
    /// The bundles, by digest.
    pub bundles: Vec<BundlePin>,
    /// The components it uses; the other pins name them by their index here.
    pub components: Vec<ComponentPin>,
    /// The tools that the harness can call.
    pub tools: Vec<ToolPin>,
    /// The hooks, in the order in which their verdicts are folded.
    pub hooks: Vec<HookPin>,
    /// Who made it.
    pub origin: String,
    /// Which copy of the session this is.
    pub lineage: Digest,
    /// The operator's own words about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Created {
    /// A tool, by the name that models use.
    pub fn tool(&self, name: &str) -> Option<&ToolPin> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The agent of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentPin {
    /// The bundle it comes from.
    pub name: String,
    /// What the harness is told to be.
    pub instructions: String,
    /// The model's name in the operator's configuration.
    pub model: String,
    /// The blob that the scripted model plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Digest>,
    /// Index of the harness among the components.
    pub harness: u32,
    /// The most that its models may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_usd: Option<Usd>,
    /// Steps of one turn; none: as many as a host allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
}

/// A bundle, by digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundlePin {
    /// Such as `rewake/files`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Digest of all its files.
    pub digest: Digest,
    /// Who granted its components what they ask for, for this session; none: the operator's rules say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
}

/// The kinds of plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginKind {
    /// An agent loop.
    Harness,
    /// Functions that a model can call.
    Tool,
    /// Decisions on what happens in a session.
    Hook,
}

impl PluginKind {
    /// Every kind.
    pub const ALL: [PluginKind; 3] = [PluginKind::Tool, PluginKind::Hook, PluginKind::Harness];

    /// The word in manifests, which is also the interface's name in the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            PluginKind::Harness => "harness",
            PluginKind::Tool => "tool",
            PluginKind::Hook => "hook",
        }
    }
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A component, its grants and its bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComponentPin {
    /// Its name in its bundle.
    pub name: String,
    /// Name of the bundle.
    pub bundle: String,
    /// What it is.
    pub kind: PluginKind,
    /// Digest of its bytes.
    pub digest: Digest,
    /// The state version its author declares, of a harness.
    #[serde(default)]
    pub state_version: u32,
    /// What its author asks for.
    #[serde(default, skip_serializing_if = "Grants::is_empty")]
    pub asks: Grants,
    /// What it may use at most: never more than what it asks for.
    pub grants: Grants,
    /// What it may consume.
    pub limits: GuestLimits,
    /// The values of its bundle's configuration, without the sensitive ones: JSON text.
    pub config: String,
}

impl ComponentPin {
    /// `bundle:component`, as users, hooks and logs see it.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.bundle, self.name)
    }
}

/// What one call of a guest may consume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestLimits {
    /// Bytes of linear memory, all memories together.
    pub memory_bytes_max: u64,
    /// Wall time in milliseconds, waiting included.
    pub timeout_ms: u64,
    /// Units of fuel: about one an instruction.
    pub fuel_max: u64,
    /// Bytes of what it returns.
    pub output_bytes_max: u64,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolPin {
    /// The name the model calls it by; unique in the session.
    pub name: String,
    /// Index of its component; none: `by` says who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<u32>,
    /// Who runs it, where it is of no component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Provider>,
    /// Its provider's own name for it.
    pub tool: String,
    /// What it does, in its author's words.
    pub description: String,
    /// JSON Schema of its input, as text.
    pub input_schema: String,
    /// The effect class that is in force: what the author declares, capped by the grants.
    pub effect: Effect,
    /// Digest of name, component, schema and class: what a verdict is bound to.
    pub definition: Digest,
    /// A person must allow each use, whatever hooks say of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
}

/// Who runs a tool that is of no component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// The host itself.
    Host,
    /// A client of the session: the use becomes a question, its answer the outcome.
    Client,
}

impl Provider {
    /// The word in pins, and what verdicts are bound to in place of a bundle.
    pub const fn as_str(self) -> &'static str {
        match self {
            Provider::Host => "host",
            Provider::Client => "client",
        }
    }
}

/// A hook on one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookPin {
    /// Index of its component.
    pub component: u32,
    /// The event.
    pub event: HookEvent,
    /// Which tools or sources it is for; empty: all.
    pub matcher: String,
    /// What a trap, a timeout or an invalid answer means.
    pub on_error: OnError,
    /// Wall time in milliseconds.
    pub timeout_ms: u64,
    /// It may replace what the event is about; it is asked before those that may not, one after another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewrites: bool,
    /// The operator's rules brought it, not a bundle of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
}
