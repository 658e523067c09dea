//! What was sent to the session, as it was taken in (journal.md R1).

use rewake_wire::{Part, Sender};
use serde::{Deserialize, Serialize};

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

/// `command.rejected`: it was acknowledged and came too late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRejected {
    /// Its row in the inbox.
    pub n: u64,
    /// Why it has no effect.
    pub why: String,
}
