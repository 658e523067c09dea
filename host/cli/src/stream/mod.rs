//! A session's entries as lines for a person who follows them: how the items of its transcript look. Writes nothing.

use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{
    Decision, Fact, HookVerdict, HttpBody, HttpCompleted, HttpOutcome, LogLevel, LogLines, ToolCompleted,
};
use rewake_core::ids::{SessionId, turn_name};
use rewake_core::session::Session;
use rewake_text::{one_line, plain};
use rewake_transcript::{End, Item, Request, Tone, Transcript, marker};
use rewake_wire::Outcome;

use crate::describe;
use crate::out::Style;

/// Characters of a tool's input or outcome that are shown.
const INPUT_CHARS_MAX: usize = 160;
/// Characters of a message that is echoed, of a line of diagnostics and the like.
const LINE_CHARS_MAX: usize = 400;

/// A line to be shown.
pub(crate) type Line = (Style, String);

/// A session's transcript from its first entry, its sentences within their bounds.
pub(crate) fn transcript() -> Transcript {
    Transcript::new(short)
}

/// The same from the entry after those of a session.
pub(crate) fn resuming(session: &Session) -> Transcript {
    Transcript::resuming(session, short)
}

/// The lines of the next entry; most have none.
pub(crate) fn lines(transcript: &mut Transcript, entry: &Entry) -> Vec<Line> {
    transcript.push(entry).iter().flat_map(item).collect()
}

/// The lines of an item.
pub(crate) fn item(item: &Item<'_>) -> Vec<Line> {
    match item {
        Item::UserMessage(body) => {
            let text = short(&describe::parts(&body.parts));
            dim(format!("> {}: {text}", short(&describe::sender(&body.sender))))
        }
        Item::AgentMessage(body) => vec![(Style::Plain, set_in(&describe::parts(&body.parts)))],
        Item::Question(question, _) => {
            vec![(Style::Strong, format!("? {}", describe::question(question)))]
        }
        Item::Answer(body, _) => dim(format!(
            "> {} answers [{}]: {}",
            short(&describe::sender(&body.sender)),
            short(&body.question),
            short(&body.value)
        )),
        Item::Marker(body) => dim(marker(body, short)),
        Item::Logs(body) => logs(body),
        Item::Requested(_, Request::Tool(one)) => {
            vec![(Style::Plain, format!("→ {} {}", short(&one.name), input(&one.input)))]
        }
        Item::Requested(_, Request::Http(request)) => {
            vec![(Style::Plain, format!("→ {} {}", short(&request.method), input(&request.url)))]
        }
        Item::Ended { name, end: End::Tool(body), is_denial_shown, .. } => {
            vec![completed(name, body, *is_denial_shown)]
        }
        Item::Ended { end: End::Http(body), .. } => vec![answered(body)],
        Item::ToolLost(_, name, why) => bad(format!("✗ {}", describe::tool_lost(name, *why))),
        Item::HttpLost(_, body) => {
            let why = describe::lost(body.why);
            let refused = body.refused.as_ref().map(|why| format!(": {}", short(why))).unwrap_or_default();
            bad(format!("✗ http: unknown whether it was done: {why}. It was not sent again{refused}"))
        }
        Item::Verdict { hook, about, verdict, .. } => decided(hook.as_deref(), about.as_deref(), verdict),
        Item::Sentence(Tone::Dim, text) => dim(text.clone()),
        Item::Sentence(Tone::Bad, text) => bad(text.clone()),
        Item::ModelStarted(_)
        | Item::ModelCompleted(_)
        | Item::ModelLost(_)
        | Item::Retried(_)
        | Item::Started(..)
        | Item::HookStarted(..) => vec![],
    }
}

/// What a hook decided: a line for each part of it.
fn decided(hook: Option<&str>, about: Option<&str>, verdict: &HookVerdict) -> Vec<Line> {
    let hook = hook.map_or_else(|| "a hook".to_owned(), short);
    let about = about.unwrap_or("it");
    let mut lines = Vec::new();
    if let Some(error) = &verdict.error {
        lines.extend(bad(format!("hook {hook} went wrong: {}", short(error))));
    }
    let reason = short(verdict.reason.as_deref().unwrap_or("no reason is given"));
    match verdict.decision {
        Decision::Deny => lines.extend(bad(format!("⊘ {hook} denies {about}: {reason}"))),
        Decision::Ask => lines.extend(dim(format!("{hook} wants a person to decide: {reason}"))),
        Decision::Block => lines.extend(bad(format!("⊘ {hook} blocks: {reason}"))),
        Decision::None | Decision::Allow => {}
    }
    let changes = &verdict.changes;
    if let Some(input) = &changes.input {
        lines.extend(dim(format!("{hook} makes the input of {about} to {}", short(input))));
    }
    if changes.output.is_some() {
        lines.extend(dim(format!("{hook} replaces what {about} returned")));
    }
    if let Some(why) = &changes.end_turn {
        lines.extend(bad(format!("{hook} ends the turn: {}", short(why))));
    }
    if let Some(context) = &verdict.context {
        lines.extend(dim(format!("{hook} adds: {}", short(context))));
    }
    lines
}

