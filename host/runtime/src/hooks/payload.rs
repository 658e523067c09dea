//! What a hook is given: the JSON of each event's input (wit/README.md). Knows no guests.

use rewake_core::effect::Effect;
use rewake_core::fact::{HookEvent, HookPin, Source};
use rewake_core::firing::{Firing, Occasion};
use rewake_core::ids::{Timestamp, turn_name};
use rewake_core::session::Session;
use rewake_wire::{Outcome, Part, Sender};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::context::SessionContext;
use rewake_bundle::GrantKind;

/// What one event tells beside what every event does.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum HookPayload {
    Start {
        #[serde(skip)]
        source: Source,
    },
    Prompt {
        prompt: String,
        sender: Option<Sender>,
    },
    Tool {
        #[serde(flatten)]
        used: Used,
    },
    After {
        #[serde(flatten)]
        used: Used,
        tool_output: Vec<Part>,
        duration_ms: u64,
    },
    Failure {
        #[serde(flatten)]
        used: Used,
        error: String,
        outcome: Outcome,
        duration_ms: Option<u64>,
    },
    Stop {
        stop_hook_active: bool,
        last_message: Option<String>,
    },
    End {
        reason: &'static str,
    },
}

/// A use of a tool.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Used {
    pub(crate) tool_name: String,
    /// The bytes that the tool will get, not what another reader of JSON would make of them.
    pub(crate) tool_input: Box<RawValue>,
    pub(crate) tool_use_id: String,
    /// What repeating it does, as the host has it.
    pub(crate) effect: Effect,
    /// What it may use.
    pub(crate) grants: Vec<GrantKind>,
}

impl HookPayload {
    /// The payload of a hook that the session itself asks.
    pub(crate) fn of(session: &Session, firing: &Firing) -> HookPayload {
        match firing.occasion {
            Occasion::Start(source) => HookPayload::Start { source },
            Occasion::Prompt(n) => {
                let message = session.pending.messages.iter().find(|message| message.n == n);
                let prompt = message.map(|message| text(&message.parts)).unwrap_or_default();
                HookPayload::Prompt { prompt, sender: message.map(|message| message.sender.clone()) }
            }
            Occasion::Stop(round) => HookPayload::Stop {
                stop_hook_active: round > 0,
                last_message: session.turn.as_ref().and_then(|turn| turn.said.clone()),
            },
            Occasion::End => {
                HookPayload::End { reason: session.ended.as_ref().map_or("stopped", |ended| ended.as_str()) }
            }
        }
    }

    /// Why the event fires, where that is not how the session was loaded: a `startup` that was never answered
    /// is told again.
    fn source(&self) -> Option<Source> {
        match self {
            HookPayload::Start { source } => Some(*source),
            _ => None,
        }
    }

    /// The payload of a hook that hears how a use ended.
    pub(crate) fn after(
        event: HookEvent,
        used: Used,
        outcome: Outcome,
        parts: &[Part],
        ms: Option<u64>,
    ) -> HookPayload {
        match event {
            HookEvent::PostToolUse => {
                HookPayload::After { used, tool_output: parts.to_vec(), duration_ms: ms.unwrap_or(0) }
            }
            _ => HookPayload::Failure { used, error: text(parts), outcome, duration_ms: ms },
        }
    }
}

/// Parts as text, for a reader that only knows text.
fn text(parts: &[Part]) -> String {
    let lines = parts.iter().map(|part| match part {
        Part::Text { text } => text.clone(),
        Part::Json { json } => json.clone(),
        Part::Blob { media_type, .. } | Part::BlobRef { media_type, .. } => format!("[{media_type}]"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A hook's input: what every event tells, and what this one tells beside it.
#[derive(Serialize)]
struct HookInput<'a> {
    session_id: &'a str,
    turn_id: Option<String>,
    hook_event_name: &'static str,
    agent: &'a str,
    source: &'static str,
    workspace: Option<&'a str>,
    at: String,
    #[serde(flatten)]
    payload: &'a HookPayload,
}

/// The input as JSON text.
///
/// # Errors
/// What is wrong with it; then the hook cannot be asked.
pub(super) fn input(
    cx: &SessionContext,
    pin: &HookPin,
    turn: Option<u32>,
    payload: &HookPayload,
) -> Result<String, String> {
    let grants = &cx.component(pin.component).grants;
    let now = cx.clock.wall();
    let workspace =
        grants.fs.iter().find(|granted| granted.source == rewake_core::grant::FsSource::Workspace);
    let input = HookInput {
        session_id: cx.id.as_str(),
        turn_id: turn.map(turn_name),
        hook_event_name: pin.event.as_str(),
        agent: &cx.created.agent.name,
        source: payload.source().unwrap_or(cx.source).as_str(),
        workspace: workspace.map(|granted| granted.mount.as_str()),
        at: Timestamp(i64::try_from(now.as_millis()).unwrap_or(i64::MAX)).to_string(),
        payload,
    };
    serde_json::to_string(&input).map_err(|error| format!("its input cannot be written: {error}"))
}
