//! Anthropic's protocol.

use super::*;

fn block(index: u64, block: Value) -> String {
    event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
}

fn delta(index: u64, delta: Value) -> String {
    event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
}

fn stop(index: u64) -> String {
    event(json!({ "type": "content_block_stop", "index": index }))
}

/// Reasoning, text, two tools, reasoning again between them, and something that a later version adds.
fn frames() -> Vec<String> {
    let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1 });
    let input = |text: &str| json!({ "type": "input_json_delta", "partial_json": text });
    vec![
        event(
            json!({ "type": "message_start", "message": { "id": "msg", "model": "m-1-0", "usage": usage } }),
        ),
        event(json!({ "type": "ping" })),
        block(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Let me " })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "see.\n" })),
        delta(0, json!({ "type": "signature_delta", "signature": "RXF+/" })),
        delta(0, json!({ "type": "signature_delta", "signature": "Zz==" })),
        stop(0),
        ": a comment\n\n".into(),
        block(1, json!({ "type": "redacted_thinking", "data": "b64/+==" })),
        stop(1),
        block(2, json!({ "type": "text", "text": "" })),
        delta(2, json!({ "type": "text_delta", "text": "I look \u{e9}" })),
        delta(2, json!({ "type": "text_delta", "text": "t." })),
        stop(2),
        block(3, json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
        delta(3, input("")),
        delta(3, input("{\"path\": \"a")),
        delta(3, input(".txt\" }")),
        stop(3),
        block(4, json!({ "type": "thinking", "thinking": "Then", "signature": "QQ==" })),
        stop(4),
        block(5, json!({ "type": "tool_use", "id": "toolu_2", "name": "now", "input": {} })),
        stop(5),
        block(6, json!({ "type": "of_tomorrow", "x": 1 })),
        delta(6, json!({ "type": "of_tomorrow_delta", "y": 2 })),
        stop(6),
        event(
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 42 } }),
        ),
        event(json!({ "type": "message_stop" })),
    ]
}

#[tokio::test]
async fn an_answer_is_shown_as_it_comes_and_kept_whole() {
    let server = Server::streaming(&frames()).await;
    let (attempt, shown) = Bench::at("anthropic", &server).ask(&hello()).await;
    let show = |text: &str| Delta::Text(text.into());
    let think = |text: &str| Delta::Thinking(text.into());
    assert_eq!(
        shown,
        [
            think("Let me "),
            think("see.\n"),
            show("I look \u{e9}"),
            show("t."),
            Delta::ToolUse("read".into()),
            think("Then"),
            Delta::ToolUse("now".into()),
        ]
    );
    let usage = Usage { input_tokens: 3, output_tokens: 42, cache_read_tokens: 100, cache_write_tokens: 20 };
    let Attempt::Ended { outcome, bill } = &attempt else { panic!("{attempt:?}") };
    assert_eq!(*bill, Bill::Tokens(usage));
    let ModelOutcome::Completion { model, usage: counted, context_tokens, .. } = outcome else { panic!() };
    assert_eq!((model.as_str(), *counted, *context_tokens), ("m-1-0", usage, Some(1000)));
    let (content, finish, _) = completion(attempt);
    assert_eq!(finish, ModelFinish::ToolUse);
    assert_eq!(content.len(), 6, "{content:?}");
    assert_eq!(content[2], text("I look \u{e9}t."));
    assert_eq!(content[3], tool("toolu_1", "read", "{\"path\": \"a.txt\" }"));
    assert_eq!(content[5], tool("toolu_2", "now", "{}"));
}

#[tokio::test]
async fn a_request_is_what_the_provider_wants() {
    let server = Server::streaming(&frames()).await;
    let bench = Bench::at("anthropic", &server).with("max_tokens = 5000\noptions = [\"top_k\"]");
    let mut request = hello();
    request.system = Some("Be brief.".into());
    request.options = Some("{\"top_k\":5}".into());
    completion(bench.ask(&request).await.0);
    let asked = server.asked().remove(0);
    let head = asked.split("\r\n\r\n").next().unwrap().to_lowercase();
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    for line in [
        format!("x-api-key: {KEY}"),
        "anthropic-version: 2023-06-01".into(),
        "content-type: application/json".into(),
        "accept-encoding: identity".into(),
    ] {
        assert!(head.lines().any(|other| other == line), "{line}: {head}");
    }
    let body = server.body();
    let kept = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "m-1",
        "stream": true,
        "max_tokens": 5000,
        "top_k": 5,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": kept }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Hello.", "cache_control": kept }] }],
    });
    assert_eq!(body, expected);
}

/// What the provider signed comes back to it as it was, in the order in which it came.
#[tokio::test]
async fn reasoning_goes_round_byte_for_byte() {
    let server = Server::streaming(&frames()).await;
    let (content, ..) = completion(Bench::at("anthropic", &server).ask(&hello()).await.0);
    let said = content.into_iter().map(|content| match content {
        ModelContent::Part(part) => Content::Part(rewake_sandbox::convert::part_out(&part)),
        ModelContent::Thinking(json) => Content::Thinking(json),
        ModelContent::ToolUse { id, name, input } => {
            Content::ToolUse(rewake_bindings::types::ToolUse { id, name, input })
        }
    });
    let next = asking(vec![(Role::Assistant, said.collect())]);
    server.asked.lock().unwrap().clear();
    completion(Bench::at("anthropic", &server).ask(&next).await.0);
    let kept = json!({ "type": "ephemeral" });
    assert_eq!(
        server.body()["messages"][0]["content"],
        json!([
            { "type": "thinking", "thinking": "Let me see.\n", "signature": "RXF+/Zz==" },
            { "type": "redacted_thinking", "data": "b64/+==" },
            { "type": "text", "text": "I look \u{e9}t." },
            { "type": "tool_use", "id": "toolu_1", "name": "read", "input": { "path": "a.txt" } },
            { "type": "thinking", "thinking": "Then", "signature": "QQ==" },
            { "type": "tool_use", "id": "toolu_2", "name": "now", "input": {}, "cache_control": kept },
        ])
    );
}

/// Models from before are given a budget within the answer's bound; what does not fit is less.
#[tokio::test]
async fn how_much_to_think_fits_into_the_answer() {
    for (lines, thinking) in [
        ("thinking = \"high\"", json!({ "type": "enabled", "budget_tokens": 24_000 })),
        ("thinking = \"high\"\nmax_tokens = 20000", json!({ "type": "enabled", "budget_tokens": 8_000 })),
        ("thinking = \"low\"\nmax_tokens = 1000", Value::Null),
        ("thinking = \"off\"", Value::Null),
        ("", Value::Null),
    ] {
        let server = Server::streaming(&frames()).await;
        completion(Bench::at("anthropic", &server).with(lines).ask(&hello()).await.0);
        assert_eq!(server.body()["thinking"], thinking, "{lines}");
    }
}

#[tokio::test]
async fn what_the_provider_did_not_count_is_not_nothing() {
    let mut frames = frames();
    let count = frames.len();
    frames[count - 2] = event(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
    let server = Server::streaming(&frames).await;
    let (_, finish, bill) = completion(Bench::at("anthropic", &server).ask(&hello()).await.0);
    assert_eq!((finish, bill), (ModelFinish::End, Bill::Unknown));
}
