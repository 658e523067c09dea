//! A session's entries, and what its model is saying, as the rows of a conversation: those that stay, and those
//! that still change. Writes nothing.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use rewake_core::entry::Entry;
use rewake_core::fact::{Decision, Fact, Lost, ModelContent, ModelOutcome, Question, UserAnswer, WaitOn};
use rewake_runtime::live::Delta;
use rewake_text::one_line;
use rewake_transcript::{COMPACTED, End, Item, Request};
use rewake_wire::{Part, Sender};

use super::markdown::Markdown;
use super::row::{Look, Row, hang, set_in, wrap};
use super::saying::Saying;
use super::tools::Tools;
use crate::describe;
use crate::out::Style;
use crate::stream::{self, Line};

/// Characters of a sender's name.
const NAME_CHARS_MAX: usize = 64;
/// Choices that stand in a row together, in columns.
const CHOICES_COLUMNS: usize = 60;

/// The conversation.
pub(super) struct Transcript {
    items: rewake_transcript::Transcript,
    tools: Tools,
    saying: Option<Saying>,
    /// Seq of the newest start of a model's call whose end is known: pieces of it come too late.
    ended_start: u64,
    /// Who sits at the terminal.
    me: String,
    columns: usize,
    has_looks: bool,
    is_unfolded: bool,
    /// Questions that were asked, and those that were shown.
    questions: BTreeMap<String, Question>,
    shown: BTreeSet<String>,
    /// Rows of the inbox whose answers were shown when they were sent.
    answers: BTreeSet<u64>,
    /// Rows that stay and were not taken yet; and whether the last one is empty.
    rows: Vec<Row>,
    is_gap: bool,
}

impl Transcript {
    pub(super) fn new(me: String, columns: usize, has_looks: bool, is_unfolded: bool) -> Transcript {
        Transcript {
            items: stream::transcript(),
            tools: Tools::new(is_unfolded),
            saying: None,
            ended_start: 0,
            me,
            columns,
            has_looks,
            is_unfolded,
            questions: BTreeMap::new(),
            shown: BTreeSet::new(),
            answers: BTreeSet::new(),
            rows: Vec::new(),
            is_gap: true,
        }
    }

    /// The terminal has another size: what comes is wrapped to it.
    pub(super) fn resize(&mut self, columns: usize) {
        self.columns = columns;
        if let Some(saying) = &mut self.saying {
            saying.resize(columns, self.has_looks);
        }
    }

