//! Frames of each protocol, good and bad, read without a server.

use serde_json::json;

use super::*;
use crate::fuzzing::spec;

fn maker(protocol: Protocol) -> Maker {
    Maker::of(&spec(protocol))
}

/// Reads frames, and returns what was shown and all of it.
fn read(protocol: Protocol, frames: &[Value]) -> Result<(Vec<Delta>, Answer), Trouble> {
    let mut reader = reader(protocol);
    let mut shown = Vec::new();
    for frame in frames {
        let data = frame.as_str().map_or_else(|| frame.to_string(), str::to_owned);
        shown.extend(reader.take(&data)?);
    }
    assert!(reader.is_whole(), "it is not whole");
    Ok((shown, reader.answer(&maker(protocol), 7)))
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "id": "c", "model": "m-1-0", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn call(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] })
}

fn text(text: &str) -> ModelContent {
    ModelContent::Part(rewake_wire::Part::text(text))
}

fn tool(id: &str, name: &str, input: &str) -> ModelContent {
    ModelContent::ToolUse { id: id.into(), name: name.into(), input: input.into() }
}

#[test]
fn counts_are_the_provider_s_own() {
    let start =
        |usage: Value| json!({ "type": "message_start", "message": { "model": "m-1-0", "usage": usage } });
    let end = |usage: Value| json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage });
    let stop = json!({ "type": "message_stop" });
    let usage = |first: Value, last: Value| {
        read(Protocol::Anthropic, &[start(first), end(last), stop.clone()]).unwrap().1.usage
    };
    let full = json!({ "input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1 });
    let expected =
        Usage { input_tokens: 3, output_tokens: 9, cache_read_tokens: 100, cache_write_tokens: 20 };
    assert_eq!(usage(full.clone(), json!({ "output_tokens": 9 })), Some(expected));
    assert_eq!(usage(json!({}), json!({ "input_tokens": 3, "output_tokens": 9 })).unwrap().input_tokens, 3);
    // A count that is not there is none: not 0, and not what the first event guesses.
    assert_eq!(usage(full.clone(), json!({})), None);
    assert_eq!(usage(json!({}), json!({ "output_tokens": 9 })), None);
    assert_eq!(usage(full, json!(null)), None);

    let said = chunk(&json!({ "content": "x" }), Some("stop"));
    let counted = |usage: Value| {
        let counts = json!({ "choices": [], "usage": usage });
        read(Protocol::OpenAi, &[said.clone(), counts, "[DONE]".into()]).unwrap().1.usage
    };
    let cached = json!({ "prompt_tokens": 120, "completion_tokens": 9, "prompt_tokens_details": { "cached_tokens": 100 } });
    assert_eq!(
        counted(cached),
        Some(Usage { input_tokens: 20, output_tokens: 9, cache_read_tokens: 100, cache_write_tokens: 0 })
    );
    let absurd = json!({ "prompt_tokens": 1, "completion_tokens": u64::MAX, "prompt_tokens_details": { "cached_tokens": u64::MAX } });
    let absurd = counted(absurd).unwrap();
    assert_eq!((absurd.input_tokens, absurd.cache_read_tokens, absurd.output_tokens), (0, 1, u64::MAX));
    assert_eq!(counted(json!({ "prompt_tokens": -1, "completion_tokens": 2 })), None);
    assert_eq!(counted(json!(null)), None);
}

/// What a model writes as a tool's input is for the tool's call to refuse, not for the turn to break on.
#[test]
fn a_tool_s_input_stays_as_the_model_wrote_it() {
    let (shown, answer) = read(
        Protocol::OpenAi,
        &[
            chunk(&json!({ "role": "assistant", "content": null }), None),
            chunk(&call(0, Some("a"), Some("read"), ""), None),
            chunk(&call(0, None, None, "{\"path\": "), None),
            chunk(&call(1, Some("b"), Some("write"), "{not json"), None),
            chunk(&call(0, None, None, "\"x\" }"), None),
            chunk(&call(2, None, Some("now"), ""), None),
            chunk(&json!({}), Some("tool_calls")),
            "[DONE]".into(),
        ],
    )
    .unwrap();
    assert_eq!(
        answer.content,
        [
            tool("a", "read", "{\"path\": \"x\" }"),
            tool("b", "write", "{not json"),
            tool("call_7_3", "now", "{}")
        ]
    );
    assert_eq!(answer.finish, ModelFinish::ToolUse);
    let names = ["read", "write", "now"].map(|name| Delta::ToolUse(name.into()));
    assert_eq!(shown, names);
    assert_eq!(answer.model.as_deref(), Some("m-1-0"));
}

/// Servers that number all their calls alike, send inputs as objects, or text in pieces.
#[test]
fn accents_are_understood() {
    let object =
        json!({ "tool_calls": [{ "id": "b", "function": { "name": "write", "arguments": { "a": 1 } } }] });
    let (_, answer) = read(
        Protocol::OpenAi,
        &[
            chunk(&json!({ "reasoning": "hm" }), None),
            chunk(&json!({ "content": [{ "type": "text", "text": "so" }] }), None),
            chunk(&call(0, Some("a"), Some("read"), "{}"), None),
            chunk(&object, Some("stop")),
        ],
    )
    .unwrap();
    assert_eq!(answer.content[1..], [text("so"), tool("a", "read", "{}"), tool("b", "write", "{\"a\":1}")]);
    let ModelContent::Thinking(thinking) = &answer.content[0] else { panic!("{answer:?}") };
    assert!(thinking.contains("{\"reasoning_content\":\"hm\"}"), "{thinking}");
    assert_eq!((answer.finish, answer.usage), (ModelFinish::ToolUse, None));
}

/// `N-D1`: some local servers send `null` for a call without arguments.
#[test]
fn no_arguments_are_an_empty_object() {
    for written in ["", " ", "null", " null\n"] {
        let frames = [chunk(&call(0, Some("a"), Some("now"), written), Some("tool_calls"))];
        let (_, answer) = read(Protocol::OpenAi, &frames).unwrap();
        assert_eq!(answer.content, [tool("a", "now", "{}")], "{written:?}");
    }
}

/// `N-D2`: calls with the same index and without ids are separated by their names and by whole inputs.
#[test]
fn calls_without_ids_are_not_joined() {
    let one = |name: Option<&str>, arguments: &str| chunk(&call(0, None, name, arguments), None);
    for (frames, calls) in [
        (
            vec![one(Some("read"), "{\"a\":1}"), one(Some("read"), "{\"a\":2}")],
            vec![("read", "{\"a\":1}"), ("read", "{\"a\":2}")],
        ),
        (
            vec![one(Some("read"), ""), one(None, "{\"a\""), one(None, ":1}"), one(Some("now"), "")],
            vec![("read", "{\"a\":1}"), ("now", "{}")],
        ),
        (vec![one(Some("now"), ""), one(Some("read"), "{}")], vec![("now", "{}"), ("read", "{}")]),
        // One call, whose name comes with each piece.
        (
            vec![
                one(Some("read"), ""),
                one(Some("read"), "{\"a\""),
                one(Some("read"), ":1}"),
                one(Some("read"), ""),
            ],
            vec![("read", "{\"a\":1}")],
        ),
    ] {
        let frames: Vec<Value> = frames.into_iter().chain([chunk(&json!({}), Some("tool_calls"))]).collect();
        let (_, answer) = read(Protocol::OpenAi, &frames).unwrap();
        let expected: Vec<ModelContent> =
            (1..).zip(calls).map(|(n, (name, input))| tool(&format!("call_7_{n}"), name, input)).collect();
        assert_eq!(answer.content, expected);
    }
}

#[test]
fn ends_are_told_apart() {
    use ModelFinish::{End, MaxTokens, Other, Refused, ToolUse};
    for (reason, finish) in [
        ("end_turn", End),
        ("stop_sequence", End),
        ("tool_use", ToolUse),
        ("max_tokens", MaxTokens),
        ("model_context_window_exceeded", MaxTokens),
        ("refusal", Refused),
        ("pause_turn", Other),
    ] {
        let frames = [
            json!({ "type": "message_start", "message": {} }),
            json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
            json!({ "type": "message_stop" }),
        ];
        assert_eq!(read(Protocol::Anthropic, &frames).unwrap().1.finish, finish, "{reason}");
    }
    for (reason, finish) in [
        ("stop", End),
        ("length", MaxTokens),
        ("content_filter", Refused),
        ("tool_calls", ToolUse),
        ("x", Other),
    ] {
        let frames = [chunk(&json!({ "content": "x" }), Some(reason))];
        assert_eq!(read(Protocol::OpenAi, &frames).unwrap().1.finish, finish, "{reason}");
    }
    let refused = [chunk(&json!({ "refusal": "No." }), None), chunk(&json!({}), Some("stop"))];
    let (_, answer) = read(Protocol::OpenAi, &refused).unwrap();
    assert_eq!((answer.finish, answer.content), (Refused, vec![text("No.")]));
}

#[test]
fn frames_that_are_none_are_malformed() {
    let begun = json!({ "type": "message_start", "message": {} });
    let block = |index: u64| json!({ "type": "content_block_start", "index": index, "content_block": { "type": "text", "text": "" } });
    let delta =
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "text_delta", "text": "x" } });
    let nameless = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "a" } });
    for frames in [
        vec!["{\"type\":".into()],
        vec!["[]".into()],
        vec![json!({})],
        vec![json!({ "type": "message_stop" })],
        vec![begun.clone(), block(0), block(0)],
        vec![begun.clone(), delta],
        vec![begun.clone(), nameless],
    ] {
        let trouble = read(Protocol::Anthropic, &frames);
        assert!(matches!(trouble, Err(Trouble::Malformed(_))), "{frames:?}: {trouble:?}");
    }
    for frames in [vec!["{".into()], vec![json!({ "id": 1 })], vec!["[DONE]".into()], vec!["3".into()]] {
        let trouble = read(Protocol::OpenAi, &frames);
        assert!(matches!(trouble, Err(Trouble::Malformed(_))), "{frames:?}: {trouble:?}");
    }
    // A provider's number is no reason to make room for as many calls.
    let far = chunk(&call(u64::MAX, Some("a"), Some("read"), "{}"), Some("tool_calls"));
    assert_eq!(read(Protocol::OpenAi, &[far]).unwrap().1.content, [tool("a", "read", "{}")]);
    let said = read(Protocol::OpenAi, &[json!({ "error": { "message": "no" } })]);
    assert_eq!(said, Err(Trouble::Said(json!({ "message": "no" }))));
}

