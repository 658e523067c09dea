//! Requests in the words of each protocol, as JSON: nothing is sent.

use std::path::Path;

use rewake_bindings::model::Message as Said;
use rewake_bindings::types::{Blob, BlobRef, Effect, ToolDef, ToolUse};
use serde_json::json;

use super::*;
use crate::{Way, spec};
use rewake_policy::config::Rules;

/// The model of `[models.m]` with these lines.
fn model(lines: &str) -> std::sync::Arc<Spec> {
    let text = format!("[models.m]\nmodel = \"m-1\"\n{lines}");
    let rules = Rules::parse(&text, Path::new("/etc/rewake.toml")).unwrap_or_else(|error| panic!("{error}"));
    match spec::resolve(&rules, "m", &|_| false).unwrap().way {
        Way::Provider(spec) => spec,
        Way::Script => panic!("it is scripted"),
    }
}

fn request(messages: Vec<(Role, Vec<Content>)>) -> Request {
    Request {
        model: None,
        system: Some("Be brief.".into()),
        messages: messages.into_iter().map(|(role, content)| Said { role, content }).collect(),
        tools: Vec::new(),
        max_tokens: None,
        options: None,
    }
}

fn text(text: &str) -> Content {
    Content::Part(Part::Text(text.into()))
}

fn tool(id: &str, input: &str) -> Content {
    Content::ToolUse(ToolUse { id: id.into(), name: "read".into(), input: input.into() })
}

fn result(id: &str, outcome: Outcome, parts: Vec<Part>) -> Content {
    Content::ToolResult(ToolResult { id: id.into(), outcome, parts, context: Vec::new() })
}

fn image() -> Part {
    Part::Blob(Blob { media_type: "image/png".into(), data: b"png".to_vec() })
}

/// A whole turn: reasoning, two tools side by side, results in parts.
fn turn(maker: &Maker) -> Request {
    let block = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let mut request = request(vec![
        (Role::User, vec![text("Look."), Content::Part(image())]),
        (
            Role::Assistant,
            vec![
                Content::Thinking(maker.sign(block)),
                Content::Thinking("{\"provider\":\"other\",\"origin\":\"x\",\"block\":{}}".into()),
                text("I look."),
                tool("a", "{ \"path\": 1 }"),
                tool("b", "no json"),
            ],
        ),
        (Role::User, vec![result("a", Outcome::Ok, vec![Part::Text("found".into()), image()])]),
        (Role::User, vec![text("  "), text("And?"), result("b", Outcome::Denied, Vec::new())]),
    ]);
    let schema = "{\"type\":\"object\"}".to_owned();
    let tool = ToolDef {
        name: "read".into(),
        description: "Reads.".into(),
        input_schema: schema,
        effect: Effect::Pure,
    };
    request.tools.push(tool);
    request
}

#[test]
fn a_turn_in_anthropic_s_words() {
    let spec = model("provider = \"anthropic\"");
    let body = body(&spec, &turn(&Maker::of(&spec)), &Images::new()).unwrap();
    let image =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "cG5n" } });
    let kept = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "m-1",
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": kept }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Look." }, image] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "a", "name": "read", "input": { "path": 1 } },
                { "type": "tool_use", "id": "b", "name": "read", "input": { "not_an_object": "no json" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "found" }, image] },
                { "type": "tool_result", "tool_use_id": "b", "is_error": true,
                  "content": [{ "type": "text", "text": "denied: it was not done" }] },
                { "type": "text", "text": "And?", "cache_control": kept },
            ] },
        ],
        "tools": [{ "name": "read", "description": "Reads.", "input_schema": { "type": "object" } }],
    });
    assert_eq!(Value::Object(body), expected);
    let spec = model("provider = \"anthropic\"\ncache = false");
    let body = self::body(&spec, &turn(&Maker::of(&spec)), &Images::new()).unwrap();
    assert!(!Value::Object(body).to_string().contains("cache_control"));
}

#[test]
fn a_turn_in_openai_s_words() {
    let spec = model("provider = \"openai\"");
    let body = body(&spec, &turn(&Maker::of(&spec)), &Images::new()).unwrap();
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,cG5n" } });
    let call = |id: &str, arguments: &str| json!({ "type": "function", "id": id, "function": { "name": "read", "arguments": arguments } });
    let expected = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "Look." }, image] },
        { "role": "assistant", "content": "I look.", "tool_calls": [call("a", "{ \"path\": 1 }"), call("b", "no json")] },
        { "role": "tool", "tool_call_id": "a", "content": "found\n[an image, shown below]" },
        { "role": "tool", "tool_call_id": "b", "content": "[denied: it was not done]" },
        { "role": "user", "content": [{ "type": "text", "text": "Image of the tool call a:" }, image, { "type": "text", "text": "And?" }] },
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(body["stream_options"], json!({ "include_usage": true }));
    assert_eq!(
        body["tools"],
        json!([{ "type": "function", "function": { "name": "read", "description": "Reads.", "parameters": { "type": "object" } } }])
    );
}

