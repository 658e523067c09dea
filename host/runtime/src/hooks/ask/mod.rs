//! Asking one hook: a fresh instance with its own grants, and what its answer may say to which event. What
//! does not fit is an error of the hook, never ignored; a failure means what its `on_error` says.

use rewake_bindings::hook;
use rewake_core::canonical;
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{Changes, Decision, HookEvent, HookPin, HookVerdict, ToolPin};
use rewake_core::ids::{Digest, turn_name};
use rewake_core::limits::{
    DETAIL_BYTES_MAX, HOOK_TEXT_CHARS_MAX, TITLE_CHARS_MAX, TOOL_INPUT_BYTES_MAX, cut, cut_chars,
};
use rewake_wire::{Actor, ActorType};

use super::payload::{HookPayload, input};
use crate::calls::cut_parts;
use crate::context::{Busy, SessionContext};
use rewake_sandbox::convert::parts_in;
use rewake_sandbox::guest::{self, CallResult};
use rewake_schema::Schema;

/// A hook that is asked, its start committed.
pub(crate) struct Asked {
    pub(crate) hook: u32,
    pub(crate) start: u64,
    pub(crate) key: String,
    pub(crate) binding: Digest,
    pub(crate) place: Place,
}

/// Asks one hook; returns its verdict, which comes last, and its log lines, as they are recorded.
pub(crate) async fn ask(
    cx: &SessionContext,
    busy: &Busy,
    asked: Asked,
    turn: Option<u32>,
    payload: &HookPayload,
) -> Vec<Draft> {
    let pin = &cx.created.hooks[asked.hook as usize];
    let component = cx.component(pin.component);
    let mut verdict = HookVerdict::default();
    let mut drafts = Vec::new();
    let answer = match input(cx, pin, turn, payload) {
        Err(why) => Err(why),
        Ok(input) => {
            let event = hook::Event {
                name: pin.event.as_str().to_owned(),
                idempotency_key: asked.key.clone(),
                session: cx.id.to_string(),
                turn: turn.map(turn_name),
                input,
                config: component.config.clone(),
            };
            let sandbox = cx.sandbox(component, Some(busy.clone()));
            let way_out = cx.way_out(component);
            let CallResult { result, ms, logs, files, http, calls, used: _ } =
                guest::call_hook(&cx.components, component, sandbox, way_out, pin.timeout_ms, &event).await;
            (verdict.ms, verdict.audit, verdict.http, verdict.calls) = (ms, files, http, calls);
            let logs = logs.into_fact(&component.full_name());
            drafts.extend(logs.map(|logs| Draft::system(asked.place, logs)));
            match result {
                Ok(Ok(verdict)) => check(cx, pin, payload, verdict),
                Ok(Err(why)) => Err(why),
                Err(broken) => Err(format!("{}: {}", broken.code, broken.detail)),
            }
        }
    };
    let said = answer.unwrap_or_else(|why| failed(cx, asked.hook, asked.start, asked.binding, &why));
    let verdict = HookVerdict {
        start: asked.start,
        hook: asked.hook,
        binding: asked.binding,
        decision: said.decision,
        reason: said.reason,
        context: said.context,
        changes: said.changes,
        error: said.error,
        ..verdict
    };
    let actor = Actor::new(ActorType::Hook, component.full_name());
    drafts.push(Draft::by(actor, asked.place, verdict));
    drafts
}

/// What an answer may say to this event.
fn check(
    cx: &SessionContext,
    pin: &HookPin,
    payload: &HookPayload,
    verdict: hook::Verdict,
) -> Result<HookVerdict, String> {
    let said = said(pin, verdict, cx.component(pin.component).limits.output_bytes_max)?;
    if let (Some(input), HookPayload::Tool { used }) = (&said.changes.input, payload)
        && let Some(tool) = cx.tool(&used.tool_name)
    {
        fits(tool, input)?;
    }
    Ok(said)
}

