//! Whole answers, cut at every byte: what is not whole is no answer.

use super::*;

/// Text of more than one byte a character, reasoning and two tool uses.
fn answer(provider: &str) -> Vec<String> {
    match provider {
        "anthropic" => {
            let start = |index: u64, block: Value| {
                event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
            };
            let delta = |index: u64, delta: Value| {
                event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
            };
            let counts = json!({ "input_tokens": 3, "output_tokens": 1 });
            vec![
                event(json!({ "type": "message_start", "message": { "model": "m-1-0", "usage": counts } })),
                start(0, json!({ "type": "thinking", "thinking": "" })),
                delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
                start(1, json!({ "type": "text", "text": "" })),
                delta(1, json!({ "type": "text_delta", "text": "né €" })),
                start(2, json!({ "type": "tool_use", "id": "a", "name": "read", "input": {} })),
                delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"p\": 1}" })),
                start(3, json!({ "type": "tool_use", "id": "b", "name": "now", "input": {} })),
                event(
                    json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
                ),
                event(json!({ "type": "message_stop" })),
            ]
        }
        _ => {
            let call = |index: u64, id: Option<&str>, name: Option<&str>, arguments: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] });
            let counts = json!({ "prompt_tokens": 3, "completion_tokens": 9 });
            vec![
                chunk(json!({ "reasoning_content": "hm" }), None),
                chunk(json!({ "content": "né €" }), None),
                chunk(call(0, Some("a"), Some("read"), "{\"p\":"), None),
                chunk(call(0, None, None, " 1}"), None),
                chunk(call(1, Some("b"), Some("now"), ""), None),
                chunk(json!({}), Some("tool_calls")),
                format!("data: {}\n\n", json!({ "choices": [], "usage": counts })),
                done(),
            ]
        }
    }
}

#[tokio::test]
async fn no_byte_is_one_at_which_an_answer_can_be_cut_unseen() {
    for provider in ["anthropic", "openai"] {
        let bytes = answer(provider).concat().into_bytes();
        let server = Server::cutting(bytes.clone()).await;
        let bench = Bench::at(provider, &server);
        let mut answers = Vec::new();
        for count in 0..=bytes.len() {
            match bench.ask(&hello()).await.0 {
                Attempt::Again { bill: Bill::Unknown, .. } => {}
                // By so little a stream cannot be told from what is none.
                Attempt::Ended { outcome: ModelOutcome::Rejected(_), bill: Bill::Unknown }
                    if count <= "data: ".len() => {}
                Attempt::Ended { outcome: ModelOutcome::Completion { content, finish, .. }, bill } => {
                    answers.push((content, finish, bill));
                }
                other => panic!("{provider}, cut after {count} of {} bytes: {other:?}", bytes.len()),
            }
        }
        let (content, finish, bill) = answers.last().expect("the whole is an answer");
        let counts = Usage { input_tokens: 3, output_tokens: 9, ..Usage::default() };
        assert_eq!((content.len(), finish, *bill), (4, &ModelFinish::ToolUse, Bill::Tokens(counts)));
        for (other, end, counted) in &answers {
            assert_eq!((other, end), (content, finish), "{provider}");
            assert!(matches!(counted, Bill::Unknown) || counted == bill, "{provider}: {counted:?}");
        }
    }
}

/// A server that does one thing after the other, whenever it is asked.
async fn in_turn(scripts: Vec<Vec<Does>>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    tokio::spawn(async move {
        for script in scripts {
            let Ok((stream, _)) = listener.accept().await else { return };
            serve(stream, kept.clone(), script).await;
        }
    });
    Server { address, asked }
}

/// Pieces that end within a character, an event or an end of a line; and ends of lines in all ways that there are.
#[tokio::test]
async fn an_answer_is_the_same_in_whatever_pieces_it_comes() {
    for provider in ["anthropic", "openai"] {
        let text = answer(provider).concat();
        let mut scripts = Vec::new();
        for end in ["\n", "\r\n", "\r"] {
            let bytes = text.replace('\n', end).into_bytes();
            for size in [bytes.len(), 61, 7, 3, 2, 1] {
                let pieces = bytes.chunks(size).map(|piece| Does::Sends(piece.to_vec()));
                scripts.push(std::iter::once(Does::Says(stream_head())).chain(pieces).collect());
            }
        }
        let count = scripts.len();
        let bench = Bench::at(provider, &in_turn(scripts).await);
        let whole = bench.ask(&hello()).await;
        assert!(
            matches!(&whole.0, Attempt::Ended { outcome: ModelOutcome::Completion { .. }, .. }),
            "{:?}",
            whole.0
        );
        for nth in 1..count {
            assert_eq!(bench.ask(&hello()).await, whole, "{provider}, the answer in pieces number {nth}");
        }
    }
}
