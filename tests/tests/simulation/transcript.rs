//! What a run comes to for people and for the next step, without what may differ from run to run: numbers of entries,
//! keys, clocks, loads and repeats.

use std::collections::BTreeMap;

use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{Fact, ToolCompleted};
use rewake_wire::Part;
use serde_json::Value;

/// What people see of a journal, in order.
pub(crate) fn transcript(entries: &[Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    // Tools of one call end in any order (R4): their ends stand in the order of the uses.
    let mut tools: BTreeMap<Place, String> = BTreeMap::new();
    for entry in entries {
        let turn = entry.place.turn;
        let line = match &entry.fact {
            Fact::AgentMessage(body) => {
                lines.extend(body.parts.iter().flat_map(|part| said(text(part))));
                continue;
            }
            Fact::ToolCompleted(body) => {
                tools.insert(entry.place, completed(body));
                continue;
            }
            Fact::UserMessage(body) => {
                format!("{turn} {}", body.parts.iter().map(text).collect::<Vec<_>>().join(" "))
            }
            Fact::UserAnswer(body) => format!("{turn} {} = {}", body.question, body.value),
            Fact::AgentTitle(body) => format!("title {}", body.title),
            Fact::Custom(body) => format!("{} {}", body.kind, body.data),
            Fact::QuestionAsked(body) => format!("{turn} asked {}", body.question.id),
            Fact::QuestionWithdrawn(body) => format!("{turn} withdrawn {}", body.id),
            Fact::TurnStarted(body) => format!("turn {turn} takes {:?}", body.commands),
            Fact::TurnSteered(body) => format!("turn {turn} also takes {:?}", body.commands),
            Fact::TurnWaiting(_) => format!("turn {turn} waits"),
            Fact::TurnCompleted(body) => format!("turn {turn} is complete after {} steps", body.steps),
            Fact::TurnFailed(body) => format!("turn {turn} failed: {}", body.code),
            Fact::TurnInterrupted(body) => format!("turn {turn} was interrupted: {:?}", body.reason),
            Fact::SessionFailed(body) => format!("failed: {}", body.code),
            Fact::SessionStopped(_) => "stopped".to_owned(),
            _ => continue,
        };
        if entry.fact.is_turn_end() {
            lines.extend(
                std::mem::take(&mut tools).into_iter().map(|(place, line)| format!("{place:?} {line}")),
            );
        }
        lines.push(line);
    }
    lines
}

/// Whether something was lost, so that another run may have come to something else.
pub(crate) fn has_losses(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| match &entry.fact {
        Fact::ToolLost(_) | Fact::ModelLost(_) => true,
        Fact::TurnFailed(body) => ["reruns", "loads"].contains(&body.code.as_str()),
        Fact::HookVerdict(body) => {
            let error = body.error.as_deref().unwrap_or_default();
            error.contains("the host died") || error.contains("tried too often")
        }
        _ => false,
    })
}

fn text(part: &Part) -> &str {
    match part {
        Part::Text { text } => text,
        Part::Json { json } => json,
        _ => "",
    }
}

fn completed(body: &ToolCompleted) -> String {
    let parts: Vec<String> = body.parts.iter().map(|part| without_key(text(part))).collect();
    format!("{:?} {} {}", body.outcome, parts.join(" "), body.contexts.join(" "))
}

/// What a report of the scripted harness says that it learned; or the text itself.
fn said(text: &str) -> Vec<String> {
    let report: Option<Value> = serde_json::from_str(text).ok();
    let learned = report.as_ref().and_then(|report| report["learned"].as_array());
    let Some(learned) = learned else { return vec![text.to_owned()] };
    let lines = learned.iter().filter_map(Value::as_str);
    // How often a session was loaded is told to hooks, which tell the harness.
    lines.filter(|line| !line.starts_with("context: source=")).map(stable).collect()
}

/// What was learned, without what differs.
fn stable(line: &str) -> String {
    let (what, rest) = line.split_once(": ").unwrap_or((line, ""));
    match what {
        "said" | "emitted" | "clock" | "random" | "slept" => what.to_owned(),
        "unfinished" => format!("{what}: {}", rest.rsplit_once(' ').map_or(rest, |(how, _)| how)),
        "events" => {
            let kinds = rest.split(' ').map(|event| event.split('@').next().unwrap_or_default());
            format!("{what}: {}", kinds.collect::<Vec<_>>().join(" "))
        }
        _ => without_key(line),
    }
}

/// An idempotency key is an entry's hash.
fn without_key(text: &str) -> String {
    const DIGITS: usize = 64;
    let is_key = |word: &&str| word.len() == DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(is_key).fold(text.to_owned(), |text, key| text.replace(key, "KEY"))
}
