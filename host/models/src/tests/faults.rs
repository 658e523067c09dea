//! What goes wrong on the way, and what is said of it.

use super::*;

const PROVIDERS: [&str; 2] = ["anthropic", "openai"];

/// The first frames of an answer, in each provider's protocol.
fn begun(provider: &str) -> Vec<String> {
    match provider {
        "anthropic" => vec![
            event(
                json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
            ),
            event(
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            ),
            event(
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hel" } }),
            ),
        ],
        _ => vec![chunk(json!({ "content": "Hel" }), None)],
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_is_no_answer() {
    for provider in PROVIDERS {
        let server = Server::streaming(&begun(provider)).await;
        let (attempt, shown) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(again(attempt, "broke off before its end"), Bill::Unknown);
        assert_eq!(shown, [Delta::Text("Hel".into())], "what came was shown");
        // Cut within its frame of transport.
        let text = begun(provider).concat();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunked = format!("{head}{:x}\r\n{text}\r\nff\r\nhalf", text.len());
        let server = Server::start(vec![Does::Says(chunked)]).await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(again(attempt, "broke off"), Bill::Unknown);
    }
}

#[tokio::test]
async fn events_that_are_none_end_the_attempt() {
    for provider in PROVIDERS {
        for broken in ["data: {\"type\": \n\n", "data: <html>\n\n", "data: [1, 2]\n\n"] {
            let mut frames = begun(provider);
            frames.push(broken.into());
            let server = Server::streaming(&frames).await;
            let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
            assert_eq!(again(attempt, "cannot be read"), Bill::Unknown);
        }
    }
}

#[tokio::test]
async fn an_error_in_the_stream_is_told() {
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let server = Server::streaming(&[event(error.clone())]).await;
    let (attempt, _) = Bench::at("anthropic", &server).ask(&hello()).await;
    assert_eq!(again(attempt, "cannot answer now: Overloaded"), Bill::Nothing);
    let mut frames = begun("anthropic");
    frames.push(event(error));
    let server = Server::streaming(&frames).await;
    let (attempt, _) = Bench::at("anthropic", &server).ask(&hello()).await;
    assert_eq!(again(attempt, "Overloaded"), Bill::Unknown);
    let error = json!({ "error": { "message": "The server had an error", "type": "server_error" } });
    let server = Server::streaming(&[format!("data: {error}\n\n")]).await;
    let (attempt, _) = Bench::at("openai", &server).ask(&hello()).await;
    assert_eq!(again(attempt, "The server had an error"), Bill::Nothing);
}

/// A proxy's page, or an answer that is no stream.
#[tokio::test]
async fn what_is_no_stream_is_told() {
    for provider in PROVIDERS {
        for (kind, body) in [("text/html", "<html>\n\n<p>Welcome</p>"), ("application/json", "{\"id\": 1}")] {
            let server = Server::answering("200 OK", &format!("content-type: {kind}\r\n"), body).await;
            let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
            assert_eq!(rejected(attempt, "Check `base_url` and `provider` in [models.m]"), Bill::Unknown);
        }
        let server = Server::answering("200 OK", "", "").await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(again(attempt, "broke off before its end"), Bill::Unknown);
    }
}

#[tokio::test]
async fn silence_comes_to_an_end() {
    let wait = Does::Waits(Duration::from_secs(20));
    for provider in PROVIDERS {
        let server = Server::start(vec![wait.clone()]).await;
        let (attempt, _) = Bench::at(provider, &server).impatient(200).ask(&hello()).await;
        assert_eq!(again(attempt, "has not begun to answer for 0.2 s"), Bill::Unknown);
        let text = stream_head() + &begun(provider).concat();
        let server = Server::start(vec![Does::Says(text), wait.clone()]).await;
        let (attempt, _) = Bench::at(provider, &server).impatient(200).ask(&hello()).await;
        assert_eq!(again(attempt, "has said nothing more for 0.2 s"), Bill::Unknown);
        let server = Server::start(vec![wait.clone()]).await;
        let (attempt, _) = Bench::at(provider, &server).with("timeout = \"200ms\"").ask(&hello()).await;
        assert_eq!(again(attempt, "which is the `timeout` of [models.m]"), Bill::Unknown);
    }
}

/// `N-F6`: an answer that comes steadily is not cut by the idle limit. Comments are a sign of life, though nothing is made
/// of them.
#[tokio::test]
async fn a_provider_that_is_slow_but_alive_is_waited_for() {
    let mut script = vec![Does::Says(stream_head())];
    for _ in 0..8 {
        script.extend([Does::Says(": wait\n\n".into()), Does::Waits(Duration::from_millis(150))]);
    }
    script.push(Does::Says(chunk(json!({ "content": "x" }), Some("stop")) + &done()));
    let server = Server::start(script).await;
    let (content, ..) = completion(Bench::at("openai", &server).impatient(600).ask(&hello()).await.0);
    assert_eq!(content, [text("x")]);
    let patient = Bench::at("openai", &server).with("idle_timeout = \"600ms\"\ntimeout = \"20s\"");
    assert_eq!(completion(patient.ask(&hello()).await.0).0, [text("x")]);
    let impatient = Bench::at("openai", &server).with("idle_timeout = \"50ms\"").ask(&hello()).await.0;
    assert_eq!(again(impatient, "has not begun to answer for 0.05 s"), Bill::Unknown);
}

/// The last event counts, whether a server ends it or not.
#[tokio::test]
async fn a_stream_without_its_last_line_feeds_is_whole() {
    let last = chunk(json!({ "content": "x" }), Some("stop"));
    for end in ["\n\n", "\n", ""] {
        let server = Server::streaming(&[last.replace("\n\n", end)]).await;
        let (content, ..) = completion(Bench::at("openai", &server).ask(&hello()).await.0);
        assert_eq!(content, [text("x")]);
    }
}

#[tokio::test]
async fn statuses_are_told_with_what_the_provider_says() {
    let error = r#"{"error":{"type":"invalid_request_error","message":"messages.0: too odd"}}"#;
    for provider in PROVIDERS {
        let server = Server::answering("400 Bad Request", "", error).await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        assert_eq!(rejected(attempt, "refuses the request (400): messages.0: too odd"), Bill::Nothing);
        let server = Server::answering("429 Too Many Requests", "retry-after: 3\r\n", "{}").await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        let Attempt::Again { after, bill: Bill::Nothing, .. } = attempt else { panic!("{attempt:?}") };
        assert_eq!(after, Some(Duration::from_secs(3)));
        let server = Server::answering("413 Payload Too Large", "", "").await;
        let (attempt, _) = Bench::at(provider, &server).ask(&hello()).await;
        assert!(matches!(attempt, Attempt::Ended { outcome: ModelOutcome::TooLarge(_), .. }), "{attempt:?}");
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_has_counted_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (attempt, _) = Bench::new("openai", &format!("http://{address}/v1")).ask(&hello()).await;
    assert_eq!(again(attempt, "cannot be reached"), Bill::Nothing);
    let nowhere = Bench::new("openai", "https://nowhere.invalid/v1");
    assert_eq!(again(nowhere.ask(&hello()).await.0, "cannot be reached"), Bill::Nothing);
    // One that goes away may have counted what it got.
    let server = Server::start(Vec::new()).await;
    let (attempt, _) = Bench::at("openai", &server).ask(&hello()).await;
    assert_eq!(again(attempt, "gave no answer"), Bill::Unknown);
}
