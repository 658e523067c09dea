//! A session's entries as a person follows them: which are shown, and how. Keeps the names of the tools that
//! were asked for, since outcomes do not repeat them. Writes nothing.

mod marker;

use std::collections::{BTreeMap, BTreeSet};

use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{
    CallRetried, Decision, Fact, HookVerdict, HttpBody, HttpOutcome, HttpRequest, LogLevel, LogLines,
    ModelOutcome, SessionLoaded, Source, ToolCompleted, TurnFailed,
};
use rewake_core::ids::{SessionId, turn_name};
use rewake_core::session::Session;
use rewake_text::{one_line, plain};
use rewake_wire::{ActorType, Outcome};

use crate::describe;
use crate::out::Style;

pub(crate) use self::marker::COMPACTED;

/// Characters of a tool's input or outcome that are shown.
const INPUT_CHARS_MAX: usize = 160;
/// Characters of a message that is echoed, of a line of diagnostics and the like.
const LINE_CHARS_MAX: usize = 400;

/// A line to be shown.
pub(crate) type Line = (Style, String);

/// Turns entries into lines.
#[derive(Debug, Default)]
pub(crate) struct Renderer {
    /// The tools of each request, by turn, step and ordinal.
    tools: BTreeMap<(u32, u32, u32), Vec<String>>,
    /// Uses whose denial was shown with its reason.
    denied: BTreeSet<Place>,
}

impl Renderer {
    /// One that knows what the open step of a session has asked for.
    pub(crate) fn resuming(session: &Session) -> Renderer {
        let mut renderer = Renderer::default();
        if let Some((_, step)) = session.open_step() {
            for entry in &step.entries {
                renderer.keep(entry);
            }
        }
        renderer
    }

    /// The lines of an entry; most have none.
    pub(crate) fn lines(&mut self, entry: &Entry) -> Vec<Line> {
        self.keep(entry);
        match &entry.fact {
            Fact::AgentMessage(body) => vec![(Style::Plain, set_in(&describe::parts(&body.parts)))],
            Fact::GrantsNarrowed(body) => {
                let left = body.to.describe();
                let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
                vec![(
                    Style::Bad,
                    short(&format!("grants: the operator's rules now leave a component {left}")),
                )]
            }
            Fact::AgentTitle(body) => dim(format!("title: {}", short(&body.title))),
            Fact::SessionTitled(body) => dim(format!("title: {}", short(&body.title))),
            Fact::UserMessage(body) => {
                let text = short(&describe::parts(&body.parts));
                dim(format!("> {}: {text}", short(&describe::sender(&body.sender))))
            }
            Fact::UserAnswer(body) => dim(format!(
                "> {} answers [{}]: {}",
                short(&describe::sender(&body.sender)),
                short(&body.question),
                short(&body.value)
            )),
            Fact::UserInterrupt(body) => {
                dim(format!("> {} interrupts", short(&describe::sender(&body.sender))))
            }
            Fact::UserStop(body) => dim(format!(
                "> {} stops the session: {}",
                short(&describe::sender(&body.sender)),
                short(&body.reason)
            )),
            Fact::CommandEdited(_) | Fact::CommandCanceled(_) | Fact::CommandPromoted(_) => changed(entry),
            Fact::CommandRejected(body) => {
                bad(format!("! command {} had no effect: {}", body.n, short(&body.why)))
            }
            Fact::QuestionAsked(body) => {
                vec![(Style::Strong, format!("? {}", describe::question(&body.question)))]
            }
            Fact::Custom(body) => marker::lines(body),
            Fact::LogLines(body) => logs(body),
            _ => self.doings(entry),
        }
    }

