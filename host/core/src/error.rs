//! The planes of error that must not mix: a refusal goes to the client, a corruption or a mismatch
//! stops one session and keeps its journal. What guests see is part of the contract, not of this file.

use rewake_wire::Fault;
use thiserror::Error;

use crate::ids::Head;

/// An invalid id.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{given:?} is not an id: it must be {prefix}… with letters and digits")]
pub struct BadId {
    /// What was given, cut.
    pub given: String,
    /// What it must start with.
    pub prefix: &'static str,
}

/// The client's error: nothing was written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// The session has ended.
    #[error("the session is {status}; it takes no more commands. Start a new one with `rewake run`")]
    Ended {
        /// `stopped` or `failed`.
        status: &'static str,
    },
    /// A bound would be passed.
    #[error("{what}: {got} is over the limit of {max}")]
    Limit {
        /// What is bounded, with its unit.
        what: &'static str,
        /// What was asked for.
        got: u64,
        /// The bound.
        max: u64,
    },
    /// The command does not fit the session as it is.
    #[error("{0}")]
    Conflict(String),
    /// The message that the command is about is in the journal already.
    #[error("message {n} was delivered already; it can no longer be changed or canceled. Send another one")]
    Delivered {
        /// Its row in the inbox.
        n: u64,
    },
    /// Anyone who sent the command may not do that.
    #[error("{0}")]
    Forbidden(String),
    /// A step asked for something that its session's rules forbid: a bug of the host.
    #[error("refused by the journal's rules: {0}")]
    Rule(&'static str),
}

/// The journal cannot be understood: the session stops here and keeps what it has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("entry {seq}: {what}")]
pub struct Corrupt {
    /// The entry.
    pub seq: u64,
    /// What is wrong with it.
    pub what: String,
}

impl Corrupt {
    /// At an entry.
    pub fn at(seq: u64, what: impl Into<String>) -> Self {
        Corrupt { seq, what: what.into() }
    }

    /// After the last entry that can be read, where the session's row tells of another end.
    pub fn at_end(read: Head, told: Head) -> Self {
        let what = match told.seq.checked_sub(read.seq) {
            Some(0) => "the session's row names another entry before it".to_owned(),
            Some(_) => format!("missing; the session's row says that {} entries were appended", told.seq),
            None => format!("the session's row knows of {} entries only", told.seq),
        };
        Corrupt::at(read.seq + 1, what)
    }
}

/// On replay the guest asked for something else than what is recorded (R6).
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("entry {seq}: recorded {expected}, but the harness now asked for {got} (first difference: {field})")]
pub struct Mismatch {
    /// The recorded entry; 0 where none is.
    pub seq: u64,
    /// What is recorded.
    pub expected: String,
    /// What was asked for.
    pub got: String,
    /// The first field in which they differ.
    pub field: String,
}

impl Mismatch {
    /// As the fault it is shown as.
    pub fn fault(&self, host_version: &str) -> Fault {
        Fault {
            reason: "mismatch".into(),
            seq: (self.seq > 0).then_some(self.seq),
            expected: crate::limits::cut(&self.expected, crate::limits::DETAIL_BYTES_MAX),
            got: crate::limits::cut(&self.got, crate::limits::DETAIL_BYTES_MAX),
            field: self.field.clone(),
            detail: "the harness did not repeat what the journal holds of this step; nothing was done and \
                     nothing was written. A harness must depend on nothing but its input, its state and \
                     what its imports return"
                .into(),
            host_version: host_version.into(),
        }
    }
}
