//! The journal of the host in memory: the entries of turns, steps, model and tool calls.
//!
//! Knows what the real host writes of them, as far as a harness can read it. Does not know hooks,
//! interrupts or crashes: a test that needs those writes the entries with `Fake::entry`.

use serde::Serialize;
use serde_json::json;

use super::World;
use crate::{
    entry::{self, ModelCompleted, ModelOutcome, StepInput, StepStarted, ToolCompleted},
    harness::{Ending, Failure, Input, Message, Next},
    json::JsonText,
    model::{ModelError, ModelResult, Outcome, ToolResult, ToolUse},
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
        for message in journaled(input).messages {
            self.write("user.message", &message);
        }
        for answer in journaled(input).answers {
            self.write("user.answer", &answer);
        }
        if self.steps.is_none() {
            self.write("turn.started", &json!({ "commands": [] }));
        }
        *self.steps.get_or_insert(0) + 1
    }

    pub(super) fn begin_step(&mut self, input: &Input) {
        self.steps = Some(input.step);
        self.write("step.started", &StepStarted { input: journaled(input) });
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
        for message in journaled(&Input { messages: messages.clone(), ..Input::default() }).messages {
            self.write("user.message", &message);
        }
        if !messages.is_empty() {
            self.write("turn.steered", &json!({ "commands": [] }));
        }
        messages
    }

    pub(super) fn failed(&mut self, failure: &Failure) {
        self.write("step.aborted", &json!({ "how": "failed" }));
        let (code, detail) = (failure.code.clone(), failure.detail.clone());
        self.write("turn.failed", &entry::TurnFailed { code, detail });
        self.steps = None;
    }

    pub(super) fn record_model(&mut self, result: &ModelResult) {
        self.write("model.started", &json!({}));
        let outcome = match result.clone() {
            Ok(completion) => ModelOutcome::Completion {
                content: completion.content,
                finish: completion.finish,
                usage: completion.usage,
                context_tokens: completion.context_tokens.map(u64::from),
            },
            Err(ModelError::Denied(why)) => ModelOutcome::Denied(why),
            Err(ModelError::Budget(why)) => ModelOutcome::Budget(why),
            Err(ModelError::TooLarge(why)) => ModelOutcome::TooLarge(why),
            Err(ModelError::Rejected(why)) => ModelOutcome::Rejected(why),
            Err(ModelError::Unavailable(why)) => ModelOutcome::Unavailable(why),
        };
        self.write("model.completed", &ModelCompleted { outcome });
    }

    pub(super) fn record_tools(&mut self, uses: &[ToolUse], results: &[ToolResult]) {
        let requested: Vec<_> = uses.iter().map(|one| entry::Requested { id: one.id.clone() }).collect();
        self.write("tools.requested", &entry::ToolsRequested { uses: requested });
        for (index, (one, result)) in (0..).zip(uses.iter().zip(results)) {
            let was_started = result.outcome != Outcome::Denied && self.tools.contains_key(&one.name);
            if was_started {
                self.write("tool.started", &entry::ToolStarted { index, class: crate::tool::Effect::Once });
            }
            if result.outcome == Outcome::Unknown {
                self.write("tool.lost", &entry::ToolLost { index, why: "host".to_owned() });
                continue;
            }
            let (outcome, parts) = (result.outcome, result.parts.clone());
            let contexts = result.context.clone();
            self.write("tool.completed", &ToolCompleted { index, outcome, parts, contexts });
        }
    }
}

fn journaled(input: &Input) -> StepInput {
    let messages = input.messages.iter().cloned();
    let answers = input.answers.iter().cloned();
    let how = |how: Ending| match how {
        Ending::Interrupted => "interrupted",
        Ending::Failed => "failed",
        Ending::Trapped => "trapped",
        Ending::TimedOut => "timed_out",
        Ending::RolledBack => "rolled_back",
    };
    StepInput {
        messages: messages.map(|one| entry::Message { sender: one.sender, parts: one.parts }).collect(),
        answers: answers
            .map(|one| entry::Answer { question: one.question, sender: one.sender, value: one.value })
            .collect(),
        contexts: input.context.clone(),
        unfinished: input
            .unfinished
            .as_ref()
            .map(|before| entry::Unfinished { how: how(before.how).to_owned() }),
    }
}
