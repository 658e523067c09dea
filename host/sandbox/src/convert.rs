//! Between the contract's types, which guests see, and the journal's. Shapes only; decides nothing.

use rewake_bindings::{harness, model, types};
use rewake_core::fact::{
    self, Ending, ModelContent, ModelFinish, ModelOutcome, Next, Question, Scope, StepInput,
};
use rewake_core::ids::{Digest, Timestamp, turn_name};
use rewake_wire::{Base64, Outcome, Part, Sender, Usage};

use rewake_bundle::ListedTool;

/// A guest's part, as entries hold it.
pub fn part_in(part: types::Part) -> Part {
    match part {
        types::Part::Text(text) => Part::Text { text },
        types::Part::Json(json) => Part::Json { json },
        types::Part::Blob(blob) => Part::Blob { media_type: blob.media_type, data: Base64(blob.data) },
        types::Part::BlobRef(blob) => {
            Part::BlobRef { media_type: blob.media_type, digest: blob.digest, size: blob.size }
        }
    }
}

/// A part, as guests get it.
pub fn part_out(part: &Part) -> types::Part {
    match part.clone() {
        Part::Text { text } => types::Part::Text(text),
        Part::Json { json } => types::Part::Json(json),
        Part::Blob { media_type, data } => types::Part::Blob(types::Blob { media_type, data: data.0 }),
        Part::BlobRef { media_type, digest, size } => {
            types::Part::BlobRef(types::BlobRef { media_type, digest, size })
        }
    }
}

/// A guest's parts, as entries hold them.
pub fn parts_in(parts: Vec<types::Part>) -> Vec<Part> {
    parts.into_iter().map(part_in).collect()
}

/// Parts, as guests get them.
pub fn parts_out(parts: &[Part]) -> Vec<types::Part> {
    parts.iter().map(part_out).collect()
}

fn sender_out(sender: &Sender) -> types::Sender {
    match sender {
        Sender::Operator(id) => types::Sender::Operator(id.clone()),
        Sender::Agent(id) => types::Sender::Agent(id.clone()),
        Sender::Trigger(id) => types::Sender::Trigger(id.clone()),
        Sender::System => types::Sender::System,
    }
}

/// A call's outcome, as guests get it.
pub fn outcome_out(outcome: Outcome) -> types::Outcome {
    match outcome {
        Outcome::Ok => types::Outcome::Ok,
        Outcome::Error => types::Outcome::Error,
        Outcome::Denied => types::Outcome::Denied,
        Outcome::TimedOut => types::Outcome::TimedOut,
        Outcome::Unknown => types::Outcome::Unknown,
    }
}

/// What a step is told, as the contract says it.
pub fn input_out(step: u32, input: &StepInput) -> harness::Input {
    let messages = input.messages.iter().map(|message| harness::Message {
        id: format!("cmd_{}", message.n),
        sender: sender_out(&message.sender),
        at: message.at.to_string(),
        parts: parts_out(&message.parts),
        origin: None,
    });
    let answers = input.answers.iter().map(|answer| harness::Answer {
        question: answer.question.clone(),
        sender: sender_out(&answer.sender),
        value: answer.value.clone(),
    });
    harness::Input {
        step,
        messages: messages.collect(),
        answers: answers.collect(),
        context: input.contexts.clone(),
        unfinished: input.unfinished.as_ref().map(|unfinished| harness::Unfinished {
            turn: turn_name(unfinished.turn),
            how: match unfinished.how {
                Ending::Interrupted => harness::Ending::Interrupted,
                Ending::Failed => harness::Ending::Failed,
                Ending::Trapped => harness::Ending::Trapped,
                Ending::TimedOut => harness::Ending::TimedOut,
                Ending::RolledBack => harness::Ending::RolledBack,
            },
            first_seq: seq_out(unfinished.first_seq),
            last_seq: seq_out(unfinished.last_seq),
        }),
    }
}

