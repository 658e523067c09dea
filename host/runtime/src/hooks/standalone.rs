//! Asking one hook outside of a session: its payload is written by hand, its verdict is recorded nowhere.

use std::sync::Arc;

use rewake_core::effect::Effect;
use rewake_core::entry::Place;
use rewake_core::fact::{Fact, HookEvent, HookVerdict, LogLines, Source};
use rewake_core::ids::Digest;
use rewake_wire::{Outcome, Part, Sender};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ask::{Asked, ask};
use super::{HookPayload, MatchTarget, Used, matching};
use crate::context::SessionContext;
use rewake_bundle::GrantKind;

/// An event as somebody writes it by hand.
#[derive(Clone, Debug)]
pub struct Fired {
    /// Which.
    pub event: HookEvent,
    payload: HookPayload,
    tried: String,
    /// What the tool does, for matchers; of a tool that the bundle has, that is known.
    pub effect: Effect,
    /// What the tool may use, likewise.
    pub grants: Vec<GrantKind>,
}

/// What one hook answered.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Its verdict, checked as in a session; where it failed, what its `on_error` says.
    pub verdict: HookVerdict,
    /// What it said beside it.
    pub logs: Option<LogLines>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    #[serde(default = "startup")]
    source: Source,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prompt {
    prompt: String,
    sender: Option<Sender>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default = "use_1")]
    tool_use_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default = "use_1")]
    tool_use_id: String,
    #[serde(default)]
    tool_output: Vec<Part>,
    #[serde(default)]
    duration_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default = "use_1")]
    tool_use_id: String,
    error: String,
    #[serde(default = "failed")]
    outcome: Outcome,
    duration_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stop {
    #[serde(default)]
    stop_hook_active: bool,
    last_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    #[serde(default = "stopped")]
    reason: String,
}

fn startup() -> Source {
    Source::Startup
}

fn use_1() -> String {
    "use_1".into()
}

fn stopped() -> String {
    "stopped".into()
}

fn failed() -> Outcome {
    Outcome::Error
}

impl Fired {
    /// An event with its own fields (wit/README.md); those that every event has are added when it is told.
    /// What is left out has a value that says little.
    ///
    /// # Errors
    /// What is wrong with the fields.
    pub fn new(event: HookEvent, fields: Value) -> Result<Fired, String> {
        let (payload, tried) = payload(event, fields)?;
        Ok(Fired { event, payload, tried, effect: Effect::Once, grants: Vec::new() })
    }

    /// The tool that it is about, if it is about one; else the word that matchers are tested on.
    pub fn tried(&self) -> &str {
        &self.tried
    }
}

fn payload(event: HookEvent, fields: Value) -> Result<(HookPayload, String), String> {
    Ok(match event {
        HookEvent::SessionStart => {
            let Start { source } = read(fields)?;
            (HookPayload::Start { source }, source.as_str().to_owned())
        }
        HookEvent::UserPromptSubmit => {
            let Prompt { prompt, sender } = read(fields)?;
            let sender = sender.or_else(|| Some(Sender::Operator("author".into())));
            (HookPayload::Prompt { prompt, sender }, String::new())
        }
        HookEvent::PreToolUse => {
            let Before { tool_name, tool_input, tool_use_id } = read(fields)?;
            (HookPayload::Tool { used: used(&tool_name, tool_input, tool_use_id)? }, tool_name)
        }
        HookEvent::PostToolUse => {
            let After { tool_name, tool_input, tool_use_id, tool_output, duration_ms } = read(fields)?;
            let used = used(&tool_name, tool_input, tool_use_id)?;
            (HookPayload::After { used, tool_output, duration_ms }, tool_name)
        }
        HookEvent::PostToolUseFailure => {
            let Failure { tool_name, tool_input, tool_use_id, error, outcome, duration_ms } = read(fields)?;
            let used = used(&tool_name, tool_input, tool_use_id)?;
            (HookPayload::Failure { used, error, outcome, duration_ms }, tool_name)
        }
        HookEvent::Stop => {
            let Stop { stop_hook_active, last_message } = read(fields)?;
            (HookPayload::Stop { stop_hook_active, last_message }, String::new())
        }
        HookEvent::SessionEnd => {
            let end: End = read(fields)?;
            let reason = word(&end.reason, &["stopped", "failed", "archived"], "reason")?;
            (HookPayload::End { reason }, reason.to_owned())
        }
        HookEvent::SubagentStart
        | HookEvent::SubagentStop
        | HookEvent::PreCompact
        | HookEvent::PostCompact
        | HookEvent::Notification => {
            return Err(format!("nothing sets off {} in this version", event.as_str()));
        }
    })
}

