//! What the model sees: a function of the session's entries and of nothing else.
//!
//! Knows how each entry changes the conversation. It is folded from the first entry on; the saved
//! state is only a fold up to the newest step's start, so a harness that has lost it, or another
//! version of it, comes to the same. Does not read the journal, ask the model or decide what is next.

mod repeats;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use rewake_sdk::{
    entry::{Entry, ModelOutcome, StepInput},
    harness::Ending,
    model::{Content, Finish, Role, Usage},
    part::text_of,
    prelude::*,
    session::JournalEvent,
};
use serde::{Deserialize, Serialize};

use crate::{
    compact::{self, Compacted},
    project::{self, Project},
    words,
};
pub(crate) use repeats::{Repeated, Repeats};
use uses::Open;

/// What a fold depends on beside the journal. A session's pins say it, so it is the same in every step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pinned {
    /// The tool `ask_user` is the harness's own.
    pub(crate) asks: bool,
    /// The model is informed after this number of identical failing calls; 0: never.
    pub(crate) repeats_warn: u32,
    /// The turn ends after this number of them; 0: never.
    pub(crate) repeats_max: u32,
}

/// Characters of the message that opened a turn, kept for what must not be forgotten.
const ASKED_CHARS_MAX: usize = 8_000;
/// Bytes of text a token has at least, about: what is not counted yet is estimated by it.
const TOKEN_BYTES: usize = 3;

/// The kinds of entries that say something of the conversation.
pub(crate) const KINDS: [&str; 19] = [
    "step.started",
    "step.completed",
    "step.aborted",
    "turn.interrupted",
    "turn.failed",
    "model.completed",
    "tools.requested",
    "tool.started",
    "tool.completed",
    "tool.lost",
    "hook.started",
    "hook.verdict",
    "agent.title",
    "session.titled",
    "workspace.imported",
    "workspace.rolled_back",
    compact::COMPACTING,
    compact::COMPACTED,
    project::PROJECT,
];

/// The conversation, and what was found out on the way to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Context {
    /// The seq of the newest step's start that is in it.
    pub(crate) through: u32,
    /// The messages that are not replaced by a summary, oldest first.
    pub(crate) window: Vec<Item>,
    /// What stands for the older ones.
    pub(crate) compacted: Option<Compacted>,
    /// Whether the session has a title.
    pub(crate) named: bool,
    /// The project's instructions.
    pub(crate) project: Option<Project>,
    /// How the model ended last.
    pub(crate) last: Last,
    /// How full the model's context is.
    pub(crate) meter: Meter,
    /// Uses of each tool in this turn: those that went well, and the others.
    pub(crate) did: BTreeMap<String, [u32; 2]>,
    /// Completions in this turn.
    pub(crate) answers: u32,
    /// Failing calls of this turn, since another call may have changed the reason or a user wrote.
    #[serde(default)]
    pub(crate) repeats: Repeats,
    turn: String,
    steps: u32,
    open: Open,
    /// What is to be told with the next message.
    notes: Vec<String>,
    /// What hooks added to the open step.
    contexts: Vec<String>,
    /// What they added to a step that was cut off: it is told again, and was heard already.
    again: Vec<String>,
    is_compacting: bool,
}

/// A message, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// The entry that it began with.
    pub(crate) seq: u32,
    /// What was asked with it, if a turn begins here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<String>,
    /// The message.
    pub(crate) message: Message,
}

/// How the model ended last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Last {
    /// Answers in a row that were cut at their limit, in this turn.
    pub(crate) cut: u32,
    /// Answers in a row that held nothing, in this turn.
    pub(crate) empty: u32,
    /// It was told to go on.
    told: bool,
    /// The request had no room in the model's context.
    pub(crate) too_large: bool,
    /// The conversation was shortened, and no answer has shown yet that it was enough.
    pub(crate) untried: bool,
}

/// How full the model's context is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Meter {
    /// Tokens of the last request and its answer; 0: not counted.
    tokens: u64,
    /// Bytes that came since.
    bytes: usize,
    /// Tokens that the model has room for, as the host knows it.
    pub(crate) context_tokens: Option<u64>,
    /// Answers since the conversation was shortened; none: it never was.
    pub(crate) since: Option<u32>,
}

impl Context {
    /// Whether it is folded up to the start of this step.
    pub(crate) fn is_at(&self, turn: &str, step: u32) -> bool {
        self.turn == turn && self.steps == step
    }

    /// The turn and step that it is at: what ids of questions are made of.
    pub(crate) fn place(&self) -> (&str, u32) {
        (&self.turn, self.steps)
    }

