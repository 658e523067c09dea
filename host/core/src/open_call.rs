//! Calls that have a start and no end: what is being done, how often it was tried, and what it can still cost.

use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::entry::{Entry, Place};
use crate::fact::Source;
use crate::ids::Digest;
use crate::limits;
use crate::money::Usd;

/// A call with a start and no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// Where it belongs.
    pub place: Place,
    /// What is being done.
    pub kind: CallKind,
    /// Whether it may be performed again.
    pub effect: Effect,
    /// Attempts beyond the first.
    pub retries: u32,
    /// Of them, those that count against the limit.
    pub tries_counted: u32,
    /// Its next attempt does not count: it was unloaded in good order.
    pub excused: bool,
    /// The step was run again since its newest attempt: nobody will hear what came of that.
    #[serde(default)]
    pub died: bool,
    /// The idempotency key: the chain hash of its start (R5).
    pub key: Digest,
    /// The most that the attempt under way can cost.
    #[serde(default)]
    pub reserved: Usd,
    /// What the attempts before it count as.
    #[serde(default)]
    pub counted: Usd,
    /// The harness may not ask that model: nothing is sent, and its end says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

impl OpenCall {
    /// A call that an entry starts.
    pub(crate) fn new(entry: &Entry, kind: CallKind, effect: Effect) -> Self {
        OpenCall {
            place: entry.place,
            kind,
            effect,
            retries: 0,
            tries_counted: 0,
            excused: false,
            died: false,
            key: entry.hash,
            reserved: Usd::ZERO,
            counted: Usd::ZERO,
            denied: false,
        }
    }

    /// What its attempts count as, and the one under way can still cost.
    pub fn committed(&self) -> Usd {
        self.reserved.plus(self.counted)
    }

    /// The number of its next attempt; none, if it was tried as often as it may be.
    pub fn next_try(&self) -> Option<u32> {
        let may = self.effect.is_repeatable() && (self.excused || self.tries_counted < limits::RETRIES_MAX);
        may.then_some(self.retries + 1)
    }
}

/// What an open call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKind {
    /// Asks a model.
    Model,
    /// Runs a tool.
    Tool,
    /// Sends a request of the harness.
    Http,
    /// Asks a hook.
    Hook(OpenHook),
}

/// A hook that was asked and has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenHook {
    /// The pinned hook's index.
    pub hook: u32,
    /// Why it fires, if it is a SessionStart.
    pub source: Option<Source>,
    /// The message it judges, if it is a UserPromptSubmit.
    #[serde(default)]
    pub message: Option<u64>,
    /// What its verdict will be bound to.
    pub binding: Digest,
}
