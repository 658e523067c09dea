//! The scripted harness, with a host in memory.

use rewake_sdk::{
    harness::{Answer, Scope, Sender},
    testing::{self, Fake},
};
use serde_json::{Value, json};

use super::*;

fn report(host: &Fake) -> Report {
    let said = host.said();
    serde_json::from_str(said.last().expect("something said")).expect("a report")
}

fn run(host: &Fake, ops: &Value) -> Result<Next, Failure> {
    host.turn(&mut Script::default(), testing::input(ops.to_string()))
}

#[test]
fn operations_are_done_in_order_across_steps() {
    let host = Fake::new().tool("echo", "yes").reply_use("echo", json!({})).reply("fine");
    let ops = json!([
        { "op": "tools", "uses": [{ "name": "echo", "input": { "a": 1 } }, { "name": "none" }] },
        { "op": "more" },
        { "op": "model", "text": "hi" },
        { "op": "more" },
        { "op": "model", "text": "so?" },
        { "op": "emit", "kind": "custom.x", "data": 1 },
        { "op": "emit", "kind": "turn.completed" },
        { "op": "title", "text": "t" },
        { "op": "events", "kinds": ["custom.x"] },
    ]);
    assert_eq!(run(&host, &ops), Ok(Next::Done));
    let expected = [
        "use-1: ok: yes",
        "use-2: error: this session has no tool `none`",
        "model: ",
        "use-1: ok: yes",
        "model: fine",
        "emitted: 19",
        "not emitted: `turn.completed` is not a kind of yours: it must begin with `custom.`",
        "events: custom.x@19",
    ];
    assert_eq!(report(&host).learned, expected);
    assert_eq!(host.title().as_deref(), Some("t"));
    assert_eq!(host.requests()[1].messages.len(), 4);
}

#[test]
fn what_differs_changes_the_digest() {
    let digest = |text: &str| {
        let host = Fake::new().tool("echo", text);
        run(&host, &json!([{ "op": "tools", "uses": [{ "name": "echo" }] }])).expect("a turn");
        report(&host).digest
    };
    assert_eq!(digest("a"), digest("a"));
    assert_ne!(digest("a"), digest("b"));
}

#[test]
fn the_world_is_learned() {
    let host = Fake::new();
    let ops = json!([
        { "op": "clock" }, { "op": "random" }, { "op": "sleep", "ms": 1 }, { "op": "hash_map" },
        { "op": "info" }, { "op": "list_tools" }, { "op": "read", "path": "/no/such/file" },
    ]);
    run(&host, &ops).expect("a turn");
    let learned = report(&host).learned;
    let kinds: Vec<&str> = learned.iter().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(kinds, ["clock", "random", "slept", "order", "info", "tools", "read"]);
}

#[test]
fn a_step_can_end_in_every_way() {
    // A turn of its own each: one that asks or waits stays open.
    let run = |ops: &Value| run(&Fake::new(), ops);
    let ask = run(&json!([{ "op": "ask", "id": "q", "text": "Go on?" }]));
    assert!(matches!(ask, Ok(Next::Ask(questions)) if questions[0].id == "q"));
    let wait = run(&json!([{ "op": "wait", "ms": 5, "on_message": true }]));
    assert!(matches!(wait, Ok(Next::Wait { until: Some(_), on_message: true })));
    let fail = run(&json!([{ "op": "fail", "session": true, "code": "c" }]));
    assert!(matches!(fail, Err(failure) if failure.scope == Scope::Session && failure.code == "c"));
    let bad = run(&json!([{ "op": "dance" }]));
    assert!(matches!(bad, Err(failure) if failure.code == "bad_script"));
}

#[test]
fn answers_are_learned_in_the_step_after_the_question() {
    let host = Fake::new();
    let mut script = Script::default();
    let ops = json!([{ "op": "ask", "id": "q", "text": "?" }, { "op": "say", "text": "on" }]);
    host.turn(&mut script, testing::input(ops.to_string())).expect("a question");
    let answer =
        Answer { question: "q".to_owned(), sender: Sender::System, value: JsonText::from(json!("yes")) };
    let input = Input { step: 2, answers: vec![answer], ..Input::default() };
    assert_eq!(host.turn(&mut script, input), Ok(Next::Done));
    assert_eq!(report(&host).learned, ["answer q: \"yes\"", "said: 9"]);
}
