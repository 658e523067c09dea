//! What every store checks before it writes, and how it words it: one place, so that no two stores
//! differ. Knows no storage.

use std::collections::BTreeSet;

use rewake_core::Refusal;
use rewake_core::codec::{self, Record};
use rewake_core::command::Command;
use rewake_core::ids::{Digest, Head, SessionId};
use rewake_core::limits;
use rewake_wire::{Sender, Status};

use crate::ports::{Append, Bundle, NewSession};
use crate::{Result, StoreError};

/// Bytes of a dedup key.
pub(crate) const KEY_BYTES_MAX: usize = 255;
/// Bytes of a project's name.
const PROJECT_BYTES_MAX: usize = 64;
/// Untaken messages of one sender in one inbox.
const SENDER_ROWS_MAX: usize = limits::INBOX_ROWS_MAX / 4;

/// Checks that a session to be created is whole; returns its head.
pub(crate) fn creation(new: &NewSession) -> Result<Head> {
    project(&new.project)?;
    chain(&new.session, new.epoch, Head::default(), &new.records)
}

/// Checks a project's name.
pub(crate) fn project(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > PROJECT_BYTES_MAX {
        return Err(Refusal::Limit {
            what: "bytes of a project's name",
            got: name.len() as u64,
            max: PROJECT_BYTES_MAX as u64,
        }
        .into());
    }
    Ok(())
}

/// Checks that an append is whole in itself; returns the head after it.
pub(crate) fn append(append: &Append) -> Result<Head> {
    for blob in &append.blobs {
        if Digest::of(&blob.bytes) != blob.digest {
            return Err(StoreError::corrupt(
                format!("a blob of {}", append.session),
                "its digest is not that of its bytes",
            ));
        }
    }
    if let Some(state) = &append.state
        && Digest::of(&state.bytes) != state.digest
    {
        return Err(StoreError::corrupt(
            format!("the saved state of {}", append.session),
            "its digest is not that of its bytes",
        ));
    }
    chain(&append.session, append.epoch, append.expected, &append.records)
}

fn chain(session: &SessionId, epoch: u64, from: Head, records: &[Record]) -> Result<Head> {
    let bad = |why: &dyn std::fmt::Display| StoreError::corrupt(format!("an append to {session}"), why);
    if records.is_empty() {
        return Err(bad(&"it holds no entry"));
    }
    let mut head = from;
    for record in records {
        if record.epoch != epoch {
            return Err(bad(&format!("entry {} names lease {}, not {epoch}", record.seq, record.epoch)));
        }
        if record.payload.is_none() {
            return Err(bad(&format!("entry {} has no payload", record.seq)));
        }
        head = codec::verify(session, head, record).map_err(|corrupt| bad(&corrupt))?;
    }
    Ok(head)
}

/// Checks what can be checked of a command before the inbox is looked at.
pub(crate) fn command(command: &Command, key: Option<&str>) -> Result<()> {
    command.check()?;
    match key {
        Some(key) if key.is_empty() || key.len() > KEY_BYTES_MAX => Err(Refusal::Limit {
            what: "bytes of a dedup key (at least 1)",
            got: key.len() as u64,
            max: KEY_BYTES_MAX as u64,
        }
        .into()),
        _ => Ok(()),
    }
}

/// The kinds of command, which have room in an inbox apart from each other: anyone who has filled it with one
/// can still send the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Messages.
    Message,
    /// Answers.
    Answer,
    /// Interrupts.
    Interrupt,
    /// Stops.
    Stop,
    /// Edits.
    Edit,
    /// Cancellations.
    Cancel,
    /// Promotions.
    Promote,
}

impl Lane {
    /// That of a command.
    pub(crate) fn of(command: &Command) -> Lane {
        match command {
            Command::Message { .. } => Lane::Message,
            Command::Answer { .. } => Lane::Answer,
            Command::Interrupt { .. } => Lane::Interrupt,
            Command::Stop { .. } => Lane::Stop,
            Command::Edit { .. } => Lane::Edit,
            Command::Cancel { .. } => Lane::Cancel,
            Command::Promote { .. } => Lane::Promote,
        }
    }

    /// The `type` of its commands as they are stored.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Lane::Message => "message",
            Lane::Answer => "answer",
            Lane::Interrupt => "interrupt",
            Lane::Stop => "stop",
            Lane::Edit => "edit",
            Lane::Cancel => "cancel",
            Lane::Promote => "promote",
        }
    }
}

