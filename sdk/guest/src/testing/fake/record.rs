//! The journal of the host in memory: the entries of turns, steps, model and tool calls.
//!
//! Knows what the real host writes of them, as far as a harness can read it. Does not know hooks,
//! interrupts or crashes: a test that needs those writes the entries with `Fake::entry`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::World;
use crate::{
    harness::{Failure, Input, Message, Next},
    json::JsonText,
    model::{ModelError, ModelResult, Outcome, ToolResult, ToolUse, Usage},
    tool::Effect,
};

impl World {
    fn write(&mut self, kind: &str, data: &impl Serialize) -> u32 {
        match JsonText::of(data) {
            Ok(data) => self.append(kind, data),
            Err(error) => panic!("{kind}: {error}"),
        }
    }

    /// Opens a turn, or continues with the one that waits; returns its next step's number.
    pub(super) fn begin_turn(&mut self, input: &Input) -> u32 {
        if self.steps.is_none() {
            self.turns += 1;
            self.info.turn = format!("turn_{}", self.turns);
        }
        for message in &input.messages {
            self.write("user.message", &journaled_message(message));
        }
        for answer in &input.answers {
            self.write("user.answer", answer);
        }
        if self.steps.is_none() {
            self.write("turn.started", &json!({ "commands": [] }));
        }
        *self.steps.get_or_insert(0) + 1
    }

    pub(super) fn begin_step(&mut self, input: &Input) {
        self.steps = Some(input.step);
        self.write("step.started", &json!({ "input": journaled(input) }));
    }

    pub(super) fn end_step(&mut self, next: &Next) {
        self.write("step.completed", &json!({}));
        match next {
            Next::More => {}
            Next::Done => {
                self.write("turn.completed", &json!({ "steps": self.steps }));
                self.steps = None;
            }
            Next::Ask(questions) => {
                for question in questions {
                    self.write("question.asked", &json!({ "id": question.id, "text": question.text }));
                }
                self.write("turn.waiting", &json!({}));
            }
            Next::Wait { .. } => {
                self.write("turn.waiting", &json!({}));
            }
        }
    }

    /// The messages that came meanwhile.
    pub(super) fn steer(&mut self) -> Vec<Message> {
        let messages: Vec<Message> = self.meanwhile.drain(..).collect();
        for message in &messages {
            self.write("user.message", &journaled_message(message));
        }
        if !messages.is_empty() {
            self.write("turn.steered", &json!({ "commands": [] }));
        }
        messages
    }

    pub(super) fn failed(&mut self, failure: &Failure) {
        self.write("step.aborted", &json!({ "how": "failed" }));
        let Failure { scope: _, code, detail } = failure;
        let failed = json!({ "scope": "turn", "code": code, "detail": detail, "usage": Usage::default() });
        self.write("turn.failed", &failed);
        self.steps = None;
    }

    pub(super) fn record_model(&mut self, result: &ModelResult) {
        let start = self.write("model.started", &json!({}));
        let outcome = match result.clone() {
            Ok(completion) => json!({ "completion": completion }),
            Err(ModelError::Denied(why)) => json!({ "denied": why }),
            Err(ModelError::Budget(why)) => json!({ "budget": why }),
            Err(ModelError::TooLarge(why)) => json!({ "too_large": why }),
            Err(ModelError::Rejected(why)) => json!({ "rejected": why }),
            Err(ModelError::Unavailable(why)) => json!({ "unavailable": why }),
        };
        self.write("model.completed", &json!({ "start": start, "outcome": outcome, "ms": 0 }));
    }

    pub(super) fn record_tools(&mut self, uses: &[ToolUse], results: &[ToolResult]) {
        let requested = uses.iter().map(
            |one| json!({ "id": one.id, "name": one.name, "input": one.input, "arguments": canonical(one) }),
        );
        self.write("tools.requested", &json!({ "uses": requested.collect::<Vec<_>>() }));
        for (index, (one, result)) in (0..).zip(uses.iter().zip(results)) {
            let mut start = None;
            if result.outcome != Outcome::Denied && self.tools.contains_key(&one.name) {
                let started = json!({
                    "index": index, "name": one.name, "class": Effect::Once, "definition": "",
                    "arguments": canonical(one),
                });
                start = Some(self.write("tool.started", &started));
            }
            if result.outcome == Outcome::Unknown {
                self.write(
                    "tool.lost",
                    &json!({ "index": index, "start": start.unwrap_or(0), "why": "host" }),
                );
                continue;
            }
            let ToolResult { id: _, outcome, parts, context } = result;
            let completed = json!({
                "index": index, "start": start, "outcome": outcome, "parts": parts, "contexts": context,
            });
            self.write("tool.completed", &completed);
        }
    }
}

/// In place of the digest of a use's arguments: equal for the same fields, in any order and with any blanks.
fn canonical(one: &ToolUse) -> String {
    match one.input.parse::<BTreeMap<String, Value>>() {
        Ok(fields) => json!(fields.into_iter().collect::<Vec<_>>()).to_string(),
        Err(_) => one.input.as_str().to_owned(),
    }
}

/// What a step is told, as the journal keeps it.
fn journaled(input: &Input) -> Value {
    let messages = input.messages.iter().map(journaled_message);
    let unfinished = input.unfinished.as_ref().map(|before| {
        json!({ "turn": 0, "how": before.how, "first_seq": before.first_seq, "last_seq": before.last_seq })
    });
    json!({
        "messages": messages.collect::<Vec<_>>(), "answers": input.answers, "contexts": input.context,
        "unfinished": unfinished,
    })
}

fn journaled_message(message: &Message) -> Value {
    json!({ "n": 0, "sender": message.sender, "at": 0, "parts": message.parts })
}
