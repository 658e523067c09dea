//! A request in Anthropic's words: the body of `POST /v1/messages`.

use rewake_bindings::model::{Request, Role};
use serde_json::{Map, Value, json};

use super::{Message, Piece, outcome_words, schema};
use crate::spec::Spec;

/// Writes system text, messages and tools.
pub(super) fn write(
    spec: &Spec,
    request: &Request,
    messages: Vec<Message>,
    body: &mut Map<String, Value>,
) -> Result<(), String> {
    let messages = messages.into_iter().map(message);
    let mut messages: Vec<Value> = messages.filter(|message| message["content"] != json!([])).collect();
    if let Some(system) = request.system.as_deref().filter(|system| !system.trim().is_empty()) {
        let mut block = json!({ "type": "text", "text": system });
        if spec.cache {
            keep(&mut block);
        }
        body.insert("system".into(), json!([block]));
    }
    if spec.cache {
        keep_through(&mut messages);
    }
    body.insert("messages".into(), messages.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let input_schema = schema(tool)?;
            Ok(json!({ "name": tool.name, "description": tool.description, "input_schema": input_schema }))
        });
        body.insert("tools".into(), tools.collect::<Result<Vec<Value>, String>>()?.into());
    }
    Ok(())
}

fn message(message: Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let pieces = message.pieces.into_iter();
    let sent = pieces.filter(|piece| !matches!(piece, Piece::Thinking(block) if !is_reasoning(block)));
    let content: Vec<Value> = sent.map(block).collect();
    json!({ "role": role, "content": content })
}

/// Whether a block is what it is handed back as: another could be an image or a document, and what is kept for
/// longer is dearer.
fn is_reasoning(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
        && block.get("cache_control").is_none()
}

fn block(piece: Piece) -> Value {
    match piece {
        Piece::Text(text) => json!({ "type": "text", "text": text }),
        Piece::Image { media_type, base64 } => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": media_type, "data": base64 },
        }),
        Piece::Thinking(block) => block,
        Piece::Use { id, name, input } => {
            json!({ "type": "tool_use", "id": id, "name": name, "input": object(&input) })
        }
        Piece::Result { id, outcome, pieces } => {
            let words = outcome_words(outcome);
            let mut content: Vec<Value> = pieces.into_iter().map(block).collect();
            if let Some(words) = words.filter(|_| content.is_empty()) {
                content.push(json!({ "type": "text", "text": words }));
            }
            let mut result = json!({ "type": "tool_result", "tool_use_id": id });
            if !content.is_empty() {
                result["content"] = content.into();
            }
            if words.is_some() {
                result["is_error"] = true.into();
            }
            result
        }
    }
}

/// The input of a tool use; what is none of an object has to be put into one.
fn object(input: &str) -> Value {
    match serde_json::from_str(input) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({ "not_an_object": input }),
    }
}

/// Asks for everything up to a block to be kept for the next request.
fn keep(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

/// Marks the last block of all that can be marked: reasoning cannot.
fn keep_through(messages: &mut [Value]) {
    let blocks = messages.last_mut().and_then(|last| last["content"].as_array_mut());
    let can_be = |block: &Value| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    if let Some(block) = blocks.and_then(|blocks| blocks.iter_mut().rev().find(|block| can_be(block))) {
        keep(block);
    }
}
