//! Facts of steps: one call of the harness in a fresh instance each (journal.md R2, R9).

use std::collections::BTreeMap;

use rewake_wire::Ending;
use rewake_wire::entry::{FileObserved, Question};
use serde::{Deserialize, Serialize};

use super::StepInput;
use crate::ids::{Digest, Seed, Timestamp};

/// `step.started`: the step's input, fixed before it runs; a re-run uses it verbatim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// What it is told.
    pub input: StepInput,
    /// The state it starts from; none: it has none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateRef>,
    /// Digest of the harness's component.
    pub component: Digest,
    /// What its random stream is made from.
    pub seed: Seed,
}

/// Saved state, by digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRef {
    /// The author's version of it.
    pub version: u32,
    /// Digest of its bytes.
    pub digest: Digest,
}

/// `step.completed`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepCompleted {
    /// What comes next.
    pub next: Next,
    /// The state it saved; none: the harness keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateRef>,
    /// How often each host function was called, so that no call is unrecorded (R7).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, u64>,
}

/// What a harness wants next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Another step.
    More,
    /// The turn is complete.
    Done,
    /// The turn waits for people's answers.
    Ask(Vec<Question>),
    /// The turn waits.
    Wait {
        /// Until then at the latest.
        until: Option<Timestamp>,
        /// Or until a message comes.
        on_message: bool,
    },
}

/// `step.aborted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAborted {
    /// How it ended.
    pub how: Ending,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// `step.rerun`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRerun {
    /// Consecutive re-runs that added no entry of the step, this one included.
    pub again: u32,
}

/// `step.observed`: what the step observed since the call at the entry's ordinal, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepObserved {
    /// The observations.
    pub items: Vec<Observed>,
}

/// One observation: it only read, and a replay is told the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// Wall clock: seconds and nanoseconds.
    Wall(u64, u32),
    /// Monotonic clock: nanoseconds since the session began to count.
    Monotonic(u64),
    /// A sleep: the monotonic clock when it began, and its deadline, in nanoseconds.
    Deadline(u64, u64),
    /// Which of the pollables were ready.
    Ready(Vec<u32>),
    /// A slice of the own journal: what was asked, the head then, and the result's digest (R14).
    Events {
        /// Digest of the slice asked for.
        slice: Digest,
        /// The newest entry then.
        head: u64,
        /// Digest of what was returned.
        result: Digest,
        /// What was asked for, where it is short: JSON text, for anyone who looks for a difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// A use of a file in a read-only mount.
    File(FileObserved),
    /// Bytes of a blob that the own journal names: what was asked, the head then, and the result's digest (R14).
    Blob {
        /// Digest of the blob's digest, the offset and the length.
        asked: Digest,
        /// The newest entry then.
        head: u64,
        /// Digest of what was returned.
        result: Digest,
        /// What was asked for, where it is short: JSON text, for anyone who looks for a difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
}

impl Observed {
    /// The function's name in mismatches.
    pub fn function(&self) -> &'static str {
        match self {
            Observed::Wall(..) => "wall-clock.now",
            Observed::Monotonic(_) => "monotonic-clock.now",
            Observed::Deadline(..) => "monotonic-clock.subscribe",
            Observed::Ready(_) => "poll",
            Observed::Events { .. } => "session.events",
            Observed::Blob { .. } => "session.blob",
            Observed::File(used) => used.op.function(),
        }
    }
}
