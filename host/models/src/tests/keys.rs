//! Keys: where they go, and that nothing shows them. What is shown is looked through in `Bench::ask` as well.

use super::*;

/// A provider that says what it was told says it to nobody.
#[tokio::test]
async fn a_key_that_comes_back_is_taken_out() {
    let halves = KEY.split_at(6);
    let frames = [
        chunk(json!({ "reasoning_content": format!("the key is {KEY}") }), None),
        chunk(json!({ "content": format!("It is {}", halves.0) }), None),
        chunk(json!({ "content": format!("{}, I think.", halves.1) }), None),
        chunk(
            json!({ "tool_calls": [{ "index": 0, "id": KEY, "function": { "name": "send", "arguments": format!("{{\"to\": \"{KEY}\"}}") } }] }),
            None,
        ),
        chunk(json!({}), Some("tool_calls")),
        done(),
    ];
    let server = Server::streaming(&frames).await;
    let (attempt, shown) = Bench::at("openai", &server).ask(&hello()).await;
    assert!(shown.contains(&Delta::Thinking("the key is [secret]".into())), "{shown:?}");
    let said: String =
        shown.iter().map(|delta| if let Delta::Text(text) = delta { text.as_str() } else { "" }).collect();
    assert_eq!(said, "It is [secret], I think.");
    let (content, ..) = completion(attempt);
    assert_eq!(content[1], text("It is [secret], I think."));
    assert_eq!(content[2], tool("[secret]", "send", "{\"to\": \"[secret]\"}"));
    for body in [format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}"), KEY.into(), format!("<{KEY}>")] {
        let server = Server::answering("401 Unauthorized", "", &body).await;
        let (attempt, _) = Bench::at("openai", &server).ask(&hello()).await;
        rejected(attempt, "does not accept the key in the file");
    }
}

#[tokio::test]
async fn a_key_is_for_one_address() {
    let other = Server::streaming(&[chunk(json!({ "content": "x" }), Some("stop")), done()]).await;
    for status in
        ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let location = format!("location: http://{}/v1/chat/completions\r\n", other.address);
        let server = Server::answering(status, &location, "").await;
        let (attempt, _) = Bench::at("openai", &server).ask(&hello()).await;
        let says = format!("to http://{}), which is not followed", other.address);
        assert_eq!(rejected(attempt, &says), Bill::Nothing);
    }
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_key_does_not_leave_in_clear_text() {
    for base_url in ["http://10.0.0.7:8080/v1", "http://api.example.com/v1"] {
        let (attempt, _) = Bench::new("openai", base_url).ask(&hello()).await;
        assert_eq!(rejected(attempt, "in clear text"), Bill::Nothing);
    }
}

#[tokio::test]
async fn what_is_no_key_is_not_sent() {
    let server = Server::streaming(&[]).await;
    for (key, says) in [
        ("", "is empty"),
        ("abc", "too short to be kept apart"),
        ("two words", "something else than a key"),
        ("a\r\nx-evil: 1", "something else than a key"),
    ] {
        let bench = Bench::at("openai", &server);
        std::fs::write(bench.folder.path().join("key"), key).unwrap();
        assert_eq!(rejected(bench.ask(&hello()).await.0, says), Bill::Nothing);
    }
    let bench = Bench::at("openai", &server);
    std::fs::remove_file(bench.folder.path().join("key")).unwrap();
    assert_eq!(rejected(bench.ask(&hello()).await.0, "which cannot be read"), Bill::Nothing);
    assert!(server.asked().is_empty());
}

/// The environment of a process is read once, so this test runs itself in one that names a proxy.
#[tokio::test]
async fn a_proxy_of_the_environment_is_not_asked() {
    const INSIDE: &str = "REWAKE_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        let server = Server::streaming(&[chunk(json!({ "content": "x" }), Some("stop")), done()]).await;
        completion(Bench::at("openai", &server).ask(&hello()).await.0);
        assert_eq!(server.asked().len(), 1);
        return;
    }
    let proxy = Server::answering("502 Bad Gateway", "", "").await;
    let mut inside = tokio::process::Command::new(std::env::current_exe().unwrap());
    inside.args(["--exact", "tests::keys::a_proxy_of_the_environment_is_not_asked"]).env(INSIDE, "1");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        inside.env(name, format!("http://{}", proxy.address));
        inside.env(name.to_lowercase(), format!("http://{}", proxy.address));
    }
    let output = inside.output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(proxy.asked().is_empty());
}
