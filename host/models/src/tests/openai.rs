//! OpenAI's protocol, as others speak it too.

use super::*;

fn call(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }] })
}

fn frames() -> Vec<String> {
    let usage = json!({ "prompt_tokens": 120, "completion_tokens": 9, "prompt_tokens_details": { "cached_tokens": 100 } });
    vec![
        chunk(json!({ "role": "assistant", "content": "" }), None),
        chunk(json!({ "content": "I lo" }), None),
        ": keep-alive\n\n".into(),
        chunk(json!({ "content": "ok." }), None),
        chunk(call(0, Some("call_a"), Some("read"), ""), None),
        chunk(call(0, None, None, "{\"path\": "), None),
        chunk(call(1, Some("call_b"), Some("read"), "{\"path\": \"b\"}"), None),
        chunk(call(0, None, None, "\"a\"}"), None),
        chunk(json!({}), Some("tool_calls")),
        format!("data: {}\n\n", json!({ "model": "m-1-0", "choices": [], "usage": usage })),
        done(),
    ]
}

#[tokio::test]
async fn an_answer_is_shown_as_it_comes_and_kept_whole() {
    let server = Server::streaming(&frames()).await;
    let (attempt, shown) = Bench::at("openai", &server).ask(&hello()).await;
    let expected = [
        Delta::Text("I lo".into()),
        Delta::Text("ok.".into()),
        Delta::ToolUse("read".into()),
        Delta::ToolUse("read".into()),
    ];
    assert_eq!(shown, expected);
    let (content, finish, bill) = completion(attempt);
    assert_eq!(
        content,
        [
            text("I look."),
            tool("call_a", "read", "{\"path\": \"a\"}"),
            tool("call_b", "read", "{\"path\": \"b\"}")
        ]
    );
    assert_eq!(finish, ModelFinish::ToolUse);
    let usage = Usage { input_tokens: 20, output_tokens: 9, cache_read_tokens: 100, cache_write_tokens: 0 };
    assert_eq!(bill, Bill::Tokens(usage));
}

#[tokio::test]
async fn a_request_is_what_the_provider_wants() {
    let server = Server::streaming(&frames()).await;
    let bench = Bench::at("openai", &server).with("thinking = \"medium\"");
    let request = Request { max_tokens: Some(77), ..hello() };
    completion(bench.ask(&request).await.0);
    let asked = server.asked().remove(0);
    let head = asked.split("\r\n\r\n").next().unwrap();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.lines().any(|line| line == format!("authorization: Bearer {KEY}")), "{head}");
    let expected = json!({
        "model": "m-1",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 77,
        "reasoning_effort": "medium",
        "messages": [{ "role": "user", "content": "Hello." }],
    });
    assert_eq!(server.body(), expected);
}

/// The library takes the ends of names for something else; a model is asked by its own name.
#[tokio::test]
async fn a_model_keeps_its_name() {
    for name in ["codex-max", "vendor::m-high", "qwen-low"] {
        let server = Server::streaming(&frames()).await;
        let mut bench = Bench::at("openai", &server);
        bench.lines = bench.lines.replace("\"m-1\"", &format!("{name:?}"));
        completion(bench.ask(&hello()).await.0);
        let body = server.body();
        assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!(name), &Value::Null));
    }
}

#[tokio::test]
async fn a_server_of_one_s_own_needs_no_key() {
    let server = Server::streaming(&frames()).await;
    let mut bench = Bench::at("openai", &server);
    bench.lines = bench.lines.replace("key_file = \"key\"\n", "");
    completion(bench.ask(&hello()).await.0);
    assert!(!server.asked()[0].to_lowercase().contains("authorization"));
}

/// Some servers end a stream without its mark, some do not count.
#[tokio::test]
async fn a_stream_is_whole_when_it_has_said_why_it_ends() {
    let frames = [chunk(json!({ "content": "x" }), None), chunk(json!({}), Some("stop"))];
    let server = Server::streaming(&frames).await;
    let (content, finish, bill) = completion(Bench::at("openai", &server).ask(&hello()).await.0);
    assert_eq!((content, finish, bill), (vec![text("x")], ModelFinish::End, Bill::Unknown));
}

#[tokio::test]
async fn reasoning_is_shown_and_kept() {
    let frames = [
        chunk(json!({ "reasoning_content": "hm" }), None),
        chunk(json!({ "content": "x" }), Some("stop")),
        done(),
    ];
    let server = Server::streaming(&frames).await;
    let (attempt, shown) = Bench::at("openai", &server).ask(&hello()).await;
    assert_eq!(shown, [Delta::Thinking("hm".into()), Delta::Text("x".into())]);
    let (content, ..) = completion(attempt);
    let ModelContent::Thinking(thinking) = &content[0] else { panic!("{content:?}") };
    let thinking: Value = serde_json::from_str(thinking).unwrap();
    assert_eq!(thinking["block"]["reasoning_content"], "hm");
    assert_eq!(thinking["origin"], format!("http://{}", server.address));
}