/// What is being done, from an entry that begins it.
pub(crate) fn activity(entry: &Entry) -> Option<String> {
    match &entry.fact {
        Fact::ModelStarted(body) => Some(format!("asks {} …", body.model)),
        Fact::ToolStarted(body) => Some(format!("runs {} …", body.name)),
        Fact::HookStarted(_) => Some("asks a hook …".to_owned()),
        Fact::HttpStarted(body) => Some(format!("asks {} …", short(&body.request.url))),
        _ => None,
    }
}

/// An entry's place, as a list shows it: `turn_2.3`, the step after the turn.
pub(crate) fn place(place: Place) -> String {
    match (place.turn, place.step) {
        (0, _) => String::new(),
        (turn, 0) => turn_name(turn),
        (turn, step) => format!("{}.{step}", turn_name(turn)),
    }
}

/// The first line that is shown of a session that goes on.
pub(crate) fn going_on(id: &SessionId, session: &Session) -> String {
    match (&session.turn, session.open_step()) {
        (Some(turn), Some((_, step))) => format!(
            "resuming {id} at turn {}, step {} (replaying {})",
            turn.number,
            step.number,
            describe::count(step.entries.len() as u64, "entry", "entries")
        ),
        (Some(turn), None) => format!("resuming {id} at turn {}", turn.number),
        (None, _) => {
            format!("resuming {id} after {}", describe::count(u64::from(session.turns), "turn", "turns"))
        }
    }
}

/// How a use ended. A reason that was told already is not told again.
fn completed(name: &str, body: &ToolCompleted, is_told: bool) -> Line {
    let (mark, how) = describe::outcome(body);
    match body.outcome {
        Outcome::Ok => (Style::Plain, format!("{mark} {name}: ok, {how}")),
        Outcome::Denied if is_told => (Style::Bad, format!("{mark} {name}: {how}")),
        Outcome::TimedOut => (Style::Bad, format!("{mark} {name}: {how}")),
        Outcome::Error | Outcome::Denied | Outcome::Unknown => {
            let why = one_line(&describe::parts(&body.parts), INPUT_CHARS_MAX);
            (Style::Bad, format!("{mark} {name}: {how}: {why}"))
        }
    }
}

/// What came of a request of the harness. It names the request if no start did.
fn answered(HttpCompleted { request, outcome, ms, .. }: &HttpCompleted) -> Line {
    let what = request.as_ref().map_or_else(
        || "http".to_owned(),
        |request| format!("{} {}", short(&request.method), input(&request.url)),
    );
    match outcome {
        HttpOutcome::Response { status, body, .. } => {
            let size = match body {
                HttpBody::Text(text) => text.len() as u64,
                HttpBody::Bytes(bytes) => bytes.0.len() as u64,
                HttpBody::Blob { size, .. } => *size,
            };
            (Style::Plain, format!("✓ {what}: {status}, {}, {ms} ms", describe::bytes(size)))
        }
        HttpOutcome::Denied(why) => (Style::Bad, format!("⊘ {what}: denied: {}", short(why))),
        HttpOutcome::TimedOut => (Style::Bad, format!("✗ {what}: timed out after {ms} ms")),
        HttpOutcome::TooLarge => (Style::Bad, format!("✗ {what}: the response is over its limit")),
        HttpOutcome::Failed(why) => (Style::Bad, format!("✗ {what}: failed: {}", short(why))),
    }
}

fn logs(body: &LogLines) -> Vec<Line> {
    let component = short(&body.component);
    let level = |level: LogLevel| match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
        LogLevel::Stdout => "stdout",
        LogLevel::Stderr => "stderr",
    };
    let line = |line: &rewake_core::fact::LogLine| {
        let text = plain(&line.text).replace('\n', " ");
        (Style::Dim, format!("{component} {}| {text}", level(line.level)))
    };
    let mut lines: Vec<Line> = body.lines.iter().map(line).collect();
    if body.dropped > 0 {
        lines.extend(dim(format!("{component} | {} more were over the limit", body.dropped)));
    }
    lines
}

fn input(json: &str) -> String {
    one_line(json, INPUT_CHARS_MAX)
}

fn short(text: &str) -> String {
    one_line(text, LINE_CHARS_MAX)
}

fn dim(text: String) -> Vec<Line> {
    vec![(Style::Dim, text)]
}

fn bad(text: String) -> Vec<Line> {
    vec![(Style::Bad, text)]
}

#[cfg(test)]
pub(crate) mod tests;

/// Text of somebody else, set in: no line of it can pass for one of this program's own.
fn set_in(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
