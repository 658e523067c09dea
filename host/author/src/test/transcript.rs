//! A session's journal as a text that is the same on every run: what was said, asked, called and answered, and
//! how turns ended. No ids, times, digests, durations or counts of tokens; and nothing of how often the session
//! was loaded, so that a run that was cut off and went on reads like one that was not.

use std::collections::BTreeMap;

use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{
    Asker, Class, Created, Decision, Fact, HookEvent, HookVerdict, HttpOutcome, Lost, ModelOutcome, Scope,
    Source, ToolCompleted, WaitOn,
};
use rewake_core::ids::{Digest, SessionId};
use rewake_wire::{Outcome, Part};
use serde_json::Value;

/// Characters of one text that are written; of the rest its length and a digest are.
const TEXT_CHARS_MAX: usize = 4_000;
/// Hexadecimal digits that stand for the rest of a text.
const REST_DIGITS: usize = 8;
/// Hexadecimal digits of a digest.
const DIGEST_DIGITS: usize = 64;

/// A session's transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) lines: Vec<String>,
    /// The first line that tells of a call of class `once` whose end is not known, because its host died.
    pub(super) unknown: Option<usize>,
}

impl Transcript {
    /// Of a journal.
    pub(super) fn of(id: &SessionId, entries: &[Entry]) -> Transcript {
        let mut writing = Writing { session: id.to_string(), ..Writing::default() };
        for entry in entries {
            writing.take(entry);
        }
        let Writing { items, mut uses, .. } = writing;
        let mut transcript = Transcript::default();
        for item in items {
            match item {
                Item::Text(text) if text.is_empty() => {}
                Item::Text(text) => transcript.push(id, &text),
                Item::Use(place) => {
                    let Some(one) = uses.remove(&place) else { continue };
                    let lines = one.lines();
                    for (at, line) in lines.iter().enumerate() {
                        if one.is_unknown && at + 1 == lines.len() {
                            transcript.unknown.get_or_insert(transcript.lines.len());
                        }
                        transcript.push(id, line);
                    }
                }
            }
        }
        transcript
    }

    /// As a file holds it.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn push(&mut self, id: &SessionId, text: &str) {
        let text = same_each_time(id.as_str(), text);
        // What follows a first line stands a little further in: no line of a guest's can pass for one of ours.
        let indent = text.len() - text.trim_start_matches(' ').len() + 4;
        for (at, line) in text.split('\n').enumerate() {
            let line = if at == 0 { line.to_owned() } else { format!("{:indent$}{line}", "") };
            self.lines.push(line.trim_end().to_owned());
        }
    }
}

enum Item {
    Text(String),
    Use(Place),
}

/// A use of a tool, or a request of the harness.
#[derive(Default)]
struct Use {
    what: String,
    class: Option<Class>,
    /// By phase and hook, what hooks said of it.
    verdicts: BTreeMap<(u8, u32), Vec<String>>,
    /// What people were asked about it, and what they answered.
    asked: Vec<String>,
    outcome: Option<String>,
    is_unknown: bool,
}

impl Use {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.what.clone()];
        let phase = |wanted: u8| {
            let of_it = self.verdicts.iter().filter(move |((phase, _), _)| *phase == wanted);
            of_it.flat_map(|(_, said)| said.iter().map(|line| format!("  {line}")))
        };
        lines.extend(phase(0));
        lines.extend(self.asked.iter().map(|line| format!("  {line}")));
        lines.extend(phase(1));
        lines.push(format!("  {}", self.outcome.as_deref().unwrap_or("…")));
        lines
    }
}

#[derive(Default)]
struct Writing {
    /// The session's id.
    session: String,
    created: Option<Created>,
    items: Vec<Item>,
    uses: BTreeMap<Place, Use>,
    /// Questions that belong to a use.
    questions: BTreeMap<String, Place>,
    /// Where the verdict of a firing of the session itself is to stand, by its start.
    firings: BTreeMap<u64, Option<usize>>,
}

