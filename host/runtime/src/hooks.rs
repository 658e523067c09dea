//! Hooks: which of them an event is for, asking them, and what an answer comes to (hooks.md). Each is asked
//! in a fresh instance with its own grants; a failure means what its `on_error` says.

use std::sync::Arc;

use rewake_bindings::hook;
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{
    CallRetried, Decision, Fact, HookEvent, HookPin, HookStarted, HookVerdict, OnError, ToolPin,
};
use rewake_core::firing::Firing;
use rewake_core::grant::Access;
use rewake_core::ids::{Digest, Timestamp, turn_name};
use rewake_core::limits::{DETAIL_BYTES_MAX, HOOK_TEXT_CHARS_MAX, cut, cut_chars};
use rewake_wire::{Actor, ActorType};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use crate::bundle::{GrantKind, Matcher};
use crate::context::{SessionContext, full_name};
use crate::event::{Port, Unrecorded};
use crate::guest::{self, Ran};

/// The hooks that must judge a use of a tool, in the order in which their verdicts are folded.
pub(crate) fn matching(cx: &SessionContext, event: HookEvent, tool: &ToolPin) -> Vec<u32> {
    let grants = grant_kinds(cx, tool);
    let hooks = (0u32..).zip(&cx.created.hooks);
    hooks
        .filter(|(_, pin)| pin.event == event)
        .filter(|(_, pin)| match Matcher::parse(crate::bundle::HookEvent::PreToolUse, &pin.matcher) {
            Ok(matcher) => matcher.matches(&tool.name, Some(tool.effect), &grants),
            // It parsed when it was pinned; if it does not now, it judges everything.
            Err(_) => true,
        })
        .map(|(index, _)| index)
        .collect()
}

fn grant_kinds(cx: &SessionContext, tool: &ToolPin) -> Vec<GrantKind> {
    let granted = cx.component(tool.component).grants.fs.iter();
    granted
        .map(|grant| match grant.access {
            Access::ReadOnly => GrantKind::FsRo,
            Access::ReadWrite => GrantKind::FsRw,
        })
        .collect()
}

/// A hook that is asked, its start committed.
struct Asked {
    hook: u32,
    start: u64,
    key: String,
    binding: Digest,
    place: Place,
}

/// A hook that is asked about a use of a tool.
pub(crate) struct Judged {
    /// Which of the uses.
    pub(crate) at: usize,
    pub(crate) hook: u32,
    pub(crate) place: Place,
    pub(crate) binding: Digest,
    pub(crate) use_id: String,
    pub(crate) tool: String,
    pub(crate) input: String,
}

/// A verdict on a use: which of the uses, the verdict's seq, the verdict.
pub(crate) type Answer = (usize, u64, HookVerdict);

/// Asks hooks about uses, side by side; each comes with its start's seq and key. Each verdict is told to
/// the driver by the task that heard it; none counts before its entry is durable, which the caller's next
/// commit sees to.
pub(crate) async fn judge(
    cx: &Arc<SessionContext>,
    port: Port,
    judged: Vec<(Judged, u64, String)>,
) -> Result<Vec<Answer>, Unrecorded> {
    let mut tasks = JoinSet::new();
    for (one, start, key) in judged {
        let (cx, port) = (cx.clone(), port.clone());
        tasks.spawn(async move {
            let _running = cx.running.clone().read_owned().await;
            // The bytes that the tool will get, not what another reader of JSON would make of them.
            let Ok(tool_input) = serde_json::from_str::<&RawValue>(&one.input) else {
                return Err(Unrecorded::Dropped);
            };
            let (tool_name, tool_use_id) = (&one.tool, &one.use_id);
            let specific = Specific::Tool { tool_name, tool_input, tool_use_id };
            let asked = Asked { hook: one.hook, start, key, binding: one.binding, place: one.place };
            let (seq, verdict) = ask(&cx, &port, asked, Some(one.place.turn), specific).await?;
            Ok((one.at, seq, verdict))
        });
    }
    let mut answers = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        answers.push(joined.map_err(|_| Unrecorded::Dropped)??);
    }
    Ok(answers)
}

