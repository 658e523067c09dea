//! Answers that come whole, as JSON, though they were asked for as a stream.

use super::*;

/// An answer with reasoning, text and two tool uses, and what comes of it.
fn answer(provider: &str) -> Value {
    match provider {
        "anthropic" => json!({
            "id": "msg", "type": "message", "role": "assistant", "model": "m-1-0",
            "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "a", "name": "read", "input": { "path": "x", "all": true } },
                { "type": "tool_use", "id": "b", "name": "now", "input": {} },
            ],
            "stop_reason": "tool_use",
            "usage": { "input_tokens": 3, "output_tokens": 9 },
        }),
        _ => json!({
            "id": "c", "object": "chat.completion", "model": "m-1-0",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant", "content": "I look.", "reasoning_content": "hm",
                    "tool_calls": [
                        { "id": "a", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"x\",\"all\":true}" } },
                        { "id": "b", "type": "function", "function": { "name": "now", "arguments": "" } },
                    ],
                },
                "finish_reason": "tool_calls",
            }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 9 },
        }),
    }
}

/// `N-F9`: JSON in answer to a request for a stream is the answer.
#[tokio::test]
async fn an_answer_that_is_not_streamed_is_an_answer() {
    for provider in ["anthropic", "openai"] {
        let body = format!("\n {}", answer(provider));
        let server = Server::answering("200 OK", "content-type: application/json\r\n", &body).await;
        let (attempt, shown) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(
            shown,
            [
                Delta::Thinking("hm".into()),
                Delta::Text("I look.".into()),
                Delta::ToolUse("read".into()),
                Delta::ToolUse("now".into()),
            ]
        );
        let (content, finish, bill) = completion(attempt);
        assert_eq!(
            content[1..],
            [text("I look."), tool("a", "read", "{\"path\":\"x\",\"all\":true}"), tool("b", "now", "{}")]
        );
        assert!(matches!(&content[0], ModelContent::Thinking(_)), "{content:?}");
        let usage = Usage { input_tokens: 3, output_tokens: 9, ..Usage::default() };
        assert_eq!((finish, bill), (ModelFinish::ToolUse, Bill::Tokens(usage)));
    }
}

#[tokio::test]
async fn a_whole_answer_that_is_cut_is_no_answer() {
    for provider in ["anthropic", "openai"] {
        let body = answer(provider).to_string();
        for count in [1, 40, body.len() / 2, body.len() - 1] {
            let server = Server::answering("200 OK", "", &body[..count]).await;
            let (attempt, shown) = Bench::at(provider, &server).ask(&hello()).await;
            assert_eq!((again(attempt, "broke off before its end"), shown), (Bill::Unknown, Vec::new()));
        }
    }
}

#[tokio::test]
async fn an_error_that_is_sent_as_an_answer_is_told() {
    for (provider, body) in [
        (
            "anthropic",
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
        ),
        ("openai", json!({ "error": { "type": "server_error", "message": "Overloaded" } })),
    ] {
        let server = Server::answering("200 OK", "", &body.to_string()).await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(again(attempt, "cannot answer now: Overloaded"), Bill::Nothing);
    }
}

/// JSON of another protocol, or of another shape.
#[tokio::test]
async fn a_whole_answer_of_something_else_is_told() {
    for (provider, body) in [
        ("anthropic", answer("openai")),
        ("openai", answer("anthropic")),
        ("anthropic", json!({ "content": "text" })),
        ("openai", json!({ "choices": [1] })),
        ("openai", json!({ "choices": [{ "message": "text" }] })),
        ("openai", json!({ "choices": [] })),
    ] {
        let server = Server::answering("200 OK", "", &body.to_string()).await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(rejected(attempt, "Check `base_url` and `provider` in [models.m]"), Bill::Unknown);
    }
}
