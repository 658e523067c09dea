//! What the model is told of calls, hooks and turns that did not end well.

use rewake_sdk::{
    model::Content,
    part::text_of,
    prelude::*,
    testing::{self, Fake},
};
use serde_json::{Value, json};

use super::{Writes as _, check_request, told};
use crate::Assistant;

/// A first turn whose answer wants these tools; what became of it is to be written by the test.
fn wanting(uses: &[(&str, &str)]) -> Fake {
    let content: Vec<Value> = uses
        .iter()
        .map(|(id, name)| json!({ "tool_use": { "id": id, "name": name, "input": "{}" } }))
        .collect();
    let requested: Vec<Value> = uses.iter().map(|(id, _)| json!({ "id": id })).collect();
    let message = json!({ "sender": { "type": "operator", "id": "ada" }, "parts":
        [{ "type": "text", "text": "go" }] });
    let completion = json!({ "content": content, "finish": "tool_use", "usage": {} });
    Fake::new()
        .wrote("step.started", json!({ "input": { "messages": [message] } }))
        .wrote("model.started", json!({}))
        .wrote("model.completed", json!({ "outcome": { "completion": completion } }))
        .wrote("tools.requested", json!({ "uses": requested }))
}

/// The results of the first turn's uses, as the next one is told them.
fn results(host: Fake) -> (Vec<String>, String) {
    let host = host.reply("I see.");
    host.turn(&mut Assistant::default(), testing::input("go on")).expect("a turn");
    let messages = host.requests().remove(0).messages;
    check_request(&messages);
    let results = messages[2].content.iter().filter_map(|content| match content {
        Content::ToolResult(result) => Some(text_of(&result.parts)),
        _ => None,
    });
    (results.collect(), told(&host))
}

#[test]
fn outcomes_are_told_so_that_the_model_can_act() {
    let cases = [
        (Outcome::Denied, "nothing was done"),
        (Outcome::TimedOut, "took too long"),
        (Outcome::Error, "reported an error"),
    ];
    for (outcome, words) in cases {
        let host = Fake::new().reply_use("write_file", json!({})).reply("I see.").tool_outcome(
            "write_file",
            outcome,
            "the reason",
        );
        host.turn(&mut Assistant::default(), testing::input("go")).expect("a turn");
        let told = told(&host);
        assert!(told.contains(words) && told.contains("the reason"), "{outcome}: {told}");
    }
    let host =
        Fake::new().reply_use("pay", json!({})).reply("I look.").tool_outcome("pay", Outcome::Unknown, "");
    host.turn(&mut Assistant::default(), testing::input("go")).expect("a turn");
    assert!(told(&host).contains("may do it twice"), "{}", told(&host));
}

#[test]
fn what_an_interrupt_came_before_is_told_use_by_use() {
    let host = wanting(&[("a", "read"), ("b", "pay"), ("c", "write"), ("d", "scan")])
        .wrote("tool.started", json!({ "index": 0, "class": "pure" }))
        .wrote("tool.started", json!({ "index": 1, "class": "once" }))
        .wrote("tool.started", json!({ "index": 3, "class": "pure" }))
        .wrote(
            "tool.completed",
            json!({ "index": 0, "start": 5, "outcome": "ok", "parts": [{ "type": "text", "text": "hi" }] }),
        )
        .wrote("user.interrupt", json!({}))
        .wrote("tool.lost", json!({ "index": 1, "start": 6, "why": "interrupted" }))
        .wrote("tool.lost", json!({ "index": 3, "start": 7, "why": "interrupted" }))
        .wrote("step.aborted", json!({ "how": "interrupted" }))
        .wrote("turn.interrupted", json!({ "usage": {} }));
    let (results, told) = results(host);
    assert_eq!(results[0], "hi");
    assert!(results[1].contains("not known") && results[1].contains("may do it twice"), "{results:?}");
    assert!(results[2].contains("nothing was done"), "{results:?}");
    assert!(results[3].contains("you may call it again"), "{results:?}");
    assert!(told.contains("interrupted by a person") && told.contains("go on"), "{told}");
}

#[test]
fn an_answer_that_nothing_came_of_is_not_left_open() {
    let host = wanting(&[("a", "write")]).wrote("step.aborted", json!({ "how": "trapped" })).wrote(
        "turn.failed",
        json!({ "scope": "turn", "code": "trapped", "detail": "unreachable", "usage": {} }),
    );
    let (results, told) = results(host);
    assert!(results[0].contains("nothing was done"), "{results:?}");
    assert!(told.contains("trapped") && told.contains("unreachable"), "{told}");
}

