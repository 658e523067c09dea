//! Facts of calls: a guest's use of an import, and its recorded outcome (journal.md R3 to R5).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FileAudit, HttpUse};
use crate::{Effect, Outcome, Part, Usd};

/// `agent.message`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// What it says.
    pub parts: Vec<Part>,
    /// The call of a model whose answer it says: the seq of that call's `model.started`, which the deltas of the
    /// answer name too. The host sets it, never the guest; one message an answer has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

impl AgentMessage {
    /// As a guest says it.
    pub fn new(parts: Vec<Part>) -> AgentMessage {
        AgentMessage { parts, of: None }
    }
}

/// `agent.title`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTitle {
    /// At most 64 characters.
    pub title: String,
}

/// `log.lines`: diagnostics of a guest, never content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLines {
    /// The component, as `bundle:name`.
    pub component: String,
    /// The lines, in order.
    pub lines: Vec<LogLine>,
    /// Lines that were over the limit.
    #[serde(default)]
    pub dropped: u64,
}

/// One line of diagnostics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// How grave, or which stream.
    pub level: LogLevel,
    /// The line, cut at its limit.
    pub text: String,
}

/// Where a line of diagnostics comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Of use to the author.
    Debug,
    /// Worth knowing.
    Info,
    /// Not as it should be.
    Warn,
    /// Wrong.
    Error,
    /// Written to standard output.
    Stdout,
    /// Written to standard error.
    Stderr,
}

/// Why the end of a call is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// The host died.
    Host,
    /// The turn ended while it ran.
    Interrupted,
    /// It was tried too often.
    Limit,
}

/// `tools.requested`: it has no class and is never lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsRequested<D> {
    /// The uses, in the order of their results.
    pub uses: Vec<RequestedUse<D>>,
}

/// One use of a tool, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedUse<D> {
    /// The harness's id for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The input, byte for byte as hook and tool receive it.
    pub input: String,
    /// Digest of the input's canonical form (RFC 8785), or of its bytes where it is no JSON.
    pub arguments: D,
    /// The pinned hooks that must have judged it before it may start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<u32>,
    /// The pinned hooks that must hear how it ended before the harness does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

/// `tool.started`: committed before the tool runs. Its chain hash is the idempotency key (R5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStarted<D> {
    /// The tool.
    pub name: String,
    /// Its effect class.
    pub class: Effect,
    /// Digest of the tool's definition.
    pub definition: D,
    /// Digest of the canonical arguments.
    pub arguments: D,
    /// The verdicts that let it pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<u64>,
}

/// `tool.completed`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCompleted<D> {
    /// Its start; none where it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// What it returned, or why it was refused.
    pub parts: Vec<Part>,
    /// What hooks have to say about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// Milliseconds it took.
    #[serde(default)]
    pub ms: u64,
    /// Bytes of its output that were over the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_bytes: u64,
    /// The requests it made, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpUse>,
    /// What it asks for and was not granted, where its failure speaks of that: as rules would allow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// What it did with files.
    #[serde(default, skip_serializing_if = "FileAudit::is_empty")]
    pub audit: FileAudit<D>,
    /// How often it called each host function (R7); functions that it never called are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, u64>,
}

impl<D> ToolCompleted<D> {
    /// An end of which nothing else is known.
    pub fn new(start: Option<u64>, outcome: Outcome, parts: Vec<Part>) -> ToolCompleted<D> {
        ToolCompleted {
            start,
            outcome,
            parts,
            contexts: Vec::new(),
            ms: 0,
            cut_bytes: 0,
            http: Vec::new(),
            withheld: Vec::new(),
            audit: FileAudit { uses: Vec::new(), dropped: 0 },
            calls: BTreeMap::new(),
        }
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// `tool.lost`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLost {
    /// Its start.
    pub start: u64,
    /// Why its end is not known.
    pub why: Lost,
}

/// `call.retried`: the call is performed again, with the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRetried {
    /// Its start.
    pub start: u64,
    /// Attempts beyond the first, this one included.
    pub n: u32,
    /// What the provider said against the attempt before; none: the host died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What the attempt before counts as.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost: Usd,
    /// The most that this attempt can cost (R5).
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub reserved: Usd,
}

impl CallRetried {
    /// An attempt because the host died in the one before.
    pub fn again(start: u64, n: u32) -> CallRetried {
        CallRetried { start, n, why: None, cost: Usd::ZERO, reserved: Usd::ZERO }
    }
}
