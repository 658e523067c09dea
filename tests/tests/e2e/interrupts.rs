//! Interrupts: whatever the turn is doing ends, once and for good, and the next turn is told.

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::{Outcome, Running, World};
use serde_json::{Value, json};

/// Runs operations, interrupts them once an entry of `kind` is there, and sends one more message.
async fn interrupted(bundle: &Draft, ops: &Value, kind: &str) -> (World, SessionId, Events) {
    let world = World::new().await;
    let id = world.create(bundle).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event(kind).await;
    session.command(Command::Interrupt { turn: 1 }).await.unwrap();
    session.event("turn.interrupted").await;
    assert_eq!(session.rest().await, Outcome::Idle);
    session.send("[]").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    let first = events.first("user.message").seq;
    let last = events.first("turn.interrupted").seq;
    let told = format!("unfinished: it was interrupted {first}-{last}");
    assert!(events.said().last().unwrap().contains(&told), "{:?}", events.said());
    assert_eq!(events.first("step.aborted").data["how"], "interrupted");
    (world, id, events)
}

/// A40, A42, C58, C59: an interrupt ends a running tool, its call is lost, and the next message continues from
/// there.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_is_interrupted() {
    let slow = json!({ "path": "/workspace/log", "line": "a", "sleep_ms": 60_000 });
    let ops = json!([{ "op": "tools", "uses": [
        { "name": "append_once", "input": slow },
        { "name": "sleep_pure", "input": { "ms": 60_000 } },
    ] }]);
    let (_, _, events) = interrupted(&Draft::scripted(), &ops, "tool.started").await;
    // The other one waits for it, and is never begun.
    assert_eq!((events.count("tool.started"), events.count("tool.lost")), (1, 1));
    assert!(events.of_kind("tool.lost").all(|event| event.data["why"] == "interrupted"));
    assert_eq!(events.count("turn.interrupted"), 1);
}

/// B10, C59: an interrupt does not wait for a running model call.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_call_is_interrupted() {
    let bundle = Draft::scripted().model("[[reply]]\ntext = \"late\"\ndelay_ms = 60_000\n");
    let (_, _, events) =
        interrupted(&bundle, &json!([{ "op": "model", "text": "hi" }]), "model.started").await;
    assert_eq!(events.count("model.lost"), 1);
    assert_eq!(events.count("model.completed"), 0);
}

/// A41, R9: a harness that makes no call can be interrupted too, and its earlier messages stay.
#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_spins_is_interrupted() {
    let ops = json!([{ "op": "say", "text": "round and round" }, { "op": "spin" }]);
    let (_, _, events) = interrupted(&Draft::scripted(), &ops, "agent.message").await;
    assert_eq!(events.said()[0], "round and round", "what was said stays said");
}

/// C58: a turn that waits for an answer can be interrupted; the question is withdrawn.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_withdrawn() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let ops = json!([{ "op": "ask", "id": "q", "text": "?" }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("turn.waiting").await;
    session.command(Command::Interrupt { turn: 1 }).await.unwrap();
    session.event("turn.interrupted").await;
    session.command(Command::Answer { question: "q".into(), value: "1".into() }).await.unwrap();
    session.event("command.rejected").await;
    session.unload().await;
    let events = world.check(&id).await;
    assert_eq!(events.first("question.withdrawn").data["id"], "q");
}

/// R1: an interrupt for a turn that is over, or was never there, is rejected and ends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_for_another_turn_is_rejected() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, "[]").await;
    session.event("turn.completed").await;
    let ops = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 1_000 } }] }]);
    session.send(&ops.to_string()).await;
    session.event("tool.started").await;
    for turn in [1, 3] {
        session.command(Command::Interrupt { turn }).await.unwrap();
    }
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    assert_eq!(events.count("command.rejected"), 2);
    assert_eq!((events.count("turn.completed"), events.count("turn.interrupted")), (2, 0));
}
