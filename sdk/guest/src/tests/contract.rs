//! Small promises: JSON text, errors, HTTP without a host.

use serde_json::json;

use crate::{
    http::{self, Request, Response},
    prelude::*,
    testing::with_http,
};

#[test]
fn json_text_is_kept_as_it_was_written() {
    let text = r#"{ "b": 1e400, "a": [1.10] }"#;
    let json = JsonText::from_text(text.to_owned());
    assert_eq!(json.as_str(), text);
    let kept = serde_json::to_string(&json).expect("JSON");
    assert_eq!(serde_json::from_str::<JsonText>(&kept).expect("text"), json);
    assert_eq!(JsonText::default().parse::<serde_json::Value>(), Ok(json!({})));
    assert!(JsonText::from_text("{".to_owned()).parse::<serde_json::Value>().is_err());
}

#[test]
fn a_value_without_a_json_form_is_an_error() {
    let map = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = JsonText::of(&map).expect_err("no JSON form");
    assert!(error.message().contains("no JSON form"));
    assert_eq!(error.context("saving").message().split(':').next(), Some("saving"));
}

#[test]
fn requests_fail_where_there_is_no_host() {
    let answer = http::fetch(&Request::get("https://example.com/"));
    assert!(matches!(answer, Err(http::Error::Failed(why)) if why.contains("with_http")));
}

#[test]
fn a_test_can_answer_requests() {
    let responder = |request: &Request| {
        assert_eq!(request.headers, [("accept".to_owned(), "text/plain".to_owned())]);
        Ok(Response { status: 200, body: request.body.clone(), ..Response::default() })
    };
    let request = Request::post("https://example.com/", "[1]").with_header("accept", "text/plain");
    let response = with_http(responder, || http::fetch(&request)).expect("a response");
    assert_eq!((response.status, response.text().as_str()), (200, "[1]"));
    assert_eq!(response.json::<Vec<u8>>(), Ok(vec![1]));
    assert!(http::fetch(&request).is_err(), "only inside");
}
