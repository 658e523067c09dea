//! The shapes that all kinds of components share: content, tools, senders.

use crate::{
    bindings::harness_plugin::rewake::plugin::{model as wm, types as wt},
    harness::Sender,
    json::JsonText,
    model::{Content, Message, Outcome, Role, ToolResult, ToolUse},
    part::Part,
    tool::{Effect, ToolDef},
};

pub(super) fn part_in(part: wt::Part) -> Part {
    match part {
        wt::Part::Text(text) => Part::Text { text },
        wt::Part::Json(json) => Part::Json { json },
        wt::Part::Blob(blob) => Part::Blob { media_type: blob.media_type, data: blob.data.into() },
        wt::Part::BlobRef(blob) => {
            Part::BlobRef { media_type: blob.media_type, digest: blob.digest, size: blob.size }
        }
    }
}

pub(super) fn part_out(part: Part) -> wt::Part {
    match part {
        Part::Text { text } => wt::Part::Text(text),
        Part::Json { json } => wt::Part::Json(json),
        Part::Blob { media_type, data } => wt::Part::Blob(wt::Blob { media_type, data: data.0 }),
        Part::BlobRef { media_type, digest, size } => {
            wt::Part::BlobRef(wt::BlobRef { media_type, digest, size })
        }
    }
}

pub(super) fn parts_in(parts: Vec<wt::Part>) -> Vec<Part> {
    parts.into_iter().map(part_in).collect()
}

pub(super) fn parts_out(parts: Vec<Part>) -> Vec<wt::Part> {
    parts.into_iter().map(part_out).collect()
}

pub(super) fn sender_in(sender: wt::Sender) -> Sender {
    match sender {
        wt::Sender::Operator(principal) => Sender::Operator(principal),
        wt::Sender::Agent(session) => Sender::Agent(session),
        wt::Sender::Trigger(name) => Sender::Trigger(name),
        wt::Sender::System => Sender::System,
    }
}

pub(super) fn tool_def_in(def: wt::ToolDef) -> ToolDef {
    ToolDef {
        name: def.name,
        description: def.description,
        input_schema: JsonText::from_text(def.input_schema),
        effect: match def.effect {
            wt::Effect::Pure => Effect::Pure,
            wt::Effect::Idempotent => Effect::Idempotent,
            wt::Effect::Once => Effect::Once,
        },
    }
}

pub(super) fn tool_def_out(def: ToolDef) -> wt::ToolDef {
    wt::ToolDef {
        name: def.name,
        description: def.description,
        input_schema: def.input_schema.into_text(),
        effect: match def.effect {
            Effect::Pure => wt::Effect::Pure,
            Effect::Idempotent => wt::Effect::Idempotent,
            Effect::Once => wt::Effect::Once,
        },
    }
}

pub(super) fn tool_use_in(tool_use: wt::ToolUse) -> ToolUse {
    ToolUse { id: tool_use.id, name: tool_use.name, input: JsonText::from_text(tool_use.input) }
}

pub(super) fn tool_use_out(tool_use: ToolUse) -> wt::ToolUse {
    wt::ToolUse { id: tool_use.id, name: tool_use.name, input: tool_use.input.into_text() }
}

pub(super) fn tool_result_in(result: wt::ToolResult) -> ToolResult {
    ToolResult {
        id: result.id,
        outcome: match result.outcome {
            wt::Outcome::Ok => Outcome::Ok,
            wt::Outcome::Error => Outcome::Error,
            wt::Outcome::Denied => Outcome::Denied,
            wt::Outcome::TimedOut => Outcome::TimedOut,
            wt::Outcome::Unknown => Outcome::Unknown,
        },
        parts: parts_in(result.parts),
        context: result.context,
    }
}

fn tool_result_out(result: ToolResult) -> wt::ToolResult {
    wt::ToolResult {
        id: result.id,
        outcome: match result.outcome {
            Outcome::Ok => wt::Outcome::Ok,
            Outcome::Error => wt::Outcome::Error,
            Outcome::Denied => wt::Outcome::Denied,
            Outcome::TimedOut => wt::Outcome::TimedOut,
            Outcome::Unknown => wt::Outcome::Unknown,
        },
        parts: parts_out(result.parts),
        context: result.context,
    }
}

pub(super) fn content_in(content: wm::Content) -> Content {
    match content {
        wm::Content::Part(part) => Content::Part(part_in(part)),
        wm::Content::Thinking(json) => Content::Thinking(JsonText::from_text(json)),
        wm::Content::ToolUse(tool_use) => Content::ToolUse(tool_use_in(tool_use)),
        wm::Content::ToolResult(result) => Content::ToolResult(tool_result_in(result)),
    }
}

fn content_out(content: Content) -> wm::Content {
    match content {
        Content::Part(part) => wm::Content::Part(part_out(part)),
        Content::Thinking(json) => wm::Content::Thinking(json.into_text()),
        Content::ToolUse(tool_use) => wm::Content::ToolUse(tool_use_out(tool_use)),
        Content::ToolResult(result) => wm::Content::ToolResult(tool_result_out(result)),
    }
}

pub(super) fn message_out(message: Message) -> wm::Message {
    wm::Message {
        role: match message.role {
            Role::User => wm::Role::User,
            Role::Assistant => wm::Role::Assistant,
        },
        content: message.content.into_iter().map(content_out).collect(),
    }
}
