//! What an entry can say: one kind of fact a variant, one family of kinds a file (spec `entries.md`).
//! A kind's name and version are written beside every payload; each version ever released decodes for ever.

mod grants;
mod hook;
mod http;
mod pin;
mod session;
mod step;
mod turn;

use rewake_wire::entry;
pub use rewake_wire::entry::{
    AgentMessage, AgentTitle, Answer, Asker, CallRetried, Changes, CommandCanceled, CommandEdited,
    CommandPromoted, CommandRejected, Decision, FileAnswer, FileKind, FileObserved, FileOp, FileStat,
    HttpLost, HttpUse, LogLevel, LogLine, LogLines, Lost, ModelCompleted, ModelContent, ModelLost,
    ModelOutcome, OnError, PartialAnswer, Question, QuestionAsked, QuestionWithdrawn, Scope, ToolLost,
    TurnCompleted, TurnFailed, TurnInterrupted, TurnStarted, TurnSteered, Unfinished, UserAnswer,
    UserInterrupt, UserMessage, UserStop,
};
pub use rewake_wire::{Ending, Finish as ModelFinish};
use serde::{Deserialize, Serialize};

pub use crate::effect::Effect as Class;
use crate::ids::{Digest, Timestamp};

pub use grants::{GrantsChanged, GrantsWhy};
pub use hook::{HookEvent, HookStarted, TriedOn};
pub use http::class_of;
pub use pin::{
    AgentPin, BundlePin, ComponentPin, Created, GuestLimits, HookPin, PluginKind, Provider, ToolPin,
};
pub use session::{
    BudgetChanged, SessionFailed, SessionLabelled, SessionLoaded, SessionStopped, SessionTitled,
    SessionUnloaded, SnapshotRejected, SnapshotTaken, Source,
};
pub use step::{Next, Observed, StateRef, StepAborted, StepCompleted, StepObserved, StepRerun, StepStarted};
pub use turn::{TurnWaiting, WaitOn};

/// What a tool or a hook did with files.
pub type FileAudit = entry::FileAudit<Digest>;
/// One line of an audit list.
pub type FileUsed = entry::FileUsed<Digest>;
/// `hook.verdict`
pub type HookVerdict = entry::HookVerdict<Digest>;
/// The body of a response.
pub type HttpBody = entry::HttpBody<Digest>;
/// `http.completed`
pub type HttpCompleted = entry::HttpCompleted<Digest>;
/// What came of a request.
pub type HttpOutcome = entry::HttpOutcome<Digest>;
/// A request, as far as it is journaled.
pub type HttpRequest = entry::HttpRequest<Digest>;
/// `http.started`
pub type HttpStarted = entry::HttpStarted<Digest>;
/// A message that was taken in.
pub type Message = entry::Message<Timestamp>;
/// `model.started`
pub type ModelStarted = entry::ModelStarted<Digest>;
/// One use of a tool, as it was asked for.
pub type RequestedUse = entry::RequestedUse<Digest>;
/// What a step is told.
pub type StepInput = entry::StepInput<Timestamp>;
/// What was sent to a model, as blobs of the session.
pub type Stored = entry::Stored<Digest>;
/// `tool.completed`
pub type ToolCompleted = entry::ToolCompleted<Digest>;
/// `tool.started`
pub type ToolStarted = entry::ToolStarted<Digest>;
/// `tools.requested`
pub type ToolsRequested = entry::ToolsRequested<Digest>;
/// `workspace.imported`
pub type WorkspaceImported = entry::WorkspaceImported<Digest>;

