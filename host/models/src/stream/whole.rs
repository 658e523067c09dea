//! An answer that came whole, as JSON, though it was asked for as a stream: some servers and proxies do not stream.
//! It is made into the events in which it would have come, so that one reader knows what an answer means.

use serde_json::{Value, json};

use crate::spec::Protocol;

/// The events of a whole answer; `None` if it is none of this protocol.
pub(crate) fn events(protocol: Protocol, answer: Value) -> Option<Vec<Value>> {
    if answer.get("error").is_some_and(|error| !error.is_null()) {
        return Some(vec![answer]);
    }
    match protocol {
        Protocol::Anthropic => anthropic(answer),
        Protocol::OpenAi => openai(answer),
    }
}

fn anthropic(mut answer: Value) -> Option<Vec<Value>> {
    let Value::Array(blocks) = answer.get_mut("content")?.take() else { return None };
    let end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": answer.get("stop_reason") },
        "usage": answer.get("usage"),
    });
    let blocks = blocks.into_iter().enumerate().map(
        |(index, block)| json!({ "type": "content_block_start", "index": index, "content_block": block }),
    );
    let mut events: Vec<Value> = blocks.collect();
    events.insert(0, json!({ "type": "message_start", "message": answer }));
    events.extend([end, json!({ "type": "message_stop" })]);
    Some(events)
}

fn openai(mut answer: Value) -> Option<Vec<Value>> {
    let choice = answer.get_mut("choices")?.get_mut(0)?;
    let mut message = choice.get_mut("message")?.take();
    if !message.is_object() {
        return None;
    }
    // The calls of a whole message have no index: their order is theirs.
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (index, call) in calls.into_iter().flatten().enumerate() {
        if call.is_object() {
            call["index"] = index.into();
        }
    }
    choice["delta"] = message;
    Some(vec![answer])
}