/// Asks the hooks that the session's start is due to be told.
pub(crate) async fn fire(
    cx: Arc<SessionContext>,
    port: Port,
    turn: Option<u32>,
    firings: Vec<Firing>,
) -> Result<(), Unrecorded> {
    let drafts = firings.iter().map(|firing| starting(&cx, firing)).collect();
    let entries = port.record(drafts, true).await?;
    let mut tasks = JoinSet::new();
    for (firing, entry) in firings.into_iter().zip(entries) {
        if matches!(entry.fact, Fact::HookVerdict(_)) {
            continue;
        }
        let (start, key) = match firing.start {
            Some(start) => (start.seq, start.key),
            None => (entry.seq, entry.hash),
        };
        let asked = Asked {
            hook: firing.hook,
            start,
            key: key.to_hex(),
            binding: firing.binding,
            place: Place::default(),
        };
        let (cx, port) = (cx.clone(), port.clone());
        let specific = Specific::Start { source: firing.source.as_str() };
        tasks.spawn(async move {
            let _running = cx.running.clone().read_owned().await;
            ask(&cx, &port, asked, turn, specific).await
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.map_err(|_| Unrecorded::Dropped)??;
    }
    Ok(())
}

/// What stands in the journal before a hook is told of the start: one entry a firing.
fn starting(cx: &SessionContext, firing: &Firing) -> Draft {
    let fact: Fact = match firing.start {
        None => HookStarted {
            hook: firing.hook,
            event: HookEvent::SessionStart,
            source: Some(firing.source),
            binding: firing.binding,
        }
        .into(),
        Some(start) => match start.next_try {
            Some(n) => CallRetried { start: start.seq, n }.into(),
            None => failed(cx, firing.hook, start.seq, firing.binding, "it was tried too often").into(),
        },
    };
    Draft::system(Place::default(), fact)
}

/// Asks one hook, and has its verdict recorded.
async fn ask(
    cx: &SessionContext,
    port: &Port,
    asked: Asked,
    turn: Option<u32>,
    specific: Specific<'_>,
) -> Result<(u64, HookVerdict), Unrecorded> {
    let pin = &cx.created.hooks[asked.hook as usize];
    let component = cx.component(pin.component);
    let event = hook::Event {
        name: pin.event.as_str().to_owned(),
        idempotency_key: asked.key.clone(),
        session: cx.id.to_string(),
        turn: turn.map(turn_name),
        input: input(cx, pin, turn, specific),
        config: component.config.clone(),
    };
    let sandbox = cx.sandbox(component);
    let Ran { result, ms, logs } =
        guest::call_hook(&cx.components, component, sandbox, pin.timeout_ms, &event).await;
    let answer = match result {
        Ok(Ok(verdict)) => check(pin, verdict),
        Ok(Err(why)) => Err(why),
        Err(broken) => Err(format!("{}: {}", broken.code, broken.detail)),
    };
    let mut verdict = match answer {
        Ok(verdict) => HookVerdict {
            start: asked.start,
            hook: asked.hook,
            decision: verdict.decision,
            reason: verdict.reason,
            context: verdict.context,
            binding: asked.binding,
            ms: 0,
            error: None,
        },
        Err(why) => failed(cx, asked.hook, asked.start, asked.binding, &why),
    };
    verdict.ms = ms;
    let actor = Actor::new(ActorType::Hook, full_name(component));
    let mut drafts: Vec<Draft> = logs
        .into_fact(&full_name(component))
        .map(|logs| Draft::system(asked.place, logs))
        .into_iter()
        .collect();
    drafts.push(Draft::by(actor, asked.place, verdict.clone()));
    let entries = port.record(drafts, false).await?;
    Ok((entries.last().map_or(0, |entry| entry.seq), verdict))
}

/// A hook's input: what every event tells, and what this one tells beside it.
#[derive(Serialize)]
struct HookInput<'a> {
    session_id: &'a str,
    turn_id: Option<String>,
    hook_event_name: &'static str,
    agent: &'a str,
    workspace: Option<&'a str>,
    at: String,
    #[serde(flatten)]
    specific: Specific<'a>,
}

/// What one event tells beside what every event does.
#[derive(Serialize)]
#[serde(untagged)]
enum Specific<'a> {
    Start { source: &'static str },
    Tool { tool_name: &'a str, tool_input: &'a RawValue, tool_use_id: &'a str },
}

fn input(cx: &SessionContext, pin: &HookPin, turn: Option<u32>, specific: Specific<'_>) -> String {
    let grants = &cx.component(pin.component).grants;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let input = HookInput {
        session_id: cx.id.as_str(),
        turn_id: turn.map(turn_name),
        hook_event_name: pin.event.as_str(),
        agent: &cx.created.agent.name,
        workspace: grants.fs.first().map(|granted| granted.mount.as_str()),
        at: Timestamp(i64::try_from(now.as_millis()).unwrap_or(i64::MAX)).to_string(),
        specific,
    };
    serde_json::to_string(&input).expect("an event holds texts, and JSON that was read")
}

struct Checked {
    decision: Decision,
    reason: Option<String>,
    context: Option<String>,
}

/// What an answer may say to this event in this version; the rest is an error, never ignored.
fn check(pin: &HookPin, verdict: hook::Verdict) -> Result<Checked, String> {
    let event = pin.event.as_str();
    let not_here = [
        ("updated-input", verdict.updated_input.is_some()),
        ("updated-output", verdict.updated_output.is_some()),
        ("title", verdict.title.is_some()),
        ("end-turn", verdict.end_turn.is_some()),
    ];
    if let Some((field, _)) = not_here.iter().find(|(_, given)| *given) {
        return Err(format!("its verdict has `{field}`, which is not available on {event} in this version"));
    }
    let decision = match (verdict.decision, pin.event) {
        (hook::Decision::None, _) => Decision::None,
        (hook::Decision::Allow, HookEvent::PreToolUse) => Decision::Allow,
        (hook::Decision::Deny, HookEvent::PreToolUse) => Decision::Deny,
        (other, _) => {
            return Err(format!("it decided `{other:?}`, which {event} does not take in this version"));
        }
    };
    let text = |text: Option<String>| text.map(|text| cut_chars(&text, HOOK_TEXT_CHARS_MAX));
    Ok(Checked { decision, reason: text(verdict.reason), context: text(verdict.context) })
}

/// The verdict of a hook that failed: its `on_error` decides.
pub(crate) fn failed(cx: &SessionContext, hook: u32, start: u64, binding: Digest, why: &str) -> HookVerdict {
    let pin = &cx.created.hooks[hook as usize];
    let denies = pin.on_error == OnError::Deny && pin.event == HookEvent::PreToolUse;
    let name = full_name(cx.component(pin.component));
    HookVerdict {
        start,
        hook,
        decision: if denies { Decision::Deny } else { Decision::None },
        reason: denies.then(|| format!("the hook {name} failed, and its on_error is \"deny\"")),
        context: None,
        binding,
        ms: 0,
        error: Some(cut(why, DETAIL_BYTES_MAX)),
    }
}
