//! A session's journal as a text that is the same on every run: what was said, asked, called and answered, and
//! how turns ended. No ids, times, digests, durations or counts of tokens; and nothing of how often the session
//! was loaded, so that a run that was cut off and went on reads like one that was not.

use std::collections::BTreeMap;

use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{
    Class, Decision, Fact, HookEvent, HookVerdict, HttpOutcome, Lost, Scope, Source, ToolCompleted, WaitOn,
};
use rewake_core::ids::{Digest, SessionId};
use rewake_transcript::{End, Item, Request, words};
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
        let mut writing = Writing::of(id);
        for entry in entries {
            writing.push(entry);
        }
        let Writing { pieces, mut uses, .. } = writing;
        let mut transcript = Transcript::default();
        for piece in pieces {
            match piece {
                Piece::Text(text) if text.is_empty() => {}
                Piece::Text(text) => transcript.push(id, &text),
                Piece::Use(place) => {
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

/// A line of its own, or the lines of a use.
enum Piece {
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

struct Writing {
    /// The session's id.
    session: String,
    journal: rewake_transcript::Transcript,
    pieces: Vec<Piece>,
    uses: BTreeMap<Place, Use>,
    /// Where the verdict of a firing of the session itself is to stand, by its start.
    firings: BTreeMap<u64, Option<usize>>,
}

impl Writing {
    fn of(session: &SessionId) -> Writing {
        Writing {
            session: session.to_string(),
            journal: rewake_transcript::Transcript::new(str::to_owned),
            pieces: Vec::new(),
            uses: BTreeMap::new(),
            firings: BTreeMap::new(),
        }
    }

    fn push(&mut self, entry: &Entry) {
        if let Fact::QuestionWithdrawn(body) = &entry.fact {
            self.text(format!("question {} is withdrawn", body.id));
        }
        for item in self.journal.push(entry) {
            match item {
                Item::UserMessage(body) => self.text(format!("user: {}", self.parts(&body.parts))),
                Item::AgentMessage(body) => self.text(format!("agent: {}", self.parts(&body.parts))),
                Item::Marker(body) => self.text(format!("{} {}", body.kind, without_counts(&body.data))),
                Item::Question(question, about) => {
                    let choices = match question.choices.as_slice() {
                        [] => String::new(),
                        choices => format!(" ({})", choices.join(" | ")),
                    };
                    self.asked(about, format!("question {}: {}{choices}", question.id, question.text));
                }
                Item::Answer(body, about) => {
                    self.asked(about, format!("answer {}: {}", body.question, body.value));
                }
                Item::ModelLost(_) => self.text("model: no answer is known".to_owned()),
                Item::Sentence(_, text) => self.sentence(entry, text),
                item => self.call(&item),
            }
        }
    }

    /// A use of a tool, or a request; and what hooks say of them.
    fn call(&mut self, item: &Item<'_>) {
        match item {
            Item::Requested(place, request) => self.requested(*place, *request),
            Item::Started(place, class) => self.used(*place).class = Some(*class),
            Item::Ended { place, end: End::Tool(body), .. } => {
                let outcome = self.completed(body);
                let one = self.used(*place);
                one.outcome = Some(outcome);
                one.is_unknown = body.outcome == Outcome::Unknown && one.class == Some(Class::Once);
            }
            Item::Ended { place, end: End::Http(body), .. } => {
                if let Some(request) = &body.request {
                    self.requested(*place, Request::Http(request));
                }
                self.used(*place).outcome = Some(match &body.outcome {
                    HttpOutcome::Response { status, .. } => format!("status {status}"),
                    HttpOutcome::Denied(why) => format!("denied: {why}"),
                    HttpOutcome::TimedOut => "timed out".to_owned(),
                    HttpOutcome::TooLarge => "too large".to_owned(),
                    HttpOutcome::Failed(why) => format!("failed: {why}"),
                });
            }
            Item::ToolLost(place, _, why) => self.lost(*place, *why),
            Item::HttpLost(place, body) => self.lost(*place, body.why),
            Item::HookStarted(seq, place, body) if place.ordinal == 0 => {
                // The session is told of each time it is loaded; how often that is says nothing of it.
                let is_shown = body.source != Some(Source::Resume);
                let at = is_shown.then(|| {
                    self.pieces.push(Piece::Text(String::new()));
                    self.pieces.len() - 1
                });
                self.firings.insert(*seq, at);
            }
            Item::Verdict { place, hook, event, verdict, .. } => {
                let said = self.said(hook.as_deref(), *event, verdict);
                if place.ordinal > 0 {
                    let is_after =
                        matches!(event, Some(HookEvent::PostToolUse | HookEvent::PostToolUseFailure));
                    self.used(*place).verdicts.insert((u8::from(is_after), verdict.hook), said);
                } else if let Some(Some(at)) = self.firings.get(&verdict.start).copied() {
                    self.pieces[at] = Piece::Text(said.join("\n"));
                }
            }
            _ => {}
        }
    }

    /// What other renderers show as a sentence. What differs from run to run is left out, or said with less.
    fn sentence(&mut self, entry: &Entry, text: String) {
        let turn = entry.place.turn;
        self.text(match &entry.fact {
            Fact::AgentTitle(_)
            | Fact::SessionTitled(_)
            | Fact::ModelCompleted(_)
            | Fact::TurnInterrupted(_)
            | Fact::SessionStopped(_)
            | Fact::SessionFailed(_) => text,
            Fact::TurnSteered(_) => format!("turn {turn} accepts more"),
            Fact::TurnWaiting(body) => match &body.on {
                // The questions stand there already.
                WaitOn::Answers(_) => return,
                WaitOn::Time { until, on_message } => {
                    let what = match (until.is_some(), on_message) {
                        (true, true) => "a message or a time",
                        (true, false) => "a time",
                        (false, _) => "a message",
                    };
                    format!("turn {turn} waits for {what}")
                }
            },
            Fact::TurnCompleted(_) => format!("turn {turn} completed"),
            Fact::TurnFailed(body) => {
                let whole = if body.scope == Scope::Session { ", and the session with it" } else { "" };
                // Of a trap's detail the first line says what it was; the rest is of this very build.
                let detail = body.detail.lines().next().unwrap_or_default();
                format!("turn {turn} failed{whole} ({}): {detail}", body.code)
            }
            Fact::CommandEdited(body) => {
                format!("message {} is changed: {}", body.target, self.parts(&body.after))
            }
            Fact::CommandCanceled(body) => format!("message {} is canceled", body.target),
            Fact::CommandPromoted(body) => format!("message {} is to come next", body.target),
            Fact::CommandRejected(body) => format!("a command had no effect: {}", body.why),
            _ => return,
        });
    }

    /// What a verdict says, a line each; nothing, if it says nothing.
    fn said(&self, hook: Option<&str>, event: Option<HookEvent>, verdict: &HookVerdict) -> Vec<String> {
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
        let (name, event) = (hook.unwrap_or("?"), event.map_or("", HookEvent::as_str));
        said.iter().map(|line| format!("hook {name} ({event}) {line}")).collect()
    }

    fn requested(&mut self, place: Place, request: Request<'_>) {
        self.used(place).what = match request {
            Request::Tool(one) => format!("tool {} {}", one.name, one.input),
            Request::Http(request) => format!("http {} {}", request.method, request.url),
        };
        self.pieces.push(Piece::Use(place));
    }

    fn lost(&mut self, place: Place, why: Lost) {
        let one = self.used(place);
        one.is_unknown = why == Lost::Host && one.class == Some(Class::Once);
        one.outcome = Some(format!("unknown: {}", words::lost(why)));
    }

    /// A question or an answer: of a use, or a line of its own.
    fn asked(&mut self, about: Option<Place>, line: String) {
        match about {
            Some(place) => self.used(place).asked.push(line),
            None => self.text(line),
        }
    }

    fn used(&mut self, place: Place) -> &mut Use {
        self.uses.entry(place).or_default()
    }

    fn text(&mut self, text: String) {
        self.pieces.push(Piece::Text(text));
    }

    fn completed(&self, body: &ToolCompleted) -> String {
        let word = words::outcome_word(body.outcome);
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

/// Content as text; a blob is named.
pub(super) fn whole_text(parts: &[Part]) -> String {
    words::parts_with(parts, |bytes| format!("{bytes} bytes")).trim_end_matches('\n').to_owned()
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
