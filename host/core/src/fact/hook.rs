//! Facts of hooks: what is asked of them, and what they decide (hooks.md). Which of them an event is for is
//! decided elsewhere.

use rewake_wire::entry::{Decision, OnError};
use serde::{Deserialize, Serialize};

use super::session::Source;
use crate::ids::Digest;

/// The events that hooks can be declared for, by the names of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    /// A host took the session up.
    SessionStart,
    /// A message is about to be given to a step.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has answered.
    PostToolUse,
    /// A tool failed, was refused or lost.
    PostToolUseFailure,
    /// The turn is about to be complete.
    Stop,
    /// A child session was started.
    SubagentStart,
    /// A child session is about to be complete.
    SubagentStop,
    /// What the model sees is about to be shortened.
    PreCompact,
    /// What the model sees was shortened.
    PostCompact,
    /// A person ought to know something.
    Notification,
    /// The session has ended.
    SessionEnd,
}

/// What the matchers of an event are tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOn {
    /// The event has no matcher.
    Nothing,
    /// A tool's name, or what the tool can do.
    Tool,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A name that nobody knows beforehand: an agent's, or a kind of notification.
    Name,
}

impl HookEvent {
    /// Every event.
    pub const ALL: [HookEvent; 12] = [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::PostToolUse,
        HookEvent::PostToolUseFailure,
        HookEvent::Stop,
        HookEvent::SubagentStart,
        HookEvent::SubagentStop,
        HookEvent::PreCompact,
        HookEvent::PostCompact,
        HookEvent::Notification,
        HookEvent::SessionEnd,
    ];

    /// The event's name in manifests, in journals and to guests.
    pub const fn as_str(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::PostToolUseFailure => "PostToolUseFailure",
            HookEvent::Stop => "Stop",
            HookEvent::SubagentStart => "SubagentStart",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::PostCompact => "PostCompact",
            HookEvent::Notification => "Notification",
            HookEvent::SessionEnd => "SessionEnd",
        }
    }

    /// Whether this version ever sets it off. A session has no hooks on the others: a guard that never runs is
    /// worse than none.
    pub const fn is_fired(self) -> bool {
        !matches!(
            self,
            HookEvent::SubagentStart
                | HookEvent::SubagentStop
                | HookEvent::PreCompact
                | HookEvent::PostCompact
                | HookEvent::Notification
        )
    }

    /// What its matchers are tried on.
    pub const fn tried_on(self) -> TriedOn {
        match self {
            HookEvent::UserPromptSubmit | HookEvent::Stop => TriedOn::Nothing,
            HookEvent::PreToolUse | HookEvent::PostToolUse | HookEvent::PostToolUseFailure => TriedOn::Tool,
            HookEvent::SubagentStart | HookEvent::SubagentStop | HookEvent::Notification => TriedOn::Name,
            HookEvent::SessionStart => TriedOn::Words(&["startup", "resume", "fork"]),
            HookEvent::PreCompact | HookEvent::PostCompact => TriedOn::Words(&["manual", "auto"]),
            HookEvent::SessionEnd => TriedOn::Words(&["stopped", "failed", "archived"]),
        }
    }

    /// Whether a hook may replace what it is about, and so be declared `rewrites`.
    pub const fn can_be_rewritten(self) -> bool {
        matches!(self, HookEvent::PreToolUse | HookEvent::PostToolUse)
    }

    /// What a hook's failure means where its author does not say (hooks.md).
    pub const fn default_on_error(self) -> OnError {
        match self {
            HookEvent::PreToolUse | HookEvent::UserPromptSubmit => OnError::Deny,
            _ => OnError::Allow,
        }
    }

    /// Whether a hook on it may decide so. It may always decide nothing.
    pub const fn may_decide(self, decision: Decision) -> bool {
        match decision {
            Decision::None => true,
            Decision::Allow | Decision::Deny | Decision::Ask => matches!(self, HookEvent::PreToolUse),
            Decision::Block => {
                matches!(self, HookEvent::UserPromptSubmit | HookEvent::PostToolUse | HookEvent::Stop)
            }
        }
    }

    /// What a failure decides: to say no in the event's own word, where its `on_error` is `deny` and the
    /// event has such a word.
    pub const fn failure(self, on_error: OnError) -> Decision {
        match on_error {
            OnError::Deny if self.may_decide(Decision::Deny) => Decision::Deny,
            OnError::Deny if self.may_decide(Decision::Block) => Decision::Block,
            OnError::Deny | OnError::Allow => Decision::None,
        }
    }
}

/// `hook.started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookStarted {
    /// Index of the pinned hook.
    pub hook: u32,
    /// The event.
    pub event: HookEvent,
    /// Of a SessionStart: why it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Of a UserPromptSubmit: the message's row in the inbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u64>,
    /// Digest of what is judged: session, call, tool, definition and canonical arguments.
    pub binding: Digest,
}