/// A marker of the harness author's own kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Custom {
    /// `custom.` and the author's name for it. It is the entry's kind and not repeated in the payload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Whatever the author says.
    pub data: serde_json::Value,
}

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident = $kind:literal, $version:literal;)*) => {
        /// One durable fact.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Fact {
            $($(#[$doc])* $name($name),)*
            /// A marker of the author's own kind, `custom.…`.
            Custom(Custom),
        }

        /// Every kind but the authors' own, and the newest version of its payload.
        pub const KINDS: &[(&str, u32)] = &[$(($kind, $version)),*];

        impl Fact {
            /// The kind: the entry's type wherever it is shown.
            pub fn kind(&self) -> &str {
                match self {
                    $(Fact::$name(_) => $kind,)*
                    Fact::Custom(custom) => &custom.kind,
                }
            }

            /// The version of the payload's shape.
            pub fn version(&self) -> u32 {
                match self {
                    $(Fact::$name(_) => $version,)*
                    Fact::Custom(_) => 1,
                }
            }

            /// The payload as it is stored.
            pub fn encode(&self) -> Vec<u8> {
                let encoded = match self {
                    $(Fact::$name(body) => serde_json::to_vec(body),)*
                    Fact::Custom(custom) => serde_json::to_vec(&custom.data),
                };
                encoded.expect("facts hold nothing that JSON cannot: string keys, finite numbers")
            }

            /// Reads a payload of a kind and version.
            ///
            /// # Errors
            /// What is wrong, if this host does not know the kind or version, or the bytes are none of it.
            pub fn decode(kind: &str, version: u32, payload: &[u8]) -> Result<Fact, String> {
                match (kind, version) {
                    $(($kind, 1..=$version) => {
                        serde_json::from_slice(payload).map(Fact::$name).map_err(|e| format!("{kind}: {e}"))
                    })*
                    (custom, 1) if custom.starts_with(CUSTOM) => serde_json::from_slice(payload)
                        .map(|data| Fact::Custom(Custom { kind: custom.to_owned(), data }))
                        .map_err(|e| format!("{kind}: {e}")),
                    _ => Err(format!(
                        "this host does not know {:?} version {version}: a newer version of rewake wrote it, \
                         and one that is as new can go on with the session",
                        crate::limits::cut(kind, 100)
                    )),
                }
            }
        }

        $(impl From<$name> for Fact {
            fn from(body: $name) -> Fact {
                Fact::$name(body)
            }
        })*

        impl From<Custom> for Fact {
            fn from(body: Custom) -> Fact {
                Fact::Custom(body)
            }
        }
    };
}

/// What the kinds of authors' own markers start with.
pub const CUSTOM: &str = "custom.";

/// Kinds that no entry of this version has and no other fact may get: names of frames of live streams, which are not
/// entries, and `call.delivered` (journal.md R3).
pub const RESERVED: [&str; 5] = ["error", "ping", "event_start", "event_delta", "call.delivered"];

type SessionCreated = Created;

facts! {
    /// The session exists, with all that it will run with.
    SessionCreated = "session.created", 1;
    /// A host took it up.
    SessionLoaded = "session.loaded", 1;
    /// A host unloaded it in good order.
    SessionUnloaded = "session.unloaded", 1;
    /// A hook named it.
    SessionTitled = "session.titled", 1;
    /// The operator's words about it are others.
    SessionLabelled = "session.labelled", 1;
    /// It was ended for good.
    SessionStopped = "session.stopped", 1;
    /// It ended for good because it cannot go on.
    SessionFailed = "session.failed", 1;
    /// A message was accepted.
    UserMessage = "user.message", 1;
    /// An answer was accepted.
    UserAnswer = "user.answer", 1;
    /// An interrupt was accepted.
    UserInterrupt = "user.interrupt", 1;
    /// A stop was accepted.
    UserStop = "user.stop", 1;
    /// A command came too late, and was accepted as that.
    CommandRejected = "command.rejected", 1;
    /// A message that waits says something else.
    CommandEdited = "command.edited", 1;
    /// A message that waited was canceled.
    CommandCanceled = "command.canceled", 1;
    /// A message that waits opens the next turn.
    CommandPromoted = "command.promoted", 1;
    /// A turn was opened.
    TurnStarted = "turn.started", 1;
    /// Commands joined the open turn.
    TurnSteered = "turn.steered", 1;
    /// The turn waits.
    TurnWaiting = "turn.waiting", 1;
    /// The turn is complete.
    TurnCompleted = "turn.completed", 1;
    /// The turn was ended by a person.
    TurnInterrupted = "turn.interrupted", 1;
    /// The turn could not go on.
    TurnFailed = "turn.failed", 1;
    /// A step's input is fixed.
    StepStarted = "step.started", 1;
    /// The step ended well.
    StepCompleted = "step.completed", 1;
    /// The step did not end well.
    StepAborted = "step.aborted", 1;
    /// The step is run again.
    StepRerun = "step.rerun", 1;
    /// What the step observed since its last entry.
    StepObserved = "step.observed", 1;
    /// The agent says something.
    AgentMessage = "agent.message", 1;
    /// The agent names the session.
    AgentTitle = "agent.title", 1;
    /// Diagnostics of a guest.
    LogLines = "log.lines", 1;
    /// A model is about to be asked.
    ModelStarted = "model.started", 1;
    /// The model answered, or would not.
    ModelCompleted = "model.completed", 1;
    /// What the model answered is not known.
    ModelLost = "model.lost", 1;
    /// The harness asks for tools.
    ToolsRequested = "tools.requested", 1;
    /// A tool is about to run.
    ToolStarted = "tool.started", 1;
    /// A tool ended, or was refused.
    ToolCompleted = "tool.completed", 1;
    /// How a tool ended is not known.
    ToolLost = "tool.lost", 1;
    /// A request of the harness is about to be sent.
    HttpStarted = "http.started", 1;
    /// What came of it, or that it was refused.
    HttpCompleted = "http.completed", 1;
    /// What came of it is not known.
    HttpLost = "http.lost", 1;
    /// A hook is about to be asked.
    HookStarted = "hook.started", 1;
    /// A hook answered.
    HookVerdict = "hook.verdict", 1;
    /// A question to people.
    QuestionAsked = "question.asked", 1;
    /// A question needs no answer any more.
    QuestionWithdrawn = "question.withdrawn", 1;
    /// A call is performed again.
    CallRetried = "call.retried", 1;
    /// The fold and the saved state were kept.
    SnapshotTaken = "snapshot.taken", 1;
    /// A snapshot could not be used.
    SnapshotRejected = "snapshot.rejected", 1;
    /// A component has other grants than before.
    GrantsChanged = "grants.changed", 1;
    /// An operator changed what its models may cost.
    BudgetChanged = "budget.changed", 1;
    /// Files were brought into the workspace.
    WorkspaceImported = "workspace.imported", 1;
}

