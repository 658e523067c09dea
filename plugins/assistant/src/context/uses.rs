//! The tools that the newest completion wants called, until their results are told.
//!
//! Knows what is known of each: whether it was begun, how it ended, what hooks said of it. Every use
//! gets exactly one result, also where a turn ended in the midst of it: providers refuse a use
//! without one.

use std::collections::{BTreeMap, BTreeSet};

use rewake_sdk::{
    entry::{Answer, Decision, HookVerdict, Requested, ToolCompleted, ToolStarted},
    model::Content,
    part::text_of,
    prelude::*,
};
use serde::{Deserialize, Serialize};

use crate::{ask, words};

/// Characters of a tool's name, and of a use's id, that all providers take.
const WORD_CHARS_MAX: usize = 64;

/// The uses of one completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Open {
    uses: Vec<Use>,
    /// Which use each index of the last request is.
    requested: Vec<usize>,
    /// The events of hooks that were asked, by the seq of their start.
    hooks: Vec<(u32, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Use {
    /// The id that the model gave it: the host's entries say that one.
    id: String,
    /// The id that it has in the conversation.
    told_id: String,
    name: String,
    /// The digest of its arguments.
    #[serde(default)]
    arguments: String,
    class: Effect,
    state: State,
    /// What hooks said before it ran, by their numbers.
    before: Vec<(u32, String)>,
    /// What they said of how it ended.
    after: Vec<(u32, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Nobody has begun it.
    Wanted,
    /// The host was asked for it.
    Requested,
    /// It was begun.
    Started,
    /// It was begun, and its end is not known.
    Lost,
    /// It ended.
    Ended {
        outcome: Outcome,
        parts: Vec<Part>,
        /// What hooks had to say before it ran.
        contexts: Vec<String>,
    },
    /// A question to people, by this id.
    Asked(String),
    /// A question that cannot be asked, and why.
    NotAsked(String),
}

impl Open {
    /// Those of a completion, whose ids and names are made such in it that every provider takes them back: none
    /// of `taken`, no id twice. `asks`: the tool `ask_user` is the harness's own.
    pub(super) fn new(
        content: &mut [Content],
        taken: &BTreeSet<String>,
        asks: bool,
        turn: &str,
        step: u32,
    ) -> Self {
        let mut taken = taken.clone();
        let mut uses = Vec::new();
        let mut told_ids = Vec::new();
        for content in content {
            let Content::ToolUse(told) = content else { continue };
            uses.push(told.clone());
            told.name = word(&told.name, "unnamed");
            told.id = unused(&word(&told.id, "use"), &taken);
            taken.insert(told.id.clone());
            told_ids.push(told.id.clone());
        }
        let wishes = if asks { ask::wishes(&uses) } else { Vec::new() };
        let state = |at: usize| match wishes.iter().find(|wish| wish.at == at) {
            None => State::Wanted,
            Some(wish) => match &wish.question {
                Ok(_) => State::Asked(ask::id(turn, step, at)),
                Err(why) => State::NotAsked(why.clone()),
            },
        };
        let open = (0..).zip(uses).zip(told_ids).map(|((at, one), told_id)| Use {
            id: one.id,
            told_id,
            name: one.name,
            arguments: String::new(),
            class: Effect::Once,
            state: state(at),
            before: Vec::new(),
            after: Vec::new(),
        });
        Self { uses: open.collect(), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    pub(super) fn requested(&mut self, requested: &[Requested]) {
        self.requested.clear();
        for one in requested {
            let is_it = |open: &Use| open.state == State::Wanted && open.id == one.id;
            // One that nobody wanted belongs to no completion: it has no result to tell.
            let at = self.uses.iter().position(is_it).unwrap_or(usize::MAX);
            if let Some(open) = self.uses.get_mut(at) {
                open.state = State::Requested;
                open.arguments.clone_from(&one.arguments);
            }
            self.requested.push(at);
        }
    }

    fn at(&mut self, index: u32) -> Option<&mut Use> {
        let at = *self.requested.get(index as usize)?;
        self.uses.get_mut(at)
    }

    /// The name of the tool of a use.
    pub(super) fn name(&mut self, index: u32) -> Option<&str> {
        self.at(index).map(|open| open.name.as_str())
    }

    pub(super) fn started(&mut self, index: u32, started: &ToolStarted) {
        if let Some(open) = self.at(index) {
            (open.state, open.class) = (State::Started, started.class);
        }
    }

    pub(super) fn completed(&mut self, index: u32, completed: ToolCompleted) {
        let ToolCompleted { outcome, parts, contexts, .. } = completed;
        if let Some(open) = self.at(index) {
            open.state = State::Ended { outcome, parts, contexts };
        }
    }

    pub(super) fn lost(&mut self, index: u32) {
        if let Some(open) = self.at(index) {
            open.state = State::Lost;
        }
    }

    pub(super) fn hook_started(&mut self, seq: u32, event: String) {
        if !self.requested.is_empty() {
            self.hooks.push((seq, event));
        }
    }

    /// What a hook says of a use, in the order in which the host would tell it.
    pub(super) fn verdict(&mut self, index: u32, verdict: HookVerdict) {
        let started = self.hooks.iter().find(|(seq, _)| u64::from(*seq) == verdict.start);
        let Some((_, event)) = started else { return };
        let is_before = event == "PreToolUse";
        let Some(open) = self.at(index) else { return };
        if is_before {
            open.before.extend(verdict.context.map(|text| (verdict.hook, text)));
            return;
        }
        if verdict.decision == Decision::Block {
            open.after.extend(verdict.reason.map(|text| (verdict.hook, text)));
        }
        open.after.extend(verdict.context.map(|text| (verdict.hook, text)));
        if let (State::Ended { parts, .. }, Some(output)) = (&mut open.state, verdict.changes.output) {
            *parts = output;
        }
    }

    /// Whether a call of them ended well that may have changed something.
    pub(super) fn has_changed(&self) -> bool {
        let is_done = |open: &Use| matches!(open.state, State::Ended { outcome: Outcome::Ok, .. });
        self.uses.iter().any(|open| is_done(open) && open.class != Effect::Pure)
    }

    /// The calls that did not end well, each once, with the tool's name: calls with the same tool, arguments, outcome
    /// and text have the same number.
    pub(super) fn failures(&self) -> BTreeMap<u64, String> {
        self.uses.iter().filter_map(|open| Some((open.failure()?, word(&open.name, "unnamed")))).collect()
    }

    /// What is known of every use, as results; takes the answers to its questions.
    pub(super) fn close(&mut self, answers: &mut Vec<Answer>) -> Vec<Content> {
        let closed = std::mem::take(self);
        closed.uses.into_iter().map(|open| Content::ToolResult(open.result(answers))).collect()
    }
}

impl Use {
    /// A number that is the same for the same call with the same end (FNV-1a). None: it ended well, or its end is not
    /// known.
    fn failure(&self) -> Option<u64> {
        let State::Ended { outcome, parts, .. } = &self.state else { return None };
        if *outcome == Outcome::Ok {
            return None;
        }
        let (outcome, text) = (outcome.to_string(), text_of(parts));
        let fields = [&self.name, &self.arguments, &outcome, &text];
        let bytes = fields.into_iter().flat_map(|field| field.bytes().chain([0xff]));
        Some(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn result(mut self, answers: &mut Vec<Answer>) -> ToolResult {
        let said = |mut said: Vec<(u32, String)>| {
            said.sort_by_key(|(hook, _)| *hook);
            said.into_iter().map(|(_, text)| text).collect::<Vec<String>>()
        };
        let (outcome, parts, mut context) = match self.state {
            State::Ended { outcome, parts, contexts } => (outcome, parts, contexts),
            State::Started | State::Lost => {
                (Outcome::Unknown, Vec::new(), said(std::mem::take(&mut self.before)))
            }
            State::Wanted | State::Requested => {
                return ToolResult::new(self.told_id, Outcome::Error, words::NOT_BEGUN);
            }
            State::NotAsked(why) => return ToolResult::new(self.told_id, Outcome::Error, why),
            State::Asked(question) => {
                let at = answers.iter().position(|answer| answer.question == question);
                return match at.map(|at| answers.remove(at)) {
                    Some(answer) => ToolResult::new(self.told_id, Outcome::Ok, words::of_reply(&answer)),
                    None => ToolResult::new(self.told_id, Outcome::Error, words::NOT_ANSWERED),
                };
            }
        };
        context.extend(said(self.after));
        ToolResult { id: self.told_id, outcome, parts, context }.in_words_of(self.class)
    }
}

/// A name or id in the letters that all providers take; a model can write any.
fn word(text: &str, instead: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let word: String = text.chars().take(WORD_CHARS_MAX).map(letter).collect();
    if word.is_empty() { instead.to_owned() } else { word }
}

/// The id, or one like it that is not taken.
fn unused(id: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(id) {
        return id.to_owned();
    }
    let numbered = (2u32..).map(|n| {
        let end = format!("_{n}");
        format!("{}{end}", &id[..id.len().min(WORD_CHARS_MAX - end.len())])
    });
    numbered.into_iter().find(|id| !taken.contains(id)).unwrap_or_default()
}
