//! What hooks decide (hooks.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FileAudit, HttpUse};
use crate::Part;

/// `hook.verdict`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HookVerdict<D> {
    /// Its start.
    pub start: u64,
    /// Index of the pinned hook.
    pub hook: u32,
    /// What it decided; where it failed, what its `on_error` says.
    pub decision: Decision,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it adds to the model's context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What it changes beside its decision.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// The binding of its start.
    pub binding: D,
    /// Milliseconds it took.
    #[serde(default)]
    pub ms: u64,
    /// What went wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The requests it made, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpUse>,
    /// What it did with files.
    #[serde(default, skip_serializing_if = "FileAudit::is_empty")]
    pub audit: FileAudit<D>,
    /// How often it called each host function (R7); functions that it never called are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, u64>,
}

/// What a hook changes beside its decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Replaces the tool's whole input: JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Replaces what the tool returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<Part>>,
    /// Names the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Ends the turn, for this reason; beats every decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<String>,
}

impl Changes {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

/// What a hook decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing.
    #[default]
    None,
    /// It may pass.
    Allow,
    /// It may not.
    Deny,
    /// A person is to say.
    Ask,
    /// As the event has it: the prompt is refused, the model gets the reason, or the turn continues.
    Block,
}

/// What a hook's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// As if it had denied.
    Deny,
    /// As if it had said nothing.
    Allow,
}
