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
    /// Gives a message other words.
    Edit {
        /// The message's row.
        target: u64,
        /// What it says from now on.
        parts: Vec<Part>,
    },
    /// Takes a message back: it is never delivered.
    Cancel {
        /// The message's row.
        target: u64,
    },
    /// Has a message open the next turn by itself, ahead of the others.
    Promote {
        /// The message's row.
        target: u64,
        /// The turn that is ended for it, if that is still open; none: it waits for its turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
}

impl Command {
    /// Checks its own bounds, before it is acknowledged.
    ///
    /// # Errors
    /// If it is empty where it must not be, over a limit, or holds JSON that is none.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Command::Message { parts } | Command::Edit { parts, .. } => {
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
                        "the answer is not JSON; a text must stand in double quotes".into(),
                    ));
                }
                within("bytes of an answer", value.len(), limits::MESSAGE_BYTES_MAX)
            }
            Command::Interrupt { .. } | Command::Cancel { .. } | Command::Promote { .. } => Ok(()),
            Command::Stop { reason } => within("bytes of a reason", reason.len(), limits::DETAIL_BYTES_MAX),
        }
    }

    /// The row that it changes, cancels or promotes: a message that was not accepted yet.
    pub fn target(&self) -> Option<u64> {
        match self {
            Command::Edit { target, .. } | Command::Cancel { target } | Command::Promote { target, .. } => {
                Some(*target)
            }
            Command::Message { .. }
            | Command::Answer { .. }
            | Command::Interrupt { .. }
            | Command::Stop { .. } => None,
        }
    }
}

/// What stands in the inbox where a command points to.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its row.
    pub n: u64,
    /// Who sent it.
    pub sender: Sender,
    /// It is a message, and nothing else.
    pub is_message: bool,
    /// A cancellation of it stands in the inbox, accepted or not.
    pub is_canceled: bool,
    /// It is in an entry.
    pub is_taken: bool,
}

impl Target {
    /// Whether a command by this sender may name it: checked in the transaction that inserts the command.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&self, by: &Sender) -> Result<(), Refusal> {
        let n = self.n;
        if !self.is_message {
            return Err(Refusal::Conflict(format!(
                "command {n} is not a message; only messages can be changed, canceled or promoted"
            )));
        }
        if !may_change(by, &self.sender) {
            return Err(Refusal::Forbidden(format!(
                "message {n} is somebody else's; only its sender and operators may change it"
            )));
        }
        match (self.is_canceled, self.is_taken) {
            (true, _) => Err(Refusal::Conflict(format!("message {n} was canceled already"))),
            (false, true) => Err(Refusal::Delivered { n }),
            (false, false) => Ok(()),
        }
    }
}

/// Whether one may change, cancel or promote a message of another: operators may, and who sent it.
pub(crate) fn may_change(by: &Sender, of: &Sender) -> bool {
    by == of || matches!(by, Sender::Operator(_))
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
        let edit = |text: String| Command::Edit { target: 1, parts: vec![Part::text(text)] };
        assert!(edit("hello".into()).check().is_ok() && edit(String::new()).check().is_err());
        assert!(edit("x".repeat(limits::MESSAGE_BYTES_MAX + 1)).check().is_err());
    }

    #[test]
    fn messages_are_changed_by_their_senders_and_by_operators_until_they_are_taken_in() {
        let (ann, bob) = (Sender::Operator("ann".into()), Sender::Operator("bob".into()));
        let (agent, trigger) = (Sender::Agent("ses_1".into()), Sender::Trigger("daily".into()));
        let of = |sender: &Sender| Target {
            n: 7,
            sender: sender.clone(),
            is_message: true,
            is_canceled: false,
            is_taken: false,
        };
        for (by, sender, may) in [
            (&ann, &ann, true),
            (&bob, &ann, true),
            (&ann, &trigger, true),
            (&agent, &agent, true),
            (&agent, &ann, false),
            (&trigger, &agent, false),
            (&Sender::System, &trigger, false),
        ] {
            let refused = of(sender).admit(by);
            assert_eq!(refused.is_ok(), may, "{by:?} {sender:?}");
            assert!(may || matches!(refused, Err(Refusal::Forbidden(_))));
        }
        let taken = Target { is_taken: true, ..of(&ann) };
        assert_eq!(taken.admit(&ann), Err(Refusal::Delivered { n: 7 }));
        for target in [
            Target { is_message: false, ..of(&ann) },
            Target { is_canceled: true, ..of(&ann) },
            Target { is_canceled: true, is_taken: true, ..of(&ann) },
        ] {
            assert!(matches!(target.admit(&ann), Err(Refusal::Conflict(_))), "{target:?}");
        }
    }
}