#[test]
fn an_answer_has_bounds() {
    let piece = "x".repeat(1 << 20);
    let endless: Vec<Value> = (0..9).map(|_| chunk(&json!({ "content": piece }), None)).collect();
    assert!(matches!(read(Protocol::OpenAi, &endless), Err(Trouble::TooMuch { .. })));
    let calls: Vec<Value> =
        (0..=BLOCKS_MAX as u64).map(|at| chunk(&call(at, Some("a"), Some("b"), ""), None)).collect();
    assert!(matches!(read(Protocol::OpenAi, &calls), Err(Trouble::Malformed(why)) if why.contains("calls")));
}

/// What is recorded of an answer fits into an entry, however its text is written there.
#[test]
fn names_and_control_characters_count_as_they_are_recorded() {
    let long = "n".repeat(9 << 20);
    let control = "\u{1}".repeat(2 << 20);
    for delta in [
        call(0, Some("a"), Some(&long), "{}"),
        call(0, Some(&long), Some("a"), "{}"),
        call(0, Some("a"), Some("b"), &control),
        json!({ "content": control }),
        json!({ "reasoning": control }),
    ] {
        let frames = [chunk(&delta, Some("stop"))];
        assert!(matches!(read(Protocol::OpenAi, &frames), Err(Trouble::TooMuch { .. })));
    }
    let delta = |kind: &str, key: &str| json!({ "type": "content_block_delta", "index": 0, "delta": { "type": kind, key: control } });
    let block = |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
    for (block, delta) in [
        (block(json!({ "type": "text", "text": "" })), delta("text_delta", "text")),
        (block(json!({ "type": "thinking", "thinking": "" })), delta("thinking_delta", "thinking")),
        (
            block(json!({ "type": "tool_use", "id": "a", "name": "b" })),
            delta("input_json_delta", "partial_json"),
        ),
    ] {
        let frames = [json!({ "type": "message_start", "message": {} }), block, delta];
        assert!(matches!(read(Protocol::Anthropic, &frames), Err(Trouble::TooMuch { .. })));
    }
}

/// Some servers count with every chunk: what was counted before the end is not the whole.
#[test]
fn a_count_from_before_the_end_is_none() {
    let counted = |text: &str, tokens: u64, finish: Option<&str>| {
        let mut chunk = chunk(&json!({ "content": text }), finish);
        chunk["usage"] = json!({ "prompt_tokens": 5, "completion_tokens": tokens });
        chunk
    };
    let end = chunk(&json!({}), Some("stop"));
    let usage =
        |frames: &[Value]| read(Protocol::OpenAi, frames).unwrap().1.usage.map(|usage| usage.output_tokens);
    assert_eq!(usage(&[counted("a", 1, None), end.clone()]), None);
    assert_eq!(usage(&[counted("a", 1, None), end, "[DONE]".into()]), Some(1));
    assert_eq!(usage(&[counted("a", 1, None), counted("b", 2, Some("stop"))]), Some(2));
    let nothing = json!({ "choices": [], "usage": {} });
    assert_eq!(usage(&[counted("a", 1, None), chunk(&json!({}), Some("stop")), nothing]), None);
}