fn read<T: DeserializeOwned>(fields: Value) -> Result<T, String> {
    serde_json::from_value(fields).map_err(|error| error.to_string())
}

fn word(given: &str, known: &[&'static str], field: &str) -> Result<&'static str, String> {
    let found = known.iter().copied().find(|word| *word == given);
    found.ok_or_else(|| format!("`{field}` is {given:?}; it is one of {}", known.join(", ")))
}

fn used(name: &str, input: Value, id: String) -> Result<Used, String> {
    let input = if input.is_null() { Value::Object(serde_json::Map::new()) } else { input };
    let text = RawValue::from_string(input.to_string()).map_err(|error| error.to_string())?;
    let (effect, grants) = (Effect::Once, Vec::new());
    Ok(Used { tool_name: name.to_owned(), tool_input: text, tool_use_id: id, effect, grants })
}

/// Asks the hooks of one component that are for an event, one after another, in the order of their
/// declarations; none is asked, if none is for it.
pub(crate) async fn ask_alone(cx: &Arc<SessionContext>, component: u32, fired: &Fired) -> Vec<Answered> {
    let target = match cx.tool(&fired.tried) {
        Some(tool) => MatchTarget::tool(cx, tool),
        None => MatchTarget { name: &fired.tried, effect: fired.effect, grants: fired.grants.clone() },
    };
    let mut payload = fired.payload.clone();
    if let HookPayload::Tool { used } | HookPayload::After { used, .. } | HookPayload::Failure { used, .. } =
        &mut payload
    {
        (used.effect, used.grants) = (target.effect, target.grants.clone());
    }
    let mut answers = Vec::new();
    for hook in matching(cx, fired.event, &target) {
        if cx.created.hooks[hook as usize].component == component {
            answers.extend(one(cx, hook, fired.event, &payload).await);
        }
    }
    answers
}

async fn one(
    cx: &Arc<SessionContext>,
    hook: u32,
    event: HookEvent,
    payload: &HookPayload,
) -> Option<Answered> {
    let is_of_turn = !matches!(event, HookEvent::SessionStart | HookEvent::SessionEnd);
    let (turn, place) = if is_of_turn { (Some(1), Place::turn(1)) } else { (None, Place::default()) };
    let asked = Asked { hook, start: 0, key: random_key(), binding: Digest::default(), place };
    let (mut verdict, mut logs) = (None, None);
    for draft in ask(cx, &cx.busy().await, asked, turn, payload).await {
        match draft.fact {
            Fact::HookVerdict(said) => verdict = Some(said),
            Fact::LogLines(said) => logs = Some(said),
            _ => {}
        }
    }
    Some(Answered { verdict: verdict?, logs })
}

/// An idempotency key that no call had before.
pub(crate) fn random_key() -> String {
    let mut bytes = [0; 32];
    // A machine without randomness runs no sessions either, and outside of a session a repeated key harms nobody.
    let _ = getrandom::fill(&mut bytes);
    Digest::of(&bytes).to_hex()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_written_with_their_own_fields_and_no_others() {
        for (event, fields, tried) in [
            (HookEvent::SessionStart, json!({}), "startup"),
            (HookEvent::SessionStart, json!({ "source": "resume" }), "resume"),
            (HookEvent::PreToolUse, json!({ "tool_name": "a", "tool_input": { "x": 1 } }), "a"),
            (HookEvent::PostToolUse, json!({ "tool_name": "a", "tool_output": [] }), "a"),
            (HookEvent::PostToolUseFailure, json!({ "tool_name": "a", "error": "no" }), "a"),
            (HookEvent::UserPromptSubmit, json!({ "prompt": "hello" }), ""),
            (HookEvent::Stop, json!({}), ""),
            (HookEvent::SessionEnd, json!({}), "stopped"),
        ] {
            assert_eq!(Fired::new(event, fields).unwrap().tried(), tried, "{event:?}");
        }
        for (event, fields, why) in [
            (HookEvent::PreToolUse, json!({ "tool": "a" }), "tool_name"),
            (HookEvent::PreToolUse, json!({}), "tool_name"),
            (HookEvent::SessionStart, json!({ "source": "later" }), "startup"),
            (HookEvent::Stop, json!({ "prompt": "x" }), "prompt"),
        ] {
            let error = Fired::new(event, fields).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_tool_s_input_is_an_object_if_it_is_left_out() {
        let (payload, _) = payload(HookEvent::PreToolUse, json!({ "tool_name": "a" })).unwrap();
        assert_eq!(
            serde_json::to_value(&payload).unwrap(),
            json!({
                "tool_name": "a", "tool_input": {}, "tool_use_id": "use_1", "effect": "once", "grants": [],
            })
        );
    }
}
