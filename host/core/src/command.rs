//! Commands: what anyone with the right can put into a session's inbox (journal.md R1).

use rewake_wire::{Part, Sender};
use serde::{Deserialize, Serialize};

use crate::error::Refusal;
use crate::limits;

/// A row of the inbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number in the session, from 1.
    pub n: u64,
    /// Who sent it; stamped by the host.
    pub sender: Sender,
    /// What was sent.
    pub command: Command,
}

/// One durable piece of work sent to a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Something to be told to the harness; opens a turn.
    Message {
        /// What it says.
        parts: Vec<Part>,
    },
    /// An answer to an open question.
    Answer {
        /// The question's id.
        question: String,
        /// JSON text.
        value: String,
    },
    /// Ends the turn it names, if that is still open.
    Interrupt {
        /// The turn's number.
        turn: u32,
    },
    /// Ends the session for good.
    Stop {
        /// Why.
        reason: String,
    },
}

impl Command {
    /// Checks its own bounds, before it is acknowledged.
    ///
    /// # Errors
    /// If it is empty where it must not be, over a limit, or holds JSON that is none.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Command::Message { parts } => {
                if parts.iter().all(|part| part.is_empty()) {
                    return Err(Refusal::Conflict("the message is empty; give it a text".into()));
                }
                within(
                    "bytes of a message",
                    parts.iter().map(|part| part.len()).sum(),
                    limits::MESSAGE_BYTES_MAX,
                )
            }
            Command::Answer { question, value } => {
                within("bytes of a question's id", question.len(), limits::ID_BYTES_MAX)?;
                if serde_json::from_str::<serde::de::IgnoredAny>(value).is_err() {
                    return Err(Refusal::Conflict(
                        "the answer is no JSON; a text must stand in double quotes".into(),
                    ));
                }
                within("bytes of an answer", value.len(), limits::MESSAGE_BYTES_MAX)
            }
            Command::Interrupt { .. } => Ok(()),
            Command::Stop { reason } => within("bytes of a reason", reason.len(), limits::DETAIL_BYTES_MAX),
        }
    }
}

fn within(what: &'static str, got: usize, max: usize) -> Result<(), Refusal> {
    if got > max { Err(Refusal::Limit { what, got: got as u64, max: max as u64 }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_bounded_before_they_are_acknowledged() {
        let message = |text: String| Command::Message { parts: vec![Part::text(text)] };
        assert!(message("hello".into()).check().is_ok());
        assert!(message(String::new()).check().is_err());
        assert!(message("x".repeat(limits::MESSAGE_BYTES_MAX + 1)).check().is_err());
        let answer = |value: &str| Command::Answer { question: "q".into(), value: value.into() };
        assert!(answer("\"yes\"").check().is_ok() && answer("yes").check().is_err());
    }
}
