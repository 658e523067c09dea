//! What a step is given (journal.md R2).

use serde::{Deserialize, Serialize};

use crate::{Ending, Part, Sender};

/// What a step is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepInput<T> {
    /// Messages it accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message<T>>,
    /// Answers it accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// What hooks added since the last step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// What came before and did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
}

/// A message that was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message<T> {
    /// Its row in the inbox.
    pub n: u64,
    /// Who sent it.
    pub sender: Sender,
    /// When it was accepted.
    pub at: T,
    /// What it says.
    pub parts: Vec<Part>,
}

/// An answer that was accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// Who answered.
    pub sender: Sender,
    /// JSON text.
    pub value: String,
}

/// What came before and did not end well since the last step that did; its entries tell what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The turn's number.
    pub turn: u32,
    /// How it ended.
    pub how: Ending,
    /// Its first entry; if turns before it ended badly too and no step was given them, theirs.
    pub first_seq: u64,
    /// Its last entry.
    pub last_seq: u64,
}