    /// Takes the rows that stay.
    pub(super) fn take(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Puts rows that were canceled.
    pub(super) fn keep(&mut self, rows: Vec<Row>) {
        self.push(rows);
    }

    /// The rows that still change; of what is being said no more than so many, and those before them stay.
    pub(super) fn changing(&mut self, now: Instant, said_rows_max: usize) -> Vec<Row> {
        let given = self.saying.as_mut().map(|saying| {
            let had = saying.is_given();
            (saying.give(said_rows_max), had)
        });
        if let Some((rows, had)) = given
            && !rows.is_empty()
        {
            if !had {
                self.gap();
            }
            self.push(rows);
        }
        let mut changing = Vec::new();
        if let Some(saying) = self.saying.as_ref().filter(|saying| !saying.is_empty()) {
            if !self.is_gap && !saying.is_given() {
                changing.push(Row::default());
            }
            let rows = saying.rows();
            let from = rows.len().saturating_sub(said_rows_max);
            changing.extend(rows.into_iter().skip(from));
        }
        changing.extend(self.tools.rows(now, self.columns));
        changing
    }

    /// Adds an entry.
    pub(super) fn entry(&mut self, entry: &Entry, now: Instant) {
        // It keeps what later entries do not repeat, whether its items are wanted or not.
        let items = self.items.push(entry);
        if entry.fact.is_turn_end() {
            self.broken_off();
            self.settle_tools(true);
        }
        for item in items {
            match &item {
                Item::Sentence(..) if self.is_known(&entry.fact) => {}
                Item::UserMessage(body) => {
                    let name = self.name(&body.sender);
                    self.gap();
                    self.prompted(&name, &describe::parts(&body.parts));
                    self.gap();
                }
                Item::AgentMessage(body) => self.said(&describe::parts(&body.parts)),
                Item::Question(question, _) => {
                    self.questions.insert(question.id.clone(), (*question).clone());
                }
                Item::Answer(body, _) => self.answered(body),
                item => self.call(item, now),
            }
        }
    }

    /// Whether its sentence says what is to be seen anyway.
    fn is_known(&self, fact: &Fact) -> bool {
        match fact {
            Fact::UserInterrupt(body) => self.name(&body.sender).is_empty(),
            Fact::TurnWaiting(body) => matches!(body.on, WaitOn::Answers(_)),
            Fact::SessionLoaded(_) | Fact::StepRerun(_) => !self.is_unfolded,
            Fact::ModelLost(body) => body.why == Lost::Interrupted,
            _ => false,
        }
    }

    fn answered(&mut self, body: &UserAnswer) {
        if self.answers.remove(&body.n) {
            return;
        }
        let name = self.name(&body.sender);
        if let Some(question) = self.questions.get(&body.question).cloned()
            && !self.shown.contains(&body.question)
        {
            self.question(&question);
        }
        self.prompted(&name, &value_of(&body.value));
    }

    /// Adds an item of a call: of a model, of a tool, of a hook.
    fn call(&mut self, item: &Item<'_>, now: Instant) {
        match item {
            Item::ModelStarted(_) => self.unsaid(),
            Item::ModelCompleted(body) => {
                self.ended_start = body.start;
                match &body.outcome {
                    ModelOutcome::Completion { content, .. } => self.completed(body.start, &text_of(content)),
                    _ => self.void("the model did not answer"),
                }
            }
            Item::ModelLost(body) => {
                self.ended_start = body.start;
                match body.why {
                    Lost::Interrupted => self.broken_off(),
                    _ => self.void("what the model answered is not known"),
                }
            }
            Item::Retried(body) => {
                if self.saying.as_ref().is_some_and(|saying| saying.start == body.start) {
                    self.void("the model is asked again");
                }
            }
            Item::Requested(place, Request::Tool(one)) => {
                if place.index == 0 {
                    self.unsaid();
                    self.settle_tools(true);
                }
                self.tools.requested(*place, one);
            }
            Item::Started(place, _) => self.tools.started(*place, now),
            Item::Ended { place, end: End::Tool(body), .. } => {
                self.tools.completed(*place, body, self.columns);
                self.settle_tools(false);
            }
            Item::ToolLost(place, _, why) => {
                self.tools.lost(*place, *why, self.columns);
                self.settle_tools(false);
            }
            Item::Verdict { place, verdict, .. } => {
                let rows = self.wrapped(&stream::item(item));
                if place.ordinal == 0
                    || !self.tools.note(*place, rows.clone(), verdict.decision == Decision::Deny)
                {
                    self.push(rows);
                }
            }
            // The summary that it was made of is not what the agent says.
            Item::Marker(body) if body.kind == COMPACTED => {
                self.unsaid();
                self.lines(&stream::item(item));
            }
            _ => self.lines(&stream::item(item)),
        }
    }

    /// Takes a piece of what the model is saying in.
    pub(super) fn delta(&mut self, start: u64, attempt: u32, delta: &Delta) {
        let Delta::Text(piece) = delta else { return };
        if start <= self.ended_start {
            return;
        }
        let is_other = |saying: &Saying| (saying.start, saying.attempt) != (start, attempt);
        if self.saying.as_ref().is_some_and(is_other) {
            self.void("the model is asked again");
        }
        let (columns, has_looks) = (self.columns, self.has_looks);
        self.saying.get_or_insert_with(|| Saying::new(start, attempt, columns, has_looks)).push(piece);
    }

    /// What the model has said of a call is void.
    pub(super) fn reset(&mut self, start: u64, attempt: u32) {
        if start > self.ended_start && self.saying.as_ref().is_none_or(|saying| saying.attempt < attempt) {
            self.void(&format!(
                "the model is asked again, for the {} time",
                ordinal(attempt.saturating_add(1))
            ));
        }
    }

    /// Shows a question with its choices, each with its number.
    pub(super) fn question(&mut self, question: &Question) {
        self.shown.insert(question.id.clone());
        self.gap();
        let first = Row::new(Look::BOLD, "? ");
        let mut lines = question.text.lines();
        let line = Row::new(Look::BOLD, lines.next().unwrap_or_default());
        let mut rows = wrap(&line, &first, self.columns);
        rows.extend(set_in(Look::BOLD, &lines.collect::<Vec<_>>().join("\n"), self.columns));
        let choices: Vec<String> = (1..)
            .zip(&question.choices)
            .map(|(n, choice)| format!("{n}) {}", one_line(choice, 400)))
            .collect();
        let together = choices.join("   ");
        if together.chars().count() <= CHOICES_COLUMNS {
            rows.extend(set_in(Look::default(), &together, self.columns));
        } else {
            rows.extend(choices.iter().flat_map(|choice| set_in(Look::default(), choice, self.columns)));
        }
        self.push(rows);
    }

    /// Shows the answer that was sent as a row of the inbox: below its question, before the next one.
    pub(super) fn answer(&mut self, row: u64, value: &str) {
        self.answers.insert(row);
        self.prompted("", &value_of(value));
    }

    /// Says something of the program's own.
    pub(super) fn note(&mut self, style: Style, text: &str) {
        self.lines(&[(style, text.to_owned())]);
    }

    fn name(&self, sender: &Sender) -> String {
        match sender {
            Sender::Operator(name) if *name == self.me => String::new(),
            other => format!("{}: ", one_line(&describe::sender(other), NAME_CHARS_MAX)),
        }
    }

    /// What somebody has sent.
    fn prompted(&mut self, name: &str, text: &str) {
        let rows = sent(name, text, Look::BOLD, self.columns);
        self.push(rows);
    }

    /// The agent's message. What the model said of it stays, and is not said again.
    fn said(&mut self, text: &str) {
        match self.saying.take() {
            Some(saying) if saying.is(text) => {
                if !saying.is_given() {
                    self.gap();
                }
                let rows = saying.end();
                self.push(rows);
            }
            saying => {
                self.saying = saying;
                self.unsaid();
                self.gap();
                let rows = Markdown::whole(text, self.columns, self.has_looks);
                self.push(rows);
            }
        }
        self.gap();
    }

    fn completed(&mut self, start: u64, text: &str) {
        let (columns, has_looks) = (self.columns, self.has_looks);
        if let Some(saying) = self.saying.as_mut().filter(|saying| saying.start == start)
            && !saying.complete(text, columns, has_looks)
        {
            self.void("parts of it were missed; what counts follows");
        }
    }

    /// What the model has said is not what the agent says.
    fn unsaid(&mut self) {
        if let Some(saying) = self.saying.take()
            && saying.is_given()
        {
            self.note(Style::Dim, "↑ this was for the agent's own use");
        }
    }

    /// What the model has said does not count.
    fn void(&mut self, why: &str) {
        match self.saying.take() {
            Some(saying) if saying.is_given() => {
                let rows = saying.end();
                self.push(rows);
                self.note(Style::Bad, &format!("✗ partial answer above discarded: {why}"));
            }
            Some(saying) if !saying.is_empty() => {
                self.note(Style::Dim, &format!("↻ partial answer discarded: {why}"));
            }
            _ => {}
        }
    }

    /// The turn is over: what the model has said of an answer that it did not end is kept as that.
    fn broken_off(&mut self) {
        match self.saying.take() {
            Some(saying) if !saying.is_whole() && !saying.is_empty() => {
                if !saying.is_given() {
                    self.gap();
                }
                let rows = saying.end();
                self.push(rows);
                self.note(Style::Dim, "✗ broken off: the agent does not know of this beginning");
            }
            saying => {
                self.saying = saying;
                self.unsaid();
            }
        }
    }

    fn settle_tools(&mut self, all: bool) {
        let rows = self.tools.settled(all, self.columns);
        self.push(rows);
    }

    fn lines(&mut self, lines: &[Line]) {
        let rows = self.wrapped(lines);
        self.push(rows);
    }

    /// Lines of the program's own; further lines of one are somebody's text, and set in.
    fn wrapped(&self, lines: &[Line]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (style, text) in lines {
            let mut parts = text.lines();
            let first = Row::new(*style, parts.next().unwrap_or_default());
            rows.extend(hang(&first, self.columns));
            rows.extend(set_in((*style).into(), &parts.collect::<Vec<_>>().join("\n"), self.columns));
        }
        rows
    }

    fn gap(&mut self) {
        if !self.is_gap {
            self.push(vec![Row::default()]);
        }
    }

    fn push(&mut self, rows: Vec<Row>) {
        if let Some(last) = rows.last() {
            self.is_gap = last.width() == 0;
            self.rows.extend(rows);
        }
    }
}

/// What somebody sends, with the mark of that.
pub(super) fn sent(name: &str, text: &str, look: Look, columns: usize) -> Vec<Row> {
    let mut lines = text.lines();
    let first = Row::new(Look::DIM, &format!("› {name}"));
    let mut rows = wrap(&Row::new(look, lines.next().unwrap_or_default()), &first, columns);
    rows.extend(set_in(look, &lines.collect::<Vec<_>>().join("\n"), columns));
    rows
}

/// An answer as it was typed.
fn value_of(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_else(|_| json.to_owned())
}

/// The text of a completion.
fn text_of(content: &[ModelContent]) -> String {
    let parts = content.iter().filter_map(|piece| match piece {
        ModelContent::Part(Part::Text { text }) => Some(text.as_str()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn ordinal(n: u32) -> String {
    match n {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        n => format!("{n}th"),
    }
}