#[test]
fn ids_and_names_that_providers_refuse_are_not_sent_back() {
    let twice = [("same", "read"), ("same", "\u{1b}[2Jread the file"), ("", ""), ("ask", "read")];
    let long = "x".repeat(200);
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let host = twice.iter().chain([&(long.as_str(), long.as_str())]).enumerate().fold(
        wanting(&[twice[0], twice[1], twice[2], twice[3], (&long, &long)]),
        |host, (index, _)| {
            let parts = text(&format!("result {index}"));
            host.wrote("tool.completed", json!({ "index": index, "outcome": "ok", "parts": parts }))
        },
    );
    let host =
        host.wrote("step.completed", json!({})).reply_use("read", json!({})).reply("ok").tool("read", "it");
    host.turn(&mut Assistant::default(), testing::input("go on")).expect("a turn");
    let messages = host.requests().remove(1).messages;
    check_request(&messages);
    let is_word = |text: &str| {
        let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        letters && (1..=64).contains(&text.len())
    };
    for content in messages.iter().flat_map(|message| &message.content) {
        if let Content::ToolUse(one) = content {
            assert!(is_word(&one.id) && is_word(&one.name), "{one:?}");
        }
    }
    let results = messages[2].content.iter().filter_map(|content| match content {
        Content::ToolResult(result) => Some(text_of(&result.parts)),
        _ => None,
    });
    let expected: Vec<String> = (0..5).map(|index| format!("result {index}")).collect();
    assert_eq!(results.collect::<Vec<_>>(), expected);
}

#[test]
fn a_message_of_nothing_is_asked_about_all_the_same() {
    let host = Fake::new().reply("What do you want?");
    host.turn(&mut Assistant::default(), testing::input("  ")).expect("a turn");
    check_request(&host.requests()[0].messages);
}

#[test]
fn hooks_are_heard_as_the_host_would_tell_it() {
    let hook = |seq: u32, hook: u32, event: &str, index: u32| {
        let started = json!({ "index": index, "hook": hook, "event": event });
        let _ = seq;
        ("hook.started", started)
    };
    let verdict = |start: u32, hook: u32, index: u32, rest: Value| {
        let mut verdict = json!({ "index": index, "start": start, "hook": hook, "decision": "none" });
        verdict.as_object_mut().expect("an object").extend(rest.as_object().expect("one").clone());
        ("hook.verdict", verdict)
    };
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let entries = [
        hook(5, 1, "PreToolUse", 0),
        hook(6, 1, "PreToolUse", 1),
        verdict(5, 1, 0, json!({ "context": "before" })),
        verdict(6, 1, 1, json!({ "decision": "deny", "reason": "no" })),
        ("tool.started", json!({ "index": 0, "class": "pure" })),
        ("tool.completed", json!({ "index": 1, "outcome": "denied", "parts": text("no") })),
        (
            "tool.completed",
            json!({ "index": 0, "start": 9, "outcome": "ok", "parts": text("secret"), "contexts": ["before"] }),
        ),
        hook(12, 3, "PostToolUse", 0),
        verdict(12, 3, 0, json!({ "changes": { "output": text("[redacted]") } })),
        hook(14, 2, "PostToolUse", 0),
        verdict(14, 2, 0, json!({ "decision": "block", "reason": "mind the gap", "context": "and more" })),
        ("step.completed", json!({})),
    ];
    let host = entries
        .into_iter()
        .fold(wanting(&[("a", "read"), ("b", "write")]), |host, (kind, data)| host.wrote(kind, data));
    let (results, _) = results(host);
    assert_eq!(results[0], "[redacted]\nbefore\nmind the gap\nand more");
    assert!(results[1].contains("refused") && results[1].ends_with("no"), "{results:?}");
}

#[test]
fn contexts_of_hooks_reach_the_model_once() {
    let host = Fake::new().reply_use("a", json!({})).reply("ok").tool_fn("a", |tool_use| {
        let mut result = ToolResult::new(&tool_use.id, Outcome::Ok, "done");
        result.context.push("a hook's word".to_owned());
        result
    });
    let input = Input { context: vec!["source=resume".to_owned()], ..testing::input("go") };
    host.turn(&mut Assistant::default(), input).expect("a turn");
    let words = told(&host);
    assert!(words.contains("source=resume") && words.contains("a hook's word"), "{words}");

    // What a step that was cut off was told is given to the next one again.
    let host = Fake::new().reply_error(rewake_sdk::model::ModelError::Rejected("no".to_owned())).reply("ok");
    let mut assistant = Assistant::default();
    let input = |text| Input { context: vec!["source=startup".to_owned()], ..testing::input(text) };
    host.turn(&mut assistant, input("one")).expect_err("a failure");
    host.turn(&mut assistant, input("two")).expect("a turn");
    assert_eq!(told(&host).matches("source=startup").count(), 1, "{}", told(&host));
}

#[test]
fn what_people_did_to_the_workspace_is_told() {
    let host = Fake::new()
        .wrote("workspace.imported", json!({ "files": 3, "replaced": false, "tree": "x" }))
        .reply("ok");
    host.turn(&mut Assistant::default(), testing::input("go")).expect("a turn");
    assert!(told(&host).contains("people brought 3 files into the workspace"), "{}", told(&host));
}
