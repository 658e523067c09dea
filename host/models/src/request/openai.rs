//! A request in OpenAI's words: the body of `POST /v1/chat/completions`, as servers of others take it too.

use rewake_bindings::model::{Request, Role};
use rewake_core::limits::cut;
use serde_json::{Map, Value, json};

use super::{Message, Piece, outcome_words, schema};

/// Bytes of a tool use's id where it is said again for an image.
const ID_BYTES_MAX: usize = 64;

/// Writes messages, with the system text as the first, and tools.
pub(super) fn write(
    request: &Request,
    messages: Vec<Message>,
    body: &mut Map<String, Value>,
) -> Result<(), String> {
    let mut written = Vec::new();
    if let Some(system) = request.system.as_deref().filter(|system| !system.trim().is_empty()) {
        written.push(json!({ "role": "system", "content": system }));
    }
    for message in messages {
        match message.role {
            Role::User => user(message.pieces, &mut written),
            Role::Assistant => written.push(assistant(message.pieces)),
        }
    }
    body.insert("messages".into(), written.into());
    // Without it a stream ends without a count.
    body.insert("stream_options".into(), json!({ "include_usage": true }));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let parameters = schema(tool)?;
            let function =
                json!({ "name": tool.name, "description": tool.description, "parameters": parameters });
            Ok(json!({ "type": "function", "function": function }))
        });
        body.insert("tools".into(), tools.collect::<Result<Vec<Value>, String>>()?.into());
    }
    Ok(())
}

/// Results are messages of their own, and hold text only: their images come after them.
fn user(pieces: Vec<Piece>, written: &mut Vec<Value>) {
    let mut said = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Result { id, outcome, pieces } => {
                let mut texts: Vec<String> =
                    outcome_words(outcome).map(|words| format!("[{words}]")).into_iter().collect();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => texts.push(text),
                        image => {
                            texts.push("[an image, shown below]".into());
                            let title = format!("Image of the tool call {}:", cut(&id, ID_BYTES_MAX));
                            said.push(json!({ "type": "text", "text": title }));
                            said.extend(shown(image));
                        }
                    }
                }
                let content = texts.join("\n");
                written.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            }
            other => said.extend(shown(other)),
        }
    }
    match said.as_slice() {
        [] => {}
        [one] if one["type"] == "text" => {
            written.push(json!({ "role": "user", "content": one["text"] }));
        }
        _ => written.push(json!({ "role": "user", "content": said })),
    }
}

fn shown(piece: Piece) -> Option<Value> {
    match piece {
        Piece::Text(text) => Some(json!({ "type": "text", "text": text })),
        Piece::Image { media_type, base64 } => Some(json!({
            "type": "image_url",
            "image_url": { "url": format!("data:{media_type};base64,{base64}") },
        })),
        Piece::Thinking(_) | Piece::Use { .. } | Piece::Result { .. } => None,
    }
}

fn assistant(pieces: Vec<Piece>) -> Value {
    let (mut texts, mut calls, mut reasoning) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => texts.push(text),
            Piece::Use { id, name, input } => {
                let function = json!({ "name": name, "arguments": input });
                calls.push(json!({ "type": "function", "id": id, "function": function }));
            }
            Piece::Thinking(block) => {
                reasoning.extend(block["reasoning_content"].as_str().map(str::to_owned));
            }
            Piece::Image { .. } | Piece::Result { .. } => {}
        }
    }
    let mut message = json!({ "role": "assistant" });
    message["content"] = if texts.is_empty() { Value::Null } else { texts.join("\n\n").into() };
    if !calls.is_empty() {
        // Servers that give reasoning want it back while tools are called, and refuse it otherwise.
        if !reasoning.is_empty() {
            message["reasoning_content"] = reasoning.concat().into();
        }
        message["tool_calls"] = calls.into();
    }
    message
}