/// An answer as it is kept, if its event takes all of it. What it makes of an output is cut as a tool's is.
fn said(pin: &HookPin, verdict: hook::Verdict, output_bytes_max: u64) -> Result<HookVerdict, String> {
    use HookEvent::{PostToolUse, PreToolUse, SessionEnd, SessionStart, Stop, UserPromptSubmit};
    let event = pin.event;
    let name = event.as_str();
    let decision = match verdict.decision {
        hook::Decision::None => Decision::None,
        hook::Decision::Allow => Decision::Allow,
        hook::Decision::Deny => Decision::Deny,
        hook::Decision::Ask => Decision::Ask,
        hook::Decision::Block => Decision::Block,
    };
    if !event.may_decide(decision) {
        return Err(format!("it decided `{:?}`, which {name} does not take", verdict.decision));
    }
    if decision == Decision::Block && event == Stop && is_blank(verdict.reason.as_deref()) {
        return Err(
            "it wants the turn to go on and gives no `reason`, which the harness would be told".into()
        );
    }
    for (field, given, taken) in [
        ("context", verdict.context.is_some(), event != SessionEnd),
        ("updated-input", verdict.updated_input.is_some(), event == PreToolUse),
        ("updated-output", verdict.updated_output.is_some(), event == PostToolUse),
        ("title", verdict.title.is_some(), matches!(event, SessionStart | UserPromptSubmit)),
        ("end-turn", verdict.end_turn.is_some(), event != SessionEnd),
    ] {
        if given && !taken {
            return Err(format!("its verdict has `{field}`, which {name} does not take"));
        }
    }
    if !pin.rewrites && (verdict.updated_input.is_some() || verdict.updated_output.is_some()) {
        return Err(format!(
            "it replaces what {name} is about, and is not declared `rewrites = true`: others judge at the \
             same time"
        ));
    }
    if let Some(input) = &verdict.updated_input {
        check_input(input)?;
    }
    let text = |text: Option<String>| text.map(|text| cut_chars(&text, HOOK_TEXT_CHARS_MAX));
    let changes = Changes {
        input: verdict.updated_input,
        output: verdict.updated_output.map(|parts| cut_parts(parts_in(parts), output_bytes_max).0),
        title: verdict.title.map(|title| cut_chars(&title, TITLE_CHARS_MAX)),
        end_turn: text(verdict.end_turn),
    };
    let (reason, context) = (text(verdict.reason), text(verdict.context));
    Ok(HookVerdict { decision, reason, context, changes, ..HookVerdict::default() })
}

/// What a hook makes of an input must fit the tool's schema.
fn fits(tool: &ToolPin, input: &str) -> Result<(), String> {
    let name = &tool.name;
    let schema = Schema::compile(&tool.input_schema).map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        format!("its `updated-input` cannot be checked, as the schema of {name} is none: {first}")
    })?;
    let input = serde_json::from_str(input).map_err(|error| error.to_string())?;
    let fits = schema.validate(&input);
    fits.map_err(|problem| format!("its `updated-input` does not fit the schema of {name}: {problem}"))
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

/// What a hook makes of an input must be what a tool can be given: an object, each key once.
fn check_input(input: &str) -> Result<(), String> {
    if input.len() > TOOL_INPUT_BYTES_MAX {
        let bytes = input.len();
        return Err(format!(
            "its `updated-input` has {bytes} bytes; at most {TOOL_INPUT_BYTES_MAX} are taken"
        ));
    }
    canonical::digest(input).map_err(|why| format!("its `updated-input` cannot be read as JSON: {why}"))?;
    if input.trim_start().starts_with('{') {
        Ok(())
    } else {
        Err("its `updated-input` is not a JSON object, as the input of every tool is".into())
    }
}

/// The verdict of a hook that failed: its `on_error` decides.
pub(crate) fn failed(cx: &SessionContext, hook: u32, start: u64, binding: Digest, why: &str) -> HookVerdict {
    let pin = &cx.created.hooks[hook as usize];
    let decision = pin.event.failure(pin.on_error);
    let name = cx.component(pin.component).full_name();
    HookVerdict {
        start,
        hook,
        decision,
        reason: (decision != Decision::None)
            .then(|| format!("the hook {name} failed, and its on_error is \"deny\"")),
        binding,
        error: Some(cut(why, DETAIL_BYTES_MAX)),
        ..HookVerdict::default()
    }
}

#[cfg(test)]
mod tests;