    /// Lines of turns, calls and the session itself.
    fn doings(&self, entry: &Entry) -> Vec<Line> {
        let turn = entry.place.turn;
        match &entry.fact {
            Fact::ToolsRequested(body) => {
                let line = |one: &rewake_core::fact::RequestedUse| {
                    (Style::Plain, format!("→ {} {}", short(&one.name), input(&one.input)))
                };
                body.uses.iter().map(line).collect()
            }
            Fact::ToolCompleted(body) => {
                let is_told = self.denied.contains(&entry.place);
                vec![completed(&self.name(entry.place), body, is_told)]
            }
            Fact::ToolLost(body) => bad(format!(
                "✗ {}: unknown whether it did it: {}. It was not repeated",
                self.name(entry.place),
                describe::lost(body.why)
            )),
            Fact::HookVerdict(body) => self.verdict(entry, body),
            Fact::ModelCompleted(body) => match &body.outcome {
                ModelOutcome::Completion { .. } => vec![],
                ModelOutcome::Denied(why) => bad(format!("model: denied: {}", short(why))),
                ModelOutcome::Budget(why) => bad(format!("model: budget: {}", short(why))),
                ModelOutcome::TooLarge(why) => bad(format!("model: too large: {}", short(why))),
                ModelOutcome::Rejected(why) => bad(format!("model: rejected: {}", short(why))),
                ModelOutcome::Unavailable(why) => bad(format!("model: unavailable: {}", short(why))),
            },
            Fact::ModelLost(body) => dim(format!("model: no answer is known: {}", describe::lost(body.why))),
            Fact::CallRetried(CallRetried { why: Some(why), n, .. }) => {
                dim(format!("↻ the model is asked again (repeat {n}): {}", short(why)))
            }
            Fact::CallRetried(body) => dim(format!(
                "↻ call {} is performed again, with the same key (repeat {})",
                body.start, body.n
            )),
            Fact::StepRerun(_) => {
                dim(format!("↻ turn {turn}, step {}: resumes after its last entry", entry.place.step))
            }
            Fact::StepAborted(body) if !body.detail.is_empty() => {
                dim(format!("step {} was cut off: {}", entry.place.step, short(&body.detail)))
            }
            Fact::TurnSteered(body) => dim(format!("turn {turn} accepts {} more", body.commands.len())),
            Fact::TurnWaiting(body) if body.on.is_over(entry.at) => vec![],
            Fact::TurnWaiting(body) => dim(format!("turn {turn} waits for {}", describe::wait(&body.on))),
            Fact::TurnCompleted(body) => dim(format!(
                "turn {turn} done: {}, {}",
                describe::count(u64::from(body.steps), "step", "steps"),
                describe::usage_and_cost(&body.usage, body.cost)
            )),
            Fact::TurnInterrupted(body) => bad(match &body.reason {
                Some(why) => format!("turn {turn} was ended by a hook: {}", short(why)),
                None => format!("turn {turn} was interrupted"),
            }),
            Fact::TurnFailed(body) => failed(turn, body),
            Fact::SessionLoaded(body) => loaded(body),
            Fact::SessionStopped(body) => bad(format!("the session is stopped: {}", short(&body.reason))),
            Fact::SessionFailed(body) => {
                bad(format!("the session has failed ({}): {}", short(&body.code), short(&body.detail)))
            }
            Fact::SnapshotRejected(body) => {
                dim(format!("the snapshot at entry {} could not be used: {}", body.at, short(&body.why)))
            }
            Fact::HttpStarted(_) | Fact::HttpCompleted(_) | Fact::HttpLost(_) => self.http(entry),
            _ => vec![],
        }
    }

    /// A request of the harness. Its end does not repeat what was asked for.
    fn http(&self, entry: &Entry) -> Vec<Line> {
        let asked = |request: &HttpRequest| format!("{} {}", short(&request.method), input(&request.url));
        match &entry.fact {
            Fact::HttpStarted(body) => vec![(Style::Plain, format!("→ {}", asked(&body.request)))],
            Fact::HttpCompleted(body) => {
                let what = body.request.as_ref().map_or_else(|| "http".to_owned(), asked);
                vec![requested(&what, &body.outcome, body.ms)]
            }
            Fact::HttpLost(body) => {
                let why = describe::lost(body.why);
                let refused = body.refused.as_ref().map(|why| format!(": {}", short(why)));
                let refused = refused.unwrap_or_default();
                bad(format!("✗ http: unknown whether it was done: {why}. It was not sent again{refused}"))
            }
            _ => vec![],
        }
    }