impl Writing {
    fn take(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::SessionCreated(created) => self.created = Some(created.clone()),
            Fact::UserMessage(body) => self.text(format!("user: {}", self.parts(&body.parts))),
            Fact::AgentMessage(body) => self.text(format!("agent: {}", self.parts(&body.parts))),
            Fact::AgentTitle(body) => self.text(format!("title: {}", body.title)),
            Fact::SessionTitled(body) => self.text(format!("title: {}", body.title)),
            Fact::Custom(body) => self.text(format!("{} {}", body.kind, without_counts(&body.data))),
            Fact::QuestionAsked(body) => {
                let choices = match body.question.choices.as_slice() {
                    [] => String::new(),
                    choices => format!(" ({})", choices.join(" | ")),
                };
                let line = format!("question {}: {}{choices}", body.question.id, body.question.text);
                match body.by {
                    Asker::Harness => self.text(line),
                    Asker::Hook(_) | Asker::Policy | Asker::Client => {
                        self.questions.insert(body.question.id.clone(), entry.place);
                        self.used(entry.place).asked.push(line);
                    }
                }
            }
            Fact::UserAnswer(body) => {
                let line = format!("answer {}: {}", body.question, body.value);
                match self.questions.get(&body.question).copied() {
                    Some(place) => self.used(place).asked.push(line),
                    None => self.text(line),
                }
            }
            Fact::ModelCompleted(body) => match &body.outcome {
                ModelOutcome::Completion { .. } => {}
                ModelOutcome::Denied(why) => self.text(format!("model: denied: {why}")),
                ModelOutcome::Budget(why) => self.text(format!("model: budget: {why}")),
                ModelOutcome::TooLarge(why) => self.text(format!("model: too large: {why}")),
                ModelOutcome::Rejected(why) => self.text(format!("model: rejected: {why}")),
                ModelOutcome::Unavailable(why) => self.text(format!("model: unavailable: {why}")),
            },
            Fact::ModelLost(_) => self.text("model: no answer is known".to_owned()),
            _ => self.calls(entry),
        }
    }

    /// Calls and what hooks say of them.
    fn calls(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::ToolsRequested(body) => {
                for (index, one) in (0..).zip(&body.uses) {
                    let place = entry.place.at_index(index);
                    self.used(place).what = format!("tool {} {}", one.name, one.input);
                    self.items.push(Item::Use(place));
                }
            }
            Fact::ToolStarted(body) => self.used(entry.place).class = Some(body.class),
            Fact::ToolCompleted(body) => {
                let outcome = self.completed(body);
                let one = self.used(entry.place);
                one.outcome = Some(outcome);
                one.is_unknown = body.outcome == Outcome::Unknown && one.class == Some(Class::Once);
            }
            Fact::ToolLost(body) => self.lost(entry.place, body.why),
            Fact::HttpStarted(body) => {
                let one = self.used(entry.place);
                one.what = format!("http {} {}", body.request.method, body.request.url);
                one.class = Some(body.class);
                self.items.push(Item::Use(entry.place));
            }
            Fact::HttpCompleted(body) => {
                if let Some(request) = &body.request {
                    self.used(entry.place).what = format!("http {} {}", request.method, request.url);
                    self.items.push(Item::Use(entry.place));
                }
                self.used(entry.place).outcome = Some(match &body.outcome {
                    HttpOutcome::Response { status, .. } => format!("status {status}"),
                    HttpOutcome::Denied(why) => format!("denied: {why}"),
                    HttpOutcome::TimedOut => "timed out".to_owned(),
                    HttpOutcome::TooLarge => "too large".to_owned(),
                    HttpOutcome::Failed(why) => format!("failed: {why}"),
                });
            }
            Fact::HttpLost(body) => self.lost(entry.place, body.why),
            Fact::HookStarted(body) if entry.place.ordinal == 0 => {
                // The session is told of each time it is loaded; how often that is says nothing of it.
                let is_shown = body.source != Some(Source::Resume);
                let at = is_shown.then(|| {
                    self.items.push(Item::Text(String::new()));
                    self.items.len() - 1
                });
                self.firings.insert(entry.seq, at);
            }
            Fact::HookVerdict(body) => self.verdict(entry, body),
            _ => self.turns(entry),
        }
    }

    fn turns(&mut self, entry: &Entry) {
        let turn = entry.place.turn;
        match &entry.fact {
            Fact::TurnSteered(_) => self.text(format!("turn {turn} accepts more")),
            Fact::TurnWaiting(body) => match &body.on {
                // The questions stand there already.
                WaitOn::Answers(_) => {}
                // The harness only lets messages in.
                on if on.is_over(entry.at) => {}
                WaitOn::Time { until, on_message } => {
                    let what = match (until.is_some(), on_message) {
                        (true, true) => "a message or a time",
                        (true, false) => "a time",
                        (false, _) => "a message",
                    };
                    self.text(format!("turn {turn} waits for {what}"));
                }
            },
            Fact::TurnCompleted(_) => self.text(format!("turn {turn} completed")),
            Fact::TurnInterrupted(body) => self.text(match &body.reason {
                Some(why) => format!("turn {turn} was ended by a hook: {why}"),
                None => format!("turn {turn} was interrupted"),
            }),
            Fact::TurnFailed(body) => {
                let whole = if body.scope == Scope::Session { ", and the session with it" } else { "" };
                // Of a trap's detail the first line says what it was; the rest is of this very build.
                let detail = body.detail.lines().next().unwrap_or_default();
                self.text(format!("turn {turn} failed{whole} ({}): {detail}", body.code));
            }
            Fact::CommandEdited(body) => {
                self.text(format!("message {} is changed: {}", body.target, self.parts(&body.after)));
            }
            Fact::CommandCanceled(body) => self.text(format!("message {} is canceled", body.target)),
            Fact::CommandPromoted(body) => self.text(format!("message {} is to come next", body.target)),
            Fact::CommandRejected(body) => self.text(format!("a command had no effect: {}", body.why)),
            Fact::SessionStopped(body) => self.text(format!("the session is stopped: {}", body.reason)),
            Fact::SessionFailed(body) => {
                self.text(format!("the session has failed ({}): {}", body.code, body.detail));
            }
            Fact::QuestionWithdrawn(body) => self.text(format!("question {} is withdrawn", body.id)),
            _ => {}
        }
    }

    fn verdict(&mut self, entry: &Entry, verdict: &HookVerdict) {
        let said = self.said(verdict);
        if entry.place.ordinal > 0 {
            let phase = match self.event(verdict.hook) {
                Some(HookEvent::PostToolUse | HookEvent::PostToolUseFailure) => 1,
                _ => 0,
            };
            self.used(entry.place).verdicts.insert((phase, verdict.hook), said);
            return;
        }
        if let Some(Some(at)) = self.firings.get(&verdict.start).copied() {
            self.items[at] = Item::Text(said.join("\n"));
        }
    }

    /// What a verdict says, a line each; nothing, if it says nothing.
    fn said(&self, verdict: &HookVerdict) -> Vec<String> {
        let reason = verdict.reason.as_deref();
        let because = |word: &str| match reason {
            Some(reason) => format!("{word}: {reason}"),
            None => word.to_owned(),
        };
        let mut said = Vec::new();
        match verdict.decision {
            Decision::None => {}
            Decision::Allow => said.push(because("allows")),
            Decision::Deny => said.push(because("denies")),
            Decision::Ask => said.push(because("asks a person")),
            Decision::Block => said.push(because("blocks")),
        }
        let changes = &verdict.changes;
        said.extend(verdict.error.iter().map(|error| format!("went wrong: {error}")));
        said.extend(changes.input.iter().map(|input| format!("makes the input {input}")));
        said.extend(changes.output.iter().map(|output| format!("makes the output {}", self.parts(output))));
        said.extend(verdict.context.iter().map(|context| format!("adds: {context}")));
        said.extend(changes.title.iter().map(|title| format!("titles: {title}")));
        said.extend(changes.end_turn.iter().map(|why| format!("ends the turn: {why}")));
        let (name, event) = (self.hook(verdict.hook), self.event(verdict.hook));
        let event = event.map_or("", HookEvent::as_str);
        said.iter().map(|line| format!("hook {name} ({event}) {line}")).collect()
    }

    fn hook(&self, hook: u32) -> String {
        let component = self.created.as_ref().and_then(|created| {
            let pin = created.hooks.get(hook as usize)?;
            created.components.get(pin.component as usize)
        });
        component.map_or_else(|| "?".to_owned(), |pin| format!("{}:{}", pin.bundle, pin.name))
    }

    fn event(&self, hook: u32) -> Option<HookEvent> {
        Some(self.created.as_ref()?.hooks.get(hook as usize)?.event)
    }

    fn lost(&mut self, place: Place, why: Lost) {
        let one = self.used(place);
        one.is_unknown = why == Lost::Host && one.class == Some(Class::Once);
        one.outcome = Some(match why {
            Lost::Host => "unknown: the host died while it ran".to_owned(),
            Lost::Interrupted => "unknown: the turn ended while it ran".to_owned(),
            Lost::Limit => "unknown: it was tried too often".to_owned(),
        });
    }

    fn used(&mut self, place: Place) -> &mut Use {
        self.uses.entry(place).or_default()
    }

    fn text(&mut self, text: String) {
        self.items.push(Item::Text(text));
    }

    fn completed(&self, body: &ToolCompleted) -> String {
        let word = match body.outcome {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Denied => "denied",
            Outcome::TimedOut => "timed out",
            Outcome::Unknown => "unknown",
        };
        let mut text = self.parts(&body.parts);
        for context in &body.contexts {
            text.push_str(&format!("\n[{context}]"));
        }
        if text.is_empty() { word.to_owned() } else { format!("{word}: {text}") }
    }

    /// Content as text, and no more of it than a person reads. What differs on every run goes first: the digest of
    /// the rest must not differ with it.
    fn parts(&self, parts: &[Part]) -> String {
        cut(&same_each_time(&self.session, &whole_text(parts)))
    }
}

