//! What was sent to the session, as it was accepted (journal.md R1).

use serde::{Deserialize, Serialize};

use crate::{Part, Sender};

/// `user.message`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its row in the inbox.
    pub n: u64,
    /// Who sent it.
    pub sender: Sender,
    /// What it says.
    pub parts: Vec<Part>,
}

/// `user.answer`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserAnswer {
    /// Its row in the inbox.
    pub n: u64,
    /// Who answered.
    pub sender: Sender,
    /// The question's id.
    pub question: String,
    /// The answer: JSON text.
    pub value: String,
}

/// `user.interrupt`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserInterrupt {
    /// Its row in the inbox.
    pub n: u64,
    /// Who interrupts.
    pub sender: Sender,
    /// The turn it was meant for.
    pub turn: u32,
}

/// `user.stop`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserStop {
    /// Its row in the inbox.
    pub n: u64,
    /// Who stops it.
    pub sender: Sender,
    /// Why.
    pub reason: String,
}

/// `command.edited`: a message that waits says something else from now on. What it said before stays here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandEdited {
    /// The edit's row in the inbox.
    pub n: u64,
    /// Who edited it.
    pub sender: Sender,
    /// The message's row.
    pub target: u64,
    /// What it said before.
    pub before: Vec<Part>,
    /// What it says now.
    pub after: Vec<Part>,
}

/// `command.canceled`: a message was canceled. It stands for the message's own row too, and does not say what
/// that said: it is never delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandCanceled {
    /// The cancellation's row in the inbox.
    pub n: u64,
    /// Who took it back.
    pub sender: Sender,
    /// The message's row.
    pub target: u64,
}

/// `command.promoted`: a message that waits is to open the next turn by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandPromoted {
    /// The promotion's row in the inbox.
    pub n: u64,
    /// Who promoted it.
    pub sender: Sender,
    /// The message's row.
    pub target: u64,
    /// The turn that ends for it, in the same transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

/// `command.rejected`: it was acknowledged and came too late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRejected {
    /// Its row in the inbox.
    pub n: u64,
    /// Why it has no effect.
    pub why: String,
}