    /// What the model is sent.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut messages: Vec<Message> = self.window.iter().map(|item| item.message.clone()).collect();
        if let Some(compacted) = &self.compacted {
            let summary = Message::user(words::of_compacted(compacted));
            match messages.first_mut() {
                Some(first) if first.role == Role::User => {
                    first.content.splice(0..0, summary.content);
                }
                _ => messages.insert(0, summary),
            }
        }
        messages
    }

    /// Tokens that the next request takes, about.
    pub(crate) fn tokens(&self) -> u64 {
        let bytes = if self.meter.tokens == 0 { self.bytes() } else { self.meter.bytes };
        self.meter.tokens + (bytes / TOKEN_BYTES) as u64
    }

    /// Bytes of all messages, about.
    pub(crate) fn bytes(&self) -> usize {
        let summary = self.compacted.as_ref().map_or(0, |compacted| words::of_compacted(compacted).len());
        summary + self.window.iter().map(|item| compact::bytes(&item.message)).sum::<usize>()
    }

    /// Accepts the next entry.
    ///
    /// # Errors
    /// The entry cannot be read; what it says is left out, and the fold goes on.
    pub(crate) fn apply(&mut self, event: &JournalEvent, pinned: Pinned) -> Result<()> {
        let entry = match event.entry() {
            Ok(entry) => entry,
            // Steps are counted, whatever they say.
            Err(error) if event.kind == "step.started" => {
                self.step_started(event, StepInput::default(), pinned);
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        match entry {
            Entry::StepStarted(input) => self.step_started(event, input, pinned),
            Entry::StepCompleted => self.is_compacting = false,
            Entry::StepAborted => {
                self.again.append(&mut self.contexts);
                self.is_compacting = false;
            }
            Entry::TurnInterrupted(end) => self.notes.push(words::of_interrupt(end.reason.as_deref())),
            Entry::TurnFailed(end) => self.notes.push(words::of_failure(&end)),
            Entry::ModelCompleted(end) if !self.is_compacting => {
                self.model_completed(event.seq, end.outcome, pinned.asks);
            }
            Entry::ToolsRequested(requested) => self.open.requested(&requested.uses),
            Entry::ToolStarted { index, body } => self.open.started(index, &body),
            Entry::ToolCompleted { index, body } => {
                if let Some(name) = self.open.name(index) {
                    let did = self.did.entry(name.to_owned()).or_default();
                    did[usize::from(body.outcome != Outcome::Ok)] += 1;
                }
                self.open.completed(index, *body);
            }
            Entry::ToolLost { index, .. } => {
                if let Some(name) = self.open.name(index) {
                    self.did.entry(name.to_owned()).or_default()[1] += 1;
                }
                self.open.lost(index);
            }
            Entry::HookStarted(name) => self.open.hook_started(event.seq, name),
            Entry::HookVerdict { index: Some(index), body } => self.open.verdict(index, *body),
            Entry::Titled => self.named = true,
            Entry::WorkspaceImported(imported) => self.notes.push(words::of_import(&imported)),
            Entry::Custom(data) => self.custom(&event.kind, &data)?,
            _ if event.kind == "workspace.rolled_back" => self.notes.push(words::ROLLED_BACK.to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn step_started(&mut self, event: &JournalEvent, input: StepInput, pinned: Pinned) {
        let turn = event.turn.clone().unwrap_or_default();
        let is_first = turn != self.turn;
        if is_first {
            (self.turn, self.steps, self.answers) = (turn, 0, 0);
            self.did.clear();
            // Each turn tries again.
            self.last = Last::default();
        }
        self.steps += 1;
        self.is_compacting = false;
        self.through = event.seq;

        let is_heard = !input.messages.is_empty() || !input.answers.is_empty();
        if is_first || is_heard || self.open.has_changed() {
            self.repeats = Repeats::default();
        }
        self.repeats.count(if is_first || is_heard { BTreeMap::new() } else { self.open.failures() });
        let mut answers = input.answers;
        let mut content: Vec<Content> = self.open.close(&mut answers);
        let mut texts = std::mem::take(&mut self.notes);
        if input.unfinished.is_some_and(|before| before.how == Ending::RolledBack) {
            texts.push(words::ROLLED_BACK.to_owned());
        }
        let heard = self.heard_first(&input.contexts);
        texts.extend(heard.iter().map(|text| words::of_context(text)));
        texts.extend(self.last.nudge());
        let repeated = self.repeats.reached(pinned.repeats_warn);
        texts.extend(repeated.map(|repeated| words::of_repeats(repeated, pinned.repeats_max)));
        self.last.told = true;
        content.extend(texts.into_iter().map(|text| Content::Part(text.into())));
        let asked: Vec<String> = input.messages.iter().map(|message| text_of(&message.parts)).collect();
        let said = input.messages.into_iter().flat_map(words::of_message);
        content.extend(said.map(Content::Part));
        content.extend(answers.iter().map(|answer| Content::Part(Part::text(words::of_answer(answer)))));
        let asked = (is_first && !asked.is_empty()).then(|| words::cut(&asked.join("\n"), ASKED_CHARS_MAX));
        self.hear(event.seq, content, asked);
        (self.contexts, self.again) = (input.contexts, Vec::new());
    }

    /// What hooks added, without what a step before was told already.
    fn heard_first<'a>(&self, contexts: &'a [String]) -> Vec<&'a String> {
        let mut before: Vec<&String> = self.again.iter().collect();
        let is_new = |text: &&String| match before.iter().position(|told| told == text) {
            Some(at) => {
                before.remove(at);
                false
            }
            None => true,
        };
        contexts.iter().filter(is_new).collect()
    }

    /// Adds something for the model to read. Providers want the two roles to take turns, so it joins
    /// what the model has not answered yet.
    fn hear(&mut self, seq: u32, mut content: Vec<Content>, asked: Option<String>) {
        content.retain(is_something);
        let last = self.window.last().map(|item| item.message.role);
        if content.is_empty() {
            if last == Some(Role::User) {
                return;
            }
            content.push(Content::Part(Part::text(words::GO_ON)));
        }
        let mut message = Message { role: Role::User, content };
        self.meter.bytes += compact::bytes(&message);
        match self.window.last_mut().filter(|item| item.message.role == Role::User) {
            Some(open) => {
                open.message.content.append(&mut message.content);
                open.asked = open.asked.take().or(asked);
            }
            None => self.window.push(Item { seq, asked, message }),
        }
    }

    fn model_completed(&mut self, seq: u32, outcome: ModelOutcome, asks: bool) {
        let (mut content, finish, usage, context_tokens) = match outcome {
            ModelOutcome::Completion { content, finish, usage, context_tokens, .. } => {
                let content: Vec<Content> = content.into_iter().map(Content::from).collect();
                (content, finish, usage, context_tokens)
            }
            ModelOutcome::TooLarge(_) => {
                self.last.too_large = true;
                return;
            }
            _ => return,
        };
        content.retain(is_something);
        let says = |content: &Content| !matches!(content, Content::Thinking(_));
        let is_empty = !content.iter().any(says);
        self.answers += 1;
        self.meter.counted(usage, context_tokens);
        self.open = Open::new(&mut content, &self.use_ids(), asks, &self.turn, self.steps);
        let message = Message::assistant(content);
        self.last = Last {
            cut: if finish == Finish::MaxTokens && self.open.is_empty() { self.last.cut + 1 } else { 0 },
            empty: if is_empty && finish != Finish::MaxTokens { self.last.empty + 1 } else { 0 },
            ..Last::default()
        };
        // A message of nothing, or of thought alone, is none that could be sent back.
        if !is_empty {
            self.window.push(Item { seq, asked: None, message });
        }
    }

    /// The ids of the uses that the model is told of.
    fn use_ids(&self) -> BTreeSet<String> {
        let contents = self.window.iter().flat_map(|item| &item.message.content);
        let ids = contents.filter_map(|content| match content {
            Content::ToolUse(one) => Some(one.id.clone()),
            _ => None,
        });
        ids.collect()
    }

    fn custom(&mut self, kind: &str, data: &JsonText) -> Result<()> {
        match kind {
            compact::COMPACTING => self.is_compacting = true,
            compact::COMPACTED => self.shortened(data.parse()?),
            project::PROJECT => self.project = data.parse()?,
            _ => {}
        }
        Ok(())
    }

    fn shortened(&mut self, compacted: Compacted) {
        self.window.retain(|item| item.seq > compacted.to_seq);
        if let Some(bytes_max) = compacted.texts_bytes_max {
            for item in &mut self.window {
                compact::shorten(&mut item.message, bytes_max);
            }
        }
        if compacted.messages > 0 {
            self.compacted = Some(compacted);
        }
        (self.meter.tokens, self.meter.bytes, self.meter.since) = (0, 0, Some(0));
        (self.last.too_large, self.last.untried) = (false, true);
        self.is_compacting = false;
    }
}

impl Last {
    /// What a model is told that stopped before it was done.
    fn nudge(&self) -> Option<String> {
        match (self.cut, self.empty) {
            _ if self.told => None,
            (0, 0) => None,
            (0, _) => Some(words::EMPTY.to_owned()),
            _ => Some(words::CUT.to_owned()),
        }
    }
}

impl Meter {
    fn counted(&mut self, usage: Usage, context_tokens: Option<u64>) {
        self.tokens = usage.total();
        self.bytes = 0;
        self.context_tokens = context_tokens.or(self.context_tokens);
        self.since = self.since.map(|since| since + 1);
    }
}

/// Whether a piece can be sent: providers refuse empty text.
fn is_something(content: &Content) -> bool {
    !matches!(content, Content::Part(Part::Text { text }) if text.trim().is_empty())
}