/// What a harness wants next.
///
/// # Errors
/// What is wrong with it, for its author.
pub fn next_in(next: harness::Next) -> Result<Next, String> {
    match next {
        harness::Next::More => Ok(Next::More),
        harness::Next::Done => Ok(Next::Done),
        harness::Next::Ask(questions) => Ok(Next::Ask(
            questions
                .into_iter()
                .map(|question| Question {
                    id: question.id,
                    text: question.text,
                    choices: question.choices,
                    schema: question.answer_schema,
                })
                .collect(),
        )),
        harness::Next::Wait(pause) => {
            let until = match &pause.until {
                None => None,
                Some(text) => Some(Timestamp::parse(text).ok_or_else(|| {
                    format!("the harness wants to wait until {text:?}, which is no RFC 3339 time")
                })?),
            };
            Ok(Next::Wait { until, on_message: pause.on_message })
        }
    }
}

/// What a failure of a harness ends: its turn, or its session.
pub fn scope_in(scope: harness::Scope) -> Scope {
    match scope {
        harness::Scope::Turn => Scope::Turn,
        harness::Scope::Session => Scope::Session,
    }
}

/// The digest of a whole model request.
pub fn request_digest(request: &model::Request) -> Digest {
    Digest::of(&serde_json::to_vec(request).expect("a request holds text, bytes and numbers"))
}

/// What came of asking a model, as the harness is told it.
pub fn model_out(outcome: &ModelOutcome) -> Result<model::Completion, model::Error> {
    match outcome.clone() {
        ModelOutcome::Completion { model, content, finish, usage, context_tokens } => Ok(model::Completion {
            model,
            content: content.into_iter().map(content_out).collect(),
            finish: match finish {
                ModelFinish::End => model::Finish::End,
                ModelFinish::ToolUse => model::Finish::ToolUse,
                ModelFinish::MaxTokens => model::Finish::MaxTokens,
                ModelFinish::Refused => model::Finish::Refused,
                ModelFinish::Other => model::Finish::Other,
            },
            usage: usage_out(usage),
            context_tokens: context_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
        }),
        ModelOutcome::Denied(text) => Err(model::Error::Denied(text)),
        ModelOutcome::Budget(text) => Err(model::Error::Budget(text)),
        ModelOutcome::TooLarge(text) => Err(model::Error::TooLarge(text)),
        ModelOutcome::Rejected(text) => Err(model::Error::Rejected(text)),
        ModelOutcome::Unavailable(text) => Err(model::Error::Unavailable(text)),
    }
}

fn content_out(content: ModelContent) -> model::Content {
    match content {
        ModelContent::Part(part) => model::Content::Part(part_out(&part)),
        ModelContent::Thinking(json) => model::Content::Thinking(json),
        ModelContent::ToolUse { id, name, input } => {
            model::Content::ToolUse(types::ToolUse { id, name, input })
        }
    }
}

fn usage_out(usage: Usage) -> model::Usage {
    let count = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
    model::Usage {
        input_tokens: count(usage.input_tokens),
        output_tokens: count(usage.output_tokens),
        cache_read_tokens: count(usage.cache_read_tokens),
        cache_write_tokens: count(usage.cache_write_tokens),
    }
}

/// A seq as guests see it: the contract has no 64-bit integers, and no session is that long.
pub fn seq_out(seq: u64) -> u32 {
    u32::try_from(seq).unwrap_or(u32::MAX)
}

/// An effect class as guests see it.
pub fn effect_out(effect: fact::Class) -> types::Effect {
    match effect {
        fact::Class::Pure => types::Effect::Pure,
        fact::Class::Idempotent => types::Effect::Idempotent,
        fact::Class::Once => types::Effect::Once,
    }
}

/// A tool as its component lists it.
pub fn listed(def: types::ToolDef) -> ListedTool {
    ListedTool {
        name: def.name,
        description: def.description,
        effect: effect_in(def.effect),
        input_schema: def.input_schema,
    }
}

/// An effect class as an author declares it.
pub fn effect_in(effect: types::Effect) -> fact::Class {
    match effect {
        types::Effect::Pure => fact::Class::Pure,
        types::Effect::Idempotent => fact::Class::Idempotent,
        types::Effect::Once => fact::Class::Once,
    }
}
