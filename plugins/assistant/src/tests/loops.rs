//! Calls that a model repeats although they fail in the same way each time.

use rewake_sdk::{
    harness::Scope,
    model::{Content, Finish},
    prelude::*,
    testing::{self, Fake},
};
use serde_json::{Value, json};

use super::{Writes as _, check_request, told};
use crate::Assistant;

/// A model that makes the same failing call again and again.
fn stubborn(times: usize) -> Fake {
    let host = Fake::new().tool_outcome("read_file", Outcome::Error, "there is no such file");
    (0..times).fold(host, |host, _| host.reply_use("read_file", json!({ "path": "a" })))
}

/// Which requests have the note, from the first on.
fn noted(host: &Fake) -> Vec<bool> {
    let last = |request: &Request| format!("{:?}", request.messages.last().expect("a message"));
    host.requests().iter().map(|request| last(request).contains("failed in the same way")).collect()
}

fn run(host: &Fake) -> Result<Next, Failure> {
    host.turn(&mut Assistant::default(), testing::input("go"))
}

/// `N-F3`: after three identical failing calls the model is informed, and after six the turn ends.
#[test]
fn a_call_that_fails_again_and_again_ends_the_turn() {
    let host = stubborn(20);
    let failure = run(&host).expect_err("it is no use");
    assert_eq!((failure.scope, failure.code.as_str()), (Scope::Turn, "loop"));
    assert!(failure.detail.contains("`read_file` 6 times"), "{}", failure.detail);
    assert_eq!(noted(&host), [false, false, false, true, true, true]);
    assert!(told(&host).contains("After 6 of these calls the turn ends"), "{}", told(&host));
    host.requests().iter().for_each(|request| check_request(&request.messages));
    // The next turn counts from the beginning, and the model knows why the last one ended.
    let mut assistant = Assistant::default();
    let host = host.reply("I look elsewhere.");
    let failure = host.turn(&mut assistant, testing::input("try again")).expect_err("it does it again");
    assert_eq!((failure.code.as_str(), host.requests().len()), ("loop", 12));
    assert!(format!("{:?}", host.requests()[6].messages).contains("(loop: the model called"));
}

/// `N-F3`: the numbers are the operator's, and 0 is no bound.
#[test]
fn the_numbers_of_repeated_calls_are_set_by_the_operator() {
    let host = stubborn(20).config(json!({ "repeats_warn": 1, "repeats_max": 2 }));
    assert_eq!(run(&host).expect_err("it is no use").code, "loop");
    assert_eq!(noted(&host), [false, true]);
    let host = stubborn(9).reply("I give up.").config(json!({ "repeats_warn": 0, "repeats_max": 0 }));
    assert_eq!(run(&host), Ok(Next::Done));
    assert_eq!(noted(&host), [false; 10]);
    let host = stubborn(4).reply("I give up.").config(json!({ "repeats_max": 0 }));
    assert_eq!(run(&host), Ok(Next::Done));
    assert!(!told(&host).contains("of these calls the turn ends"), "{}", told(&host));
}

