//! Hooks that ask a person: the turn waits, the instance is gone, and only an operator's `allow` lets the call
//! pass.

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::world::{ann, rest};
use rewake_tests::{Outcome, World};
use rewake_wire::Sender;
use serde_json::{Value, json};

const ON: &str = "[[component.probe.on]]\nevent = \"PreToolUse\"";
const QUESTION: &str = "ask-1-1-1-0";

fn append(line: &str) -> Value {
    json!({ "name": "append_once", "input": { "path": "/workspace/log", "line": line } })
}

fn bundle() -> Draft {
    Draft::scripted().hook(&[("ask", "append_once")], ON)
}

fn ops() -> Value {
    json!([{ "op": "log", "text": "before" }, { "op": "tools", "uses": [append("x"), { "name": "sleep_pure", "input": { "ms": 1 } }] }])
}

/// The lines of diagnostics that the journal has.
fn logged(events: &Events) -> Vec<String> {
    let lines = events.of_kind("log.lines").flat_map(|said| said.data["lines"].as_array().cloned().unwrap());
    lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// `N-A2`: a step that is run again, after each of three questions, says its lines again; the journal has each once.
#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_step_that_asks_are_kept_once() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    let call = json!({ "op": "tools", "uses": [append("x")] });
    let print = |text: &str| json!({ "op": "print", "text": text });
    let ops = json!([print("one"), { "op": "log", "text": "logged" }, call, print("two"), call, call, print("three")]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    for nth in 1..=3 {
        let question = world.events(&id).await.last("question.asked").data["id"].as_str().unwrap().to_owned();
        let host = world.host();
        let command = Command::Answer { question, value: "\"allow\"".into() };
        host.send(&id, ann(), command, None).await.unwrap();
        assert_eq!(rest(&host, &id).await, Outcome::Idle, "{nth}");
        host.shut_down().await;
    }
    let events = world.check(&id).await;
    assert_eq!(events.count("turn.completed"), 1);
    let mut lines = logged(&events);
    lines.sort();
    assert_eq!(lines, ["logged", "one", "three", "two"]);
}

/// A session that waits for a person.
async fn waiting() -> (World, SessionId) {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    assert_eq!(world.run(&id, &ops().to_string()).await, Outcome::Idle);
    (world, id)
}

async fn answer(world: &World, id: &SessionId, sender: Sender, value: &str) -> Outcome {
    let host = world.host();
    let command = Command::Answer { question: QUESTION.into(), value: value.into() };
    host.send(id, sender, command, None).await.unwrap();
    let outcome = rest(&host, id).await;
    host.shut_down().await;
    outcome
}

/// R4: every verdict and every answer is committed before anything of the request starts.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_waits_until_a_person_allows() {
    let (world, id) = waiting().await;
    let events = world.events(&id).await;
    assert_eq!((events.count("tool.started"), events.count("turn.waiting")), (0, 1));
    let asked = &events.first("question.asked").data;
    assert_eq!((&asked["id"], &asked["by"]), (&json!(QUESTION), &json!({ "hook": 0 })));
    assert_eq!(asked["choices"], json!(["allow", "deny"]));
    assert!(asked["text"].as_str().unwrap().contains("the probe asks about append_once"));
    let text = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!(text.status.as_str(), "awaiting");
    assert_eq!(world.resume(&id).await, Outcome::Idle, "waiting costs nothing and changes nothing");
    assert_eq!(answer(&world, &id, ann(), "\"allow\"").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.learned().pop().unwrap(), ["use-1: ok: appended x", "use-2: ok: slept 1 ms"]);
    assert_eq!(world.workspace_file(&id, "log").as_deref(), Some("x\n"));
    assert!(events.first("user.answer").seq < events.first("tool.started").seq);
    assert_eq!(logged(&events), ["before"], "what was said before is kept, once");
    assert_eq!(events.count("hook.started"), 2, "nobody is asked twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn anything_but_allow_refuses() {
    for (value, learns) in [
        ("\"deny\"", "use-1: denied: ann denied it"),
        ("\"not on a Sunday\"", "use-1: denied: ann denied it: not on a Sunday"),
        ("true", "use-1: denied: ann denied it: true"),
    ] {
        let (world, id) = waiting().await;
        assert_eq!(answer(&world, &id, ann(), value).await, Outcome::Idle);
        assert_eq!(world.check(&id).await.learned().pop().unwrap()[0], learns);
        assert_eq!(world.workspace_file(&id, "log"), None);
    }
}

/// An agent cannot approve itself, nor can a trigger for it.
#[tokio::test(flavor = "multi_thread")]
async fn only_an_operator_may_answer() {
    let (world, id) = waiting().await;
    for sender in [Sender::Agent(id.to_string()), Sender::Trigger("hourly".into()), Sender::System] {
        assert_eq!(answer(&world, &id, sender, "\"allow\"").await, Outcome::Idle);
    }
    let events = world.events(&id).await;
    assert_eq!((events.count("command.rejected"), events.count("tool.started")), (3, 0));
    assert!(events.first("command.rejected").data["why"].as_str().unwrap().contains("only an operator"));
    assert_eq!(answer(&world, &id, ann(), "\"allow\"").await, Outcome::Idle);
    assert_eq!(world.check(&id).await.count("tool.completed"), 2);
}

/// hooks.md: deny beats ask; nobody is asked about what is denied anyway.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_denied_is_not_asked_about() {
    let world = World::new().await;
    let strict = Draft::new("test/strict").hook(&[("deny", "append_once")], ON);
    let id = world.create_with(&bundle(), &[&strict]).await;
    assert_eq!(world.run(&id, &ops().to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.count("question.asked"), events.count("turn.completed")), (0, 1));
    assert_eq!(world.workspace_file(&id, "log"), None);
}