/// What an inbox holds when a command is to be put into it.
pub(crate) struct Inbox {
    /// The session's status.
    pub(crate) status: Status,
    /// Untaken rows of the command's lane.
    pub(crate) untaken: u64,
    /// Those of the same sender.
    pub(crate) untaken_of_sender: u64,
}

impl Inbox {
    /// Whether one more may be put in.
    pub(crate) fn admit(&self, lane: Lane) -> Result<()> {
        if matches!(self.status, Status::Stopped | Status::Failed) {
            return Err(Refusal::Ended { status: self.status.as_str() }.into());
        }
        let max = match lane {
            Lane::Message => {
                room("untaken messages in the session's inbox", self.untaken, limits::INBOX_ROWS_MAX)?;
                SENDER_ROWS_MAX
            }
            _ => limits::INBOX_CONTROLS_MAX,
        };
        let what = match lane {
            Lane::Message => "untaken messages of one sender in the session's inbox",
            Lane::Answer => "untaken answers of one sender in the session's inbox",
            Lane::Interrupt => "untaken interrupts of one sender in the session's inbox",
            Lane::Stop => "untaken stops of one sender in the session's inbox",
            Lane::Edit => "untaken edits of one sender in the session's inbox",
            Lane::Cancel => "untaken cancellations of one sender in the session's inbox",
            Lane::Promote => "untaken promotions of one sender in the session's inbox",
        };
        room(what, self.untaken_of_sender, max)
    }
}

fn room(what: &'static str, held: u64, max: usize) -> Result<()> {
    if held >= max as u64 {
        return Err(Refusal::Limit { what, got: held + 1, max: max as u64 }.into());
    }
    Ok(())
}

/// Nothing was sent with the number that a command is about.
pub(crate) fn no_row(session: &SessionId, n: u64) -> StoreError {
    StoreError::NotFound(format!("command {n} in the inbox of {session}"))
}

/// The key came before, with something else.
pub(crate) fn key_reused(key: &str, n: u64) -> StoreError {
    Refusal::Conflict(format!(
        "the key {key:?} was used before, for row {n} with other content; use a new key for a new command"
    ))
    .into()
}

/// A sender as it is stored and compared.
pub(crate) fn sender_text(sender: &Sender) -> String {
    serde_json::to_string(sender).expect("a sender is plain text")
}

/// A command as it is stored and compared.
pub(crate) fn command_text(command: &Command) -> String {
    serde_json::to_string(command).expect("a command is plain text")
}

/// A status from the word it is stored as.
pub(crate) fn status(word: &str) -> Option<Status> {
    [Status::Queued, Status::Running, Status::Awaiting, Status::Failed, Status::Stopped]
        .into_iter()
        .find(|status| status.as_str() == word)
}

/// Checks that a bundle names each of its files once.
pub(crate) fn bundle(bundle: &Bundle) -> Result<()> {
    let mut paths = BTreeSet::new();
    match bundle.files.iter().find(|(path, _)| !paths.insert(path)) {
        Some((path, _)) => Err(StoreError::corrupt(
            format!("bundle {} {}", bundle.name, bundle.version),
            format!("it holds two files {path}"),
        )),
        None => Ok(()),
    }
}

/// A bundle that is not kept.
pub(crate) fn no_bundle(digest: &Digest) -> StoreError {
    StoreError::NotFound(format!("bundle blake3:{digest}"))
}

/// A bundle that is not installed.
pub(crate) fn not_installed(digest: &Digest) -> StoreError {
    StoreError::NotFound(format!("installed bundle blake3:{digest}"))
}

/// Another bundle of this name and version is installed.
pub(crate) fn version_taken(name: &str, version: &str) -> StoreError {
    Refusal::Conflict(format!(
        "another {name} {version} is installed; nothing was written. Give the new one a version of its own, or \
         replace the other with `rewake bundle update`"
    ))
    .into()
}

/// Sessions that have not ended name the bundle; the newest first.
pub(crate) fn bundle_in_use(sessions: &[String]) -> StoreError {
    let shown: Vec<&str> = sessions.iter().take(3).map(String::as_str).collect();
    let more = match sessions.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Refusal::Conflict(format!(
        "sessions that have not ended run with it: {}{more}; nothing was removed. Stop them first, with \
         `rewake stop`",
        shown.join(", ")
    ))
    .into()
}