/// Equal are calls with the same tool, the same arguments however they are written, and the same result.
#[test]
fn calls_that_differ_are_not_counted_together() {
    let input = |text: &str| JsonText::from_text(text.to_owned());
    let call =
        |n: usize, text: &str| Content::ToolUse(ToolUse::new(format!("u{n}"), "read_file", input(text)));
    let play = |inputs: &[&str]| {
        let host = Fake::new().tool_outcome("read_file", Outcome::Error, "no");
        let host = inputs
            .iter()
            .enumerate()
            .fold(host, |host, (n, text)| host.completion(Finish::ToolUse, vec![call(n, text)]));
        host.reply("ok")
    };
    let other = play(&[r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#, r#"{"a":4}"#, r#"{"a":5}"#, r#"{"a":6}"#]);
    assert_eq!(run(&other), Ok(Next::Done));
    assert_eq!(noted(&other), [false; 7]);
    let same = play(&[r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, r#"{"b":2,"a":1}"#]);
    assert_eq!(run(&same), Ok(Next::Done));
    assert_eq!(noted(&same), [false, false, false, true]);
    // Another text is another result.
    let count = std::cell::Cell::new(0);
    let host = (0..8).fold(Fake::new(), |host, _| host.reply_use("read_file", json!({})));
    let host = host.reply("ok").tool_fn("read_file", move |one| {
        count.set(count.get() + 1);
        ToolResult::new(&one.id, Outcome::Error, format!("failed at {}", count.get()))
    });
    assert_eq!(run(&host), Ok(Next::Done));
    assert_eq!(noted(&host), [false; 9]);
}

/// Six calls in one answer were made before the model could know that one of them fails.
#[test]
fn calls_of_one_answer_count_once() {
    let uses = |n: usize| {
        let one = |m: usize| Content::ToolUse(ToolUse::new(format!("u{n}-{m}"), "a", json!({})));
        (0..6).map(one).collect()
    };
    let host = (0..2).fold(Fake::new(), |host, n| host.completion(Finish::ToolUse, uses(n)));
    let host = host.reply("ok").tool_outcome("a", Outcome::Error, "no");
    assert_eq!(run(&host), Ok(Next::Done));
    assert_eq!(noted(&host), [false; 3]);
}

/// The tests of a project fail in the same way until they are repaired, however often they are run between changes.
#[test]
fn a_change_and_a_message_begin_the_count_again() {
    let tests = |host: Fake| host.reply_use("test", json!({}));
    let edit = |host: Fake, n: usize| host.reply_use("edit", json!({ "n": n }));
    let mut host = Fake::new().tool_outcome("test", Outcome::Error, "1 failed").tool("edit", "done");
    for n in 0..8 {
        host = edit(tests(tests(host)), n);
    }
    let host = host.reply("I cannot repair it.");
    assert_eq!(run(&host), Ok(Next::Done));
    assert!(noted(&host).iter().all(|noted| !noted));

    let host = stubborn(3).meanwhile("Look in b.").reply("ok");
    assert_eq!(run(&host), Ok(Next::Done));
    assert_eq!(noted(&host), [false; 4]);
}

/// A call that only reads changes nothing: a failing edit between reads is still the same edit.
#[test]
fn reads_between_failing_calls_change_nothing() {
    let uses = |n: usize| [(format!("r{n}"), "read"), (format!("e{n}"), "edit")];
    let completion = |n: usize| {
        let content: Vec<Value> = uses(n)
            .iter()
            .map(|(id, name)| json!({ "tool_use": { "id": id, "name": name, "input": "{}" } }))
            .collect();
        json!({ "outcome": { "completion": { "content": content, "finish": "tool_use", "usage": {} } } })
    };
    let message = json!({ "sender": { "type": "operator", "id": "ada" }, "parts":
        [{ "type": "text", "text": "go" }] });
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let turn = |class: &str| {
        let mut host = Fake::new().reply("I see.");
        for n in 0..3 {
            let requested: Vec<Value> =
                uses(n).iter().map(|(id, name)| json!({ "id": id, "name": name })).collect();
            let input = if n == 0 { json!({ "messages": [message] }) } else { json!({}) };
            host = host
                .wrote("step.started", json!({ "input": input }))
                .wrote("model.completed", completion(n))
                .wrote("tools.requested", json!({ "uses": requested }))
                .wrote("tool.started", json!({ "index": 0, "class": class }))
                .wrote("tool.started", json!({ "index": 1, "class": "once" }))
                .wrote("tool.completed", json!({ "index": 0, "outcome": "ok", "parts": text("hi") }))
                .wrote("tool.completed", json!({ "index": 1, "outcome": "error", "parts": text("no") }))
                .wrote("step.completed", json!({}));
        }
        // The same turn continues.
        let mut context = crate::context::Context::default();
        let next = host.wrote("step.started", json!({ "input": {} }));
        for event in next.journal() {
            context.apply(&event, crate::Config::default().pinned(true)).expect("an entry");
        }
        context.repeats.reached(1).map(|repeated| (repeated.name.clone(), repeated.times))
    };
    assert_eq!(turn("pure"), Some(("edit".to_owned(), 3)));
    assert_eq!(turn("once"), Some(("edit".to_owned(), 1)));
}