/// A question that is open when its turn is interrupted is withdrawn; an answer then comes too late.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_withdraws_the_question() {
    let (world, id) = waiting().await;
    let host = world.host();
    host.send(&id, ann(), Command::Interrupt { turn: 1 }, None).await.unwrap();
    assert_eq!(rest(&host, &id).await, Outcome::Idle);
    host.shut_down().await;
    assert_eq!(answer(&world, &id, ann(), "\"allow\"").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.count("question.withdrawn"), events.count("command.rejected")), (1, 1));
    assert_eq!(world.workspace_file(&id, "log"), None);
}

/// One judge that asks and one that allows: a person is asked; what both add is told, whatever the answer.
#[tokio::test(flavor = "multi_thread")]
async fn contexts_are_told_whatever_the_answer() {
    for (value, learns) in
        [("\"allow\"", "use-1: ok: appended x"), ("\"deny\"", "use-1: denied: ann denied it")]
    {
        let world = World::new().await;
        let asks = Draft::scripted().hook(&[("ask", "append_once"), ("context", "first")], ON);
        let allows = Draft::new("test/lax").hook(&[("allow", "append_once"), ("context", "second")], ON);
        let id = world.create_with(&asks, &[&allows]).await;
        let ops = json!([{ "op": "tools", "uses": [append("x")] }]);
        assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
        assert_eq!(answer(&world, &id, ann(), value).await, Outcome::Idle);
        let learned = world.check(&id).await.learned().pop().unwrap();
        assert_eq!(learned, [learns, "use-1: context: first", "use-1: context: second"]);
    }
}

/// A person is asked about what would run, with what a rewriter made of it; a `deny` of a rewriter counts too.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_about_what_would_run() {
    let world = World::new().await;
    let rewriting = format!("{ON}\nrewrites = true");
    let input = r#"{"line":"safe","path":"/workspace/log"}"#;
    let first = Draft::scripted().hook(&[("ask", "append_once"), ("input", input)], &rewriting);
    let id = world.create(&first).await;
    assert_eq!(world.run(&id, &ops().to_string()).await, Outcome::Idle);
    let asked = world.events(&id).await.first("question.asked").data["text"].as_str().unwrap().to_owned();
    assert!(asked.ends_with(&format!("Its input: {input}")), "{asked}");
    assert_eq!(answer(&world, &id, ann(), "\"allow\"").await, Outcome::Idle);
    world.check(&id).await;
    assert_eq!(world.workspace_file(&id, "log").as_deref(), Some("safe\n"));
}

/// What a model writes cannot hide from the person who is asked: neither behind blanks nor by characters that
/// show nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_about_cannot_hide() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    let line = format!("a\u{202e}b{}", "z".repeat(40_000));
    let used = json!({ "name": "append_once", "input": { "path": "/workspace/log", "line": line } });
    assert_eq!(world.run(&id, &json!([{ "op": "tools", "uses": [used] }]).to_string()).await, Outcome::Idle);
    let asked = world.events(&id).await.first("question.asked").data["text"].as_str().unwrap().to_owned();
    assert!(
        asked.starts_with("May append_once run? the probe asks about append_once. Its input: {"),
        "{asked}"
    );
    assert!(asked.contains(r"a\u202eb") && asked.len() < 20_000 && asked.ends_with(" bytes cut)"));
}

/// An answer that was meant for a harness's question must never count for one of a hook.
#[tokio::test(flavor = "multi_thread")]
async fn a_harness_cannot_ask_under_a_hook_s_name() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    let ops =
        json!([{ "op": "ask", "id": "ask-1-2-1-0", "text": "Shall I say hello?", "choices": ["allow"] }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.count("question.asked"), 0);
    let failed = &events.first("turn.failed").data;
    assert_eq!(failed["code"], "invalid_answer");
    assert!(failed["detail"].as_str().unwrap().contains("begins with \"ask-\""), "{failed}");
}

/// The first answer counts, and no other: not a second one in the same breath, nor one after the call ran.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_answer_counts() {
    let (world, id) = waiting().await;
    let host = world.host();
    for value in ["\"deny\"", "\"allow\""] {
        let command = Command::Answer { question: QUESTION.into(), value: value.into() };
        host.send(&id, ann(), command, None).await.unwrap();
    }
    assert_eq!(rest(&host, &id).await, Outcome::Idle);
    host.shut_down().await;
    assert_eq!(answer(&world, &id, ann(), "\"allow\"").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.count("user.answer"), events.count("command.rejected")), (1, 2));
    assert_eq!(world.workspace_file(&id, "log"), None);
}

/// Waiting and its answer survive a kill after every transaction, wherever the session goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_survives_every_cut() {
    let scenario =
        Scenario::new(bundle()).say(&ops()).answer(QUESTION, &json!("allow")).say(&json!([{ "op": "more" }]));
    scenario
        .everywhere(|_, _, events| {
            assert_eq!((events.count("question.asked"), events.count("user.answer")), (1, 1));
            assert_eq!(events.count("hook.verdict"), 2);
        })
        .await;
}