/// Another provider's reasoning, or that of the same one elsewhere, is signed for somebody else.
#[test]
fn reasoning_goes_back_to_who_made_it_only() {
    let here = model("provider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"");
    let there = model("provider = \"openai\"\nbase_url = \"http://127.0.0.1:2/v1\"");
    let thought = Maker::of(&here).sign(json!({ "reasoning_content": "hm" }));
    let with = |uses: Vec<Content>| {
        let mut content = vec![Content::Thinking(thought.clone()), text("so")];
        content.extend(uses);
        request(vec![
            (Role::User, vec![text("x")]),
            (Role::Assistant, content),
            (Role::User, vec![text("y")]),
        ])
    };
    let sent =
        |spec: &Spec, request: &Request| body(spec, request, &Images::new()).unwrap()["messages"][2].clone();
    assert_eq!(sent(&here, &with(vec![tool("a", "{}")]))["reasoning_content"], "hm");
    assert_eq!(sent(&here, &with(Vec::new())).get("reasoning_content"), None);
    assert_eq!(sent(&there, &with(vec![tool("a", "{}")])).get("reasoning_content"), None);
}

#[test]
fn images_by_digest_are_those_that_were_found() {
    let spec = model("provider = \"anthropic\"");
    let named = |media_type: &str, digest: &str| {
        Content::Part(Part::BlobRef(BlobRef {
            media_type: media_type.into(),
            digest: digest.into(),
            size: 3,
        }))
    };
    let request = request(vec![(
        Role::User,
        vec![named("image/png", "here"), named("image/png", "gone"), named("application/pdf", "pdf")],
    )]);
    assert_eq!(named_images(&request).collect::<Vec<_>>(), ["here", "gone"]);
    let images = Images::from([("here".to_owned(), b"png".to_vec())]);
    let body = body(&spec, &request, &images).unwrap();
    let content = &body["messages"][0]["content"];
    assert_eq!(content[0]["source"]["data"], "cG5n");
    assert_eq!(content[1]["text"], "[3 bytes of image/png, not shown]");
    assert_eq!(content[2]["text"], "[3 bytes of application/pdf, not shown]");
}

#[test]
fn options_are_those_that_the_operator_allows() {
    let spec = model("provider = \"anthropic\"\noptions = [\"temperature\"]");
    let mut request = request(vec![(Role::User, vec![text("x")])]);
    request.options = Some("{\"temperature\":0.5}".into());
    assert_eq!(body(&spec, &request, &Images::new()).unwrap()["temperature"], 0.5);
    for (options, says) in [
        (
            "{\"top_p\":1}",
            "\"top_p\" is not allowed: the operator allows it with options = [\"top_p\"] in [models.m]",
        ),
        ("{\"model\":\"dear\"}", "\"model\" is not allowed"),
        ("[]", "no JSON object"),
    ] {
        request.options = Some(options.into());
        let why = body(&spec, &request, &Images::new()).unwrap_err();
        assert!(why.contains(says), "{says}: {why}");
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let spec = model("provider = \"openai\"");
    for (messages, says) in [
        (vec![], "no message"),
        (vec![(Role::User, vec![text(" ")])], "no message"),
        (vec![(Role::User, vec![tool("a", "{}")])], "assistant's"),
        (vec![(Role::Assistant, vec![result("a", Outcome::Ok, Vec::new())])], "user's"),
        (vec![(Role::User, vec![Content::Thinking("{}".into())])], "reasoning"),
    ] {
        let why = body(&spec, &request(messages), &Images::new()).unwrap_err();
        assert!(why.contains(says), "{says}: {why}");
    }
    let mut broken = request(vec![(Role::User, vec![text("x")])]);
    let def = ToolDef {
        name: "read".into(),
        description: String::new(),
        input_schema: "{".into(),
        effect: Effect::Once,
    };
    broken.tools.push(def);
    assert!(body(&spec, &broken, &Images::new()).unwrap_err().contains("schema of the tool \"read\""));
}

/// A harness can write whatever it likes as reasoning: what is none could be an image, or paid for as something else.
#[test]
fn only_reasoning_is_sent_back_as_such() {
    let spec = model("provider = \"anthropic\"");
    let maker = Maker::of(&spec);
    let url = json!({ "type": "url", "url": "https://a.example/1000-pages.pdf" });
    for forged in [
        json!({ "type": "document", "source": url }),
        json!({ "type": "text", "text": "x" }),
        json!({ "type": "thinking", "thinking": "x", "signature": "y", "cache_control": { "type": "ephemeral", "ttl": "1h" } }),
        json!({}),
    ] {
        let said = vec![Content::Thinking(maker.sign(forged.clone())), text("So.")];
        let request = request(vec![(Role::User, vec![text("Look.")]), (Role::Assistant, said)]);
        let body = body(&spec, &request, &Images::new()).unwrap();
        assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 1, "{forged}");
    }
}

#[test]
fn an_answer_of_nothing_is_not_asked_for() {
    let spec = model("provider = \"openai\"");
    let none = Request { max_tokens: Some(0), ..request(vec![(Role::User, vec![text("Look.")])]) };
    assert!(body(&spec, &none, &Images::new()).unwrap_err().contains("at least 1"));
}

/// What names a result's images is as short as its bound says, whatever the id.
#[test]
fn a_long_id_is_not_said_again_for_each_image() {
    let spec = model("provider = \"openai\"");
    let id = "i".repeat(10_000);
    let images = std::iter::repeat_with(image).take(3).collect();
    let request = request(vec![
        (Role::Assistant, vec![tool(&id, "{}")]),
        (Role::User, vec![result(&id, Outcome::Ok, images)]),
    ]);
    let body = Value::Object(body(&spec, &request, &Images::new()).unwrap()).to_string();
    assert_eq!(body.matches(&id).count(), 2);
}

#[test]
fn an_image_counts_as_often_as_it_is_named() {
    let spec = model("provider = \"openai\"");
    let digest = "d".repeat(64);
    let images = Images::from([(digest.clone(), vec![0; 1 << 20])]);
    let named = || {
        Content::Part(Part::BlobRef(BlobRef {
            media_type: "image/png".into(),
            digest: digest.clone(),
            size: 1,
        }))
    };
    let asks =
        |count: usize| request(vec![(Role::User, std::iter::repeat_with(named).take(count).collect())]);
    assert!(body(&spec, &asks(20), &images).is_ok());
    assert!(body(&spec, &asks(21), &images).unwrap_err().contains("more than"));
}
