//! Questions to people.

use rewake_sdk::{
    model::{Content, Finish},
    part::text_of,
    prelude::*,
    testing::{self, Fake},
};
use serde_json::{Value, json};

use super::{Writes as _, check_request, told};
use crate::{Assistant, ask};

fn ask(id: &str, input: Value) -> Content {
    Content::ToolUse(ToolUse::new(id, ask::NAME, input))
}

fn asked(host: &Fake, assistant: &mut Assistant) -> Vec<Question> {
    match host.turn(assistant, testing::input("go")) {
        Ok(Next::Ask(questions)) => questions,
        other => panic!("{other:?}"),
    }
}

/// The results that the last request tells.
fn results(host: &Fake) -> Vec<String> {
    let requests = host.requests();
    let messages = &requests.last().expect("a request").messages;
    check_request(messages);
    let results = messages.iter().flat_map(|message| &message.content).filter_map(|content| match content {
        Content::ToolResult(result) => Some(format!("{}: {}", result.id, text_of(&result.parts))),
        _ => None,
    });
    results.collect()
}

#[test]
fn the_answer_is_the_result_beside_other_results() {
    let content = vec![
        ask("q", json!({ "question": "Which colour?", "choices": ["red", "blue"] })),
        Content::ToolUse(ToolUse::new("t", "look", json!({}))),
    ];
    let host = Fake::new().completion(Finish::ToolUse, content).reply("Blue it is.").tool("look", "seen");
    let mut assistant = Assistant::default();
    let questions = asked(&host, &mut assistant);
    assert_eq!((questions.len(), questions[0].text.as_str()), (1, "Which colour?"));
    assert_eq!(questions[0].choices, ["red", "blue"]);
    // The tools that were wanted beside it ran first, and nobody was asked for `ask_user` itself.
    assert_eq!(host.uses().iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["look"]);

    // The host that loads the session need not have the state.
    let answer = testing::answer(&questions[0].id, "\"blue\"");
    assert_eq!(host.turn(&mut Assistant::default(), answer), Ok(Next::Done));
    assert_eq!(results(&host), ["q: blue", "t: seen"]);
}

#[test]
fn several_questions_have_their_own_ids() {
    let content = vec![ask("1", json!({ "question": "a?" })), ask("2", json!({ "question": "b?" }))];
    let host = Fake::new().completion(Finish::ToolUse, content).reply("ok");
    let mut assistant = Assistant::default();
    let questions = asked(&host, &mut assistant);
    assert_ne!(questions[0].id, questions[1].id);
    assert!(questions.iter().all(|one| one.id.len() <= 64 && !one.id.starts_with("ask-")));
    let mut answers = testing::answer(&questions[1].id, "\"two\"");
    answers.answers.extend(testing::answer(&questions[0].id, "{\"n\":1}").answers);
    host.turn(&mut assistant, answers).expect("a turn");
    assert_eq!(results(&host), ["1: {\"n\":1}", "2: two"]);
}

#[test]
fn what_cannot_be_asked_is_an_error_that_says_why() {
    let long = "x".repeat(5_000);
    let content = vec![
        ask("1", json!({})),
        ask("2", json!({ "question": " " })),
        ask("3", json!({ "question": long })),
        ask("4", json!({ "question": "a?", "choices": vec!["x"; 11] })),
        ask("5", json!({ "question": "a?", "choices": [""] })),
        Content::ToolUse(ToolUse::new("6", ask::NAME, JsonText::from_text("{".to_owned()))),
    ];
    let host = Fake::new().completion(Finish::ToolUse, content).reply("I see.");
    assert_eq!(host.turn(&mut Assistant::default(), testing::input("go")), Ok(Next::Done));
    let results = results(&host);
    assert_eq!(results.len(), 6);
    assert!(results.iter().all(|result| result.contains("not asked: ")), "{results:?}");

    let many = (0..6).map(|n| ask(&n.to_string(), json!({ "question": "a?" })));
    let host = Fake::new().completion(Finish::ToolUse, many.collect());
    assert_eq!(asked(&host, &mut Assistant::default()).len(), 4);
}

#[test]
fn a_question_that_nobody_answered_is_told_as_that() {
    let host = Fake::new()
        .completion(Finish::ToolUse, vec![ask("q", json!({ "question": "a?" }))])
        .reply("Never mind.");
    let mut assistant = Assistant::default();
    asked(&host, &mut assistant);
    let host = host
        .wrote("user.interrupt", json!({}))
        .wrote("question.withdrawn", json!({ "id": "turn_1-1-0" }))
        .wrote("turn.interrupted", json!({ "usage": {} }));
    // The next message opens a turn of its own.
    host.close_turn();
    host.turn(&mut assistant, testing::input("forget it")).expect("a turn");
    assert!(told(&host).contains("before an answer was accepted"), "{}", told(&host));
    results(&host);
}

#[test]
fn a_tool_of_that_name_is_the_sessions_own() {
    let host = Fake::new()
        .completion(Finish::ToolUse, vec![ask("q", json!({ "question": "a?" }))])
        .reply("ok")
        .tool(ask::NAME, "from a tool");
    host.turn(&mut Assistant::default(), testing::input("go")).expect("a turn");
    assert_eq!(results(&host), ["q: from a tool"]);
    assert_eq!(host.requests()[0].tools.len(), 1);
}