/// Content as text; what is none is named.
pub(super) fn whole_text(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text { text } => text.clone(),
        Part::Json { json } => json.clone(),
        Part::Blob { media_type, data } => format!("[{media_type}, {} bytes]", data.0.len()),
        Part::BlobRef { media_type, size, .. } => format!("[{media_type}, {size} bytes]"),
    });
    texts.collect::<Vec<_>>().join("\n").trim_end_matches('\n').to_owned()
}

/// A text for people to read; a difference in what is left out still shows. Nothing is held against it.
pub(super) fn cut(text: &str) -> String {
    let Some((at, _)) = text.char_indices().nth(TEXT_CHARS_MAX) else { return text.to_owned() };
    let (shown, rest) = text.split_at(at);
    let digest = Digest::of(rest.as_bytes()).to_string();
    format!("{shown}… ({} more characters, {})", rest.chars().count(), &digest[..REST_DIGITS])
}

fn same_each_time(session: &str, text: &str) -> String {
    without_digests(&text.replace(session, "<session>"))
}

/// Digests change with every build of what they are of.
fn without_digests(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let run = rest[start..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len() - start);
        out.push_str(&rest[..start]);
        let digits = &rest[start..start + run];
        out.push_str(if run == DIGEST_DIGITS { "<digest>" } else { digits });
        rest = &rest[start + run..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;

/// An author's data without the fields that name entries or count tokens: both differ with how often a session
/// was loaded.
fn without_counts(data: &Value) -> Value {
    match data {
        Value::Object(fields) => {
            let told = fields.iter().filter(|(name, _)| !is_count(name));
            told.map(|(name, value)| (name.clone(), without_counts(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_counts).collect(),
        other => other.clone(),
    }
}

fn is_count(field: &str) -> bool {
    field == "seq" || field.ends_with("_seq") || field.starts_with("tokens")
}
