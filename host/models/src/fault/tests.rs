//! What providers say of what went wrong, and what is made of it: no server is asked.

use std::time::Duration;

use http::HeaderMap;

use super::*;
use crate::spec::Protocol;

fn spec() -> Spec {
    crate::fuzzing::spec(Protocol::Anthropic)
}

fn status(status: u16, body: &str) -> Attempt {
    let mut scrubber = Scrubber::default();
    scrubber.learn("sk-canary-123");
    Faults { spec: &spec(), scrubber: &scrubber }.status(status, &HeaderMap::new(), body)
}

#[track_caller]
fn ended(attempt: &Attempt) -> (&ModelOutcome, Bill) {
    match attempt {
        Attempt::Ended { outcome, bill } => (outcome, *bill),
        Attempt::Again { .. } => panic!("it is repeated: {attempt:?}"),
    }
}

/// Statuses and bodies as providers send them; what is said of each names what to do.
#[test]
fn what_another_attempt_cannot_help_ends_the_call() {
    let anthropic = |kind: &str, message: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    };
    let openai = |code: &str, message: &str| {
        format!(
            r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":null,"code":"{code}"}}}}"#
        )
    };
    for (code, body, says) in [
        (
            401,
            anthropic("authentication_error", "invalid x-api-key"),
            "`SOME_KEY` (401): invalid x-api-key. Put a key",
        ),
        (403, anthropic("permission_error", "no access"), "does not accept the key"),
        (401, openai("invalid_api_key", "Incorrect API key provided: sk-canary-123."), "[secret]. Put a key"),
        (
            404,
            anthropic("not_found_error", "model: m-1"),
            "has no model m-1 (404): model: m-1. Correct `model`",
        ),
        (400, openai("model_not_found", "does not exist"), "has no model m-1"),
        (
            404,
            "404 page not found".into(),
            "has no model m-1 (404): 404 page not found. Correct `model`, or `base_url`",
        ),
        (404, "<html>x</html>".into(), "answers with a page"),
        (429, openai("insufficient_quota", "You exceeded your current quota"), "nothing left to pay with"),
        (402, "{}".into(), "nothing left to pay with"),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), "Add credit"),
        (
            400,
            anthropic("invalid_request_error", "messages.0: bad"),
            "refuses the request (400): messages.0: bad",
        ),
        (422, r#"{"detail":"no field"}"#.into(), "refuses the request (422): no field"),
        (400, r#"{"error":"does not support tools"}"#.into(), "does not support tools"),
        (400, "x".repeat(5_000), "refuses the request"),
        (400, "\u{1b}[31mred".into(), "[31mred"),
    ] {
        let attempt = status(code, &body);
        let (outcome, bill) = ended(&attempt);
        let ModelOutcome::Rejected(why) = outcome else { panic!("{outcome:?}") };
        assert!(why.contains(says), "{says}: {why}");
        assert!(!why.contains("canary") && why.len() < 1_500 && !why.contains('\u{1b}'), "{why}");
        assert_eq!(bill, Bill::Nothing);
    }
}

