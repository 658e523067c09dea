//! Facts of turns: what one batch of commands sets off.

use serde::{Deserialize, Serialize};

use crate::{Usage, Usd};

/// `turn.started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The inbox rows it accepts.
    pub commands: Vec<u64>,
}

/// `turn.steered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSteered {
    /// The inbox rows that joined it.
    pub commands: Vec<u64>,
}

/// `turn.completed`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCompleted {
    /// Steps it took.
    pub steps: u32,
    /// What its models counted.
    pub usage: Usage,
    /// What its models cost; of an attempt that nobody knows the cost of, all that was reserved.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost: Usd,
    /// Messages that wait for the next turn, as this end was decided: none, and the session is idle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pending: u32,
}

/// `turn.interrupted`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnInterrupted {
    /// What its models counted.
    pub usage: Usage,
    /// What its models cost; of an attempt that nobody knows the cost of, all that was reserved.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost: Usd,
    /// Why, where a hook ended it; none: a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Messages that wait for the next turn, as this end was decided: none, and the session is idle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pending: u32,
}

/// `turn.failed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFailed {
    /// What failed with it.
    pub scope: Scope,
    /// A stable word: the host's (`trapped`, `out_of_fuel`, `out_of_memory`, `timed_out`, `reruns`,
    /// `steps`, `invalid_answer`, `prompt_blocked`) or the harness's own.
    pub code: String,
    /// For people.
    pub detail: String,
    /// What its models counted.
    pub usage: Usage,
    /// What its models cost; of an attempt that nobody knows the cost of, all that was reserved.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost: Usd,
    /// Messages that wait for the next turn, as this end was decided: none, and the session is idle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pending: u32,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// How far a failure reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The turn; the session takes the next message.
    Turn,
    /// The session.
    Session,
}