    fn verdict(&self, entry: &Entry, verdict: &HookVerdict) -> Vec<Line> {
        let hook = match entry.actor.kind {
            ActorType::Hook => short(&entry.actor.id),
            _ => "a hook".to_owned(),
        };
        let mut lines = Vec::new();
        if let Some(error) = &verdict.error {
            lines.extend(bad(format!("hook {hook} went wrong: {}", short(error))));
        }
        let reason = short(verdict.reason.as_deref().unwrap_or("no reason is given"));
        let what = || if entry.place.ordinal > 0 { self.name(entry.place) } else { "it".to_owned() };
        match verdict.decision {
            Decision::Deny => lines.extend(bad(format!("⊘ {hook} denies {}: {reason}", what()))),
            Decision::Ask => lines.extend(dim(format!("{hook} wants a person to decide: {reason}"))),
            Decision::Block => lines.extend(bad(format!("⊘ {hook} blocks: {reason}"))),
            Decision::None | Decision::Allow => {}
        }
        let changes = &verdict.changes;
        if let Some(input) = &changes.input {
            lines.extend(dim(format!("{hook} makes the input of {} to {}", what(), short(input))));
        }
        if changes.output.is_some() {
            lines.extend(dim(format!("{hook} replaces what {} returned", what())));
        }
        if let Some(why) = &changes.end_turn {
            lines.extend(bad(format!("{hook} ends the turn: {}", short(why))));
        }
        if let Some(context) = &verdict.context {
            lines.extend(dim(format!("{hook} adds: {}", short(context))));
        }
        lines
    }

    fn keep(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::ToolsRequested(body) => {
                let names = body.uses.iter().map(|one| short(&one.name)).collect();
                self.tools.insert(request(entry.place), names);
            }
            Fact::HookVerdict(body) if body.decision == Decision::Deny => {
                self.denied.insert(entry.place);
            }
            Fact::TurnStarted(_) => {
                self.tools.clear();
                self.denied.clear();
            }
            _ => {}
        }
    }

    /// The tool that a place in a request names.
    fn name(&self, place: Place) -> String {
        let names = self.tools.get(&request(place));
        let name = names.and_then(|names| names.get(place.index as usize));
        name.cloned().unwrap_or_else(|| "a tool".to_owned())
    }
}

/// What was done about a message that waits.
fn changed(entry: &Entry) -> Vec<Line> {
    let who = |sender| short(&describe::sender(sender));
    match &entry.fact {
        Fact::CommandEdited(body) => dim(format!(
            "> {} changes message {}: {}",
            who(&body.sender),
            body.target,
            short(&describe::parts(&body.after))
        )),
        Fact::CommandCanceled(body) => {
            dim(format!("> {} takes message {} back", who(&body.sender), body.target))
        }
        Fact::CommandPromoted(body) => {
            dim(format!("> {} promotes message {}", who(&body.sender), body.target))
        }
        _ => vec![],
    }
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

fn request(place: Place) -> (u32, u32, u32) {
    (place.turn, place.step, place.ordinal)
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

/// What came of a request.
fn requested(what: &str, outcome: &HttpOutcome, ms: u64) -> Line {
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

fn loaded(body: &SessionLoaded) -> Vec<Line> {
    if body.source == Source::Startup {
        return vec![];
    }
    let from = match body.snapshot_seq {
        Some(seq) => format!("the snapshot at entry {seq} and "),
        None => String::new(),
    };
    dim(format!("↻ restored from {from}{}", describe::count(body.folded, "entry", "entries")))
}

fn failed(turn: u32, body: &TurnFailed) -> Vec<Line> {
    bad(format!("turn {turn} failed ({}): {}", short(&body.code), plain(&body.detail)))
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
