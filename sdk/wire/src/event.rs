//! One journal entry as clients and guests see it (the envelope of spec `entries.md`).

use serde::{Deserialize, Serialize};

/// One journal entry, seen from outside. Nothing in it ever changes after the append.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// `evt_`, the session's id without its prefix, and the seq: unique everywhere.
    pub id: String,
    /// Number in the session, from 1 without gaps.
    pub seq: u64,
    /// The session.
    pub session_id: String,
    /// `turn_N`, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Number of the step in its turn, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The entry's kind, such as `tool.completed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of `data`'s shape.
    pub version: u32,
    /// Whose doing it is.
    pub actor: Actor,
    /// RFC 3339 in UTC with milliseconds.
    pub at: String,
    /// The entry's payload.
    pub data: serde_json::Value,
    /// Chain hash of the entry before, in hexadecimal; zeros for the first.
    pub prev_hash: String,
    /// Chain hash of this entry, in hexadecimal.
    pub hash: String,
}

/// Whose doing an entry is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actor {
    /// What sort of actor.
    #[serde(rename = "type")]
    pub kind: ActorType,
    /// Principal, component or host name.
    pub id: String,
    /// The person it was done for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
}

/// The sorts of actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorType {
    /// A person or a program with a token.
    Operator,
    /// The session's harness.
    Agent,
    /// A hook.
    Hook,
    /// A tool.
    Tool,
    /// A trigger.
    Trigger,
    /// The host.
    System,
}

impl Actor {
    /// An actor of a sort, without a person behind it.
    pub fn new(kind: ActorType, id: impl Into<String>) -> Self {
        Actor { kind, id: id.into(), on_behalf_of: None }
    }
}