impl Fact {
    /// The inbox rows that it accepts (R1): one, and for a cancellation that of the message too.
    pub fn rows(&self) -> impl Iterator<Item = u64> + use<> {
        let (one, other) = match self {
            Fact::UserMessage(body) => (Some(body.n), None),
            Fact::UserAnswer(body) => (Some(body.n), None),
            Fact::UserInterrupt(body) => (Some(body.n), None),
            Fact::UserStop(body) => (Some(body.n), None),
            Fact::CommandRejected(body) => (Some(body.n), None),
            Fact::CommandEdited(body) => (Some(body.n), None),
            Fact::CommandPromoted(body) => (Some(body.n), None),
            Fact::CommandCanceled(body) => (Some(body.n), Some(body.target)),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }

    /// What a guest says, with what the host added to it when it was recorded: then the two can be compared.
    #[must_use]
    pub fn as_recorded(mut self, recorded: &Fact) -> Fact {
        if let (Fact::AgentMessage(said), Fact::AgentMessage(before)) = (&mut self, recorded) {
            said.of = before.of;
        }
        self
    }

    /// Whether it ends a turn.
    pub fn is_turn_end(&self) -> bool {
        matches!(self, Fact::TurnCompleted(_) | Fact::TurnInterrupted(_) | Fact::TurnFailed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_distinct() {
        let mut kinds: Vec<_> = KINDS.iter().map(|(kind, _)| kind).collect();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds.len(), KINDS.len());
        for reserved in RESERVED {
            assert!(!kinds.contains(&&reserved) && !reserved.starts_with(CUSTOM), "{reserved}");
            assert!(Fact::decode(reserved, 1, b"{}").unwrap_err().contains("does not know"));
        }
    }

    #[test]
    fn a_fact_is_read_as_it_was_written() {
        let fact = Fact::from(TurnStarted { commands: vec![1, 2] });
        assert_eq!(Fact::decode(fact.kind(), fact.version(), &fact.encode()), Ok(fact));
        let custom =
            Fact::from(Custom { kind: "custom.note".into(), data: serde_json::json!({"a": [1, null]}) });
        assert_eq!(Fact::decode(custom.kind(), 1, &custom.encode()), Ok(custom));
    }

    #[test]
    fn what_a_newer_host_wrote_is_refused_by_name() {
        let error = Fact::decode("turn.started", 2, b"{}").unwrap_err();
        assert!(error.contains("\"turn.started\" version 2"), "{error}");
        assert!(Fact::decode("turn.begun", 1, b"{}").is_err());
        assert!(Fact::decode("turn.started", 1, b"{").is_err());
    }
}