#[test]
fn what_is_too_large_is_told_apart() {
    for (code, body) in [
        (413, String::new()),
        (400, r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#.to_owned()),
        (400, r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens."}}"#.to_owned()),
        (400, r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"exceeds the available context size"}}"#.to_owned()),
        (429, r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large for m-1 on tokens per min"}}"#.to_owned()),
    ] {
        let attempt = status(code, &body);
        assert!(
            matches!(ended(&attempt), (ModelOutcome::TooLarge(why), Bill::Nothing) if why.contains("larger than m-1 takes")),
            "{body}: {attempt:?}"
        );
    }
}

#[test]
fn what_may_pass_is_asked_again() {
    for (code, body, says, bill) in [
        (
            429,
            r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#,
            "takes no more requests for now (429): slow down",
            Bill::Nothing,
        ),
        (
            529,
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "cannot answer now (529): Overloaded",
            Bill::Nothing,
        ),
        (503, "", "cannot answer now (503)", Bill::Nothing),
        (
            500,
            r#"{"error":{"type":"api_error","message":"Internal server error"}}"#,
            "cannot answer now (500)",
            Bill::Unknown,
        ),
        (502, "<html><body>Bad Gateway", "answers with a page", Bill::Unknown),
        (504, "upstream", "(504): upstream", Bill::Unknown),
        (408, "", "(408)", Bill::Unknown),
    ] {
        let Attempt::Again { why, after: None, bill: found } = status(code, body) else {
            panic!("{code} ends it")
        };
        assert!(why.contains(says), "{says}: {why}");
        assert_eq!(found, bill, "{code}");
    }
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", "12".parse().unwrap());
    let scrubber = Scrubber::default();
    let attempt = Faults { spec: &spec(), scrubber: &scrubber }.status(429, &headers, "");
    assert!(
        matches!(attempt, Attempt::Again { after: Some(after), .. } if after == Duration::from_secs(12)),
        "{attempt:?}"
    );
}

#[test]
fn what_a_stream_says_is_classified_alike() {
    let scrubber = Scrubber::default();
    let spec = spec();
    let faults = Faults { spec: &spec, scrubber: &scrubber };
    let said = |kind: &str| Trouble::Said(serde_json::json!({ "type": kind, "message": "so" }));
    for (kind, has_begun, bill) in [
        ("overloaded_error", false, Bill::Nothing),
        ("overloaded_error", true, Bill::Unknown),
        ("api_error", true, Bill::Unknown),
    ] {
        let attempt = faults.trouble(said(kind), has_begun);
        assert!(
            matches!(&attempt, Attempt::Again { bill: found, .. } if *found == bill),
            "{kind}: {attempt:?}"
        );
    }
    let attempt = faults.trouble(said("invalid_request_error"), true);
    assert!(matches!(ended(&attempt), (ModelOutcome::Rejected(_), Bill::Unknown)), "{attempt:?}");
    let attempt = faults.trouble(Trouble::TooMuch { bytes_max: 7 }, true);
    assert!(matches!(ended(&attempt), (ModelOutcome::Rejected(_), Bill::Unknown)), "{attempt:?}");
    let text = faults.trouble(Trouble::Said("it broke".into()), true);
    assert!(matches!(ended(&text), (ModelOutcome::Rejected(why), _) if why.contains("it broke")), "{text:?}");
}

#[test]
fn a_redirect_is_not_followed_and_shows_no_more_than_an_origin() {
    let mut headers = HeaderMap::new();
    headers.insert(LOCATION, "https://other.example/a?key=1".parse().unwrap());
    let scrubber = Scrubber::default();
    let attempt = Faults { spec: &spec(), scrubber: &scrubber }.status(307, &headers, "");
    let (ModelOutcome::Rejected(why), Bill::Nothing) = ended(&attempt) else { panic!("{attempt:?}") };
    assert!(why.contains("(307 to https://other.example)") && !why.contains("key=1"), "{why}");
    assert!(why.contains("[models.fast]"), "{why}");
}

/// What a provider says is cut only when the key is out of it.
#[test]
fn no_part_of_a_key_is_told() {
    for before in SAID_BYTES_MAX - 12..SAID_BYTES_MAX {
        for body in [
            format!("{}sk-canary-123", "x".repeat(before)),
            serde_json::json!({ "error": { "message": format!("{} sk-canary-123", "x".repeat(before - 1)) } }).to_string(),
        ] {
            let attempt = status(400, &body);
            let (ModelOutcome::Rejected(why), _) = ended(&attempt) else { panic!("{attempt:?}") };
            assert!(!why.contains("xs") && !why.contains("x s"), "{before}: {why}");
        }
    }
    let parted = serde_json::json!({ "error": { "message": "the key is sk-can\nary-123" } });
    let attempt = status(400, &parted.to_string());
    assert!(
        matches!(ended(&attempt), (ModelOutcome::Rejected(why), _) if why.contains("the key is [secret]")),
        "{attempt:?}"
    );
}

#[test]
fn a_redirect_does_not_lead_to_a_host_with_the_key_in_its_name() {
    let mut headers = HeaderMap::new();
    headers.insert(LOCATION, "https://sk-canary-ABC.example/".parse().unwrap());
    let mut scrubber = Scrubber::default();
    scrubber.learn("sk-canary-ABC");
    let attempt = Faults { spec: &spec(), scrubber: &scrubber }.status(307, &headers, "");
    let (ModelOutcome::Rejected(why), _) = ended(&attempt) else { panic!("{attempt:?}") };
    assert!(why.contains("elsewhere (307)"), "{why}");
}
