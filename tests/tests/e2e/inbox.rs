//! What is sent to a session: in which turn it is accepted, and what becomes of it if it is not.

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_runtime::Host;
use rewake_runtime::live::UnloadReason;
use rewake_tests::bundles::Draft;
use rewake_tests::world::{ann, send};
use rewake_tests::{Outcome, Running, World};
use rewake_wire::{Part, Sender};
use serde_json::json;

const NOTHING: &str = "[]";

async fn send_as(host: &Host, id: &SessionId, sender: Sender, text: &str, key: Option<&str>) -> u64 {
    let command = Command::Message { parts: vec![Part::text(text)] };
    host.send(id, sender, command, key.map(Into::into)).await.expect("taken")
}

fn answer(question: &str, value: &str) -> Command {
    Command::Answer { question: question.into(), value: json!(value).to_string() }
}

/// C22, C39, C62, C71: pending messages are accepted together, in order, when a turn opens.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_wait_become_one_turn() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    for text in [NOTHING, "two", "three"] {
        send(&host, &id, text).await;
    }
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    host.shut_down().await;
    let events = world.check(&id).await;
    assert_eq!(events.learned(), [["heard: two", "heard: three"]]);
    assert_eq!(events.first("turn.started").data["commands"], json!([1, 2, 3]));
}

/// C64: one turn accepts at most 32 of 40 messages; the next turn accepts the other 8.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_at_most_32_messages() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    for _ in 0..40 {
        send(&host, &id, NOTHING).await;
    }
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    host.shut_down().await;
    let events = world.check(&id).await;
    let taken: Vec<usize> = events
        .of_kind("turn.started")
        .map(|event| event.data["commands"].as_array().unwrap().len())
        .collect();
    assert_eq!(taken, [32, 8]);
}

/// C22, C53, C55: a message to a session with an open turn waits for the next turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_during_a_turn_waits_for_the_next() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let ops = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 1_000 } }] }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    session.send(NOTHING).await;
    session.event("turn.completed").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    let first_end = events.first("turn.completed").seq;
    assert!(events.last("user.message").seq > first_end, "it was taken in by the running turn");
    assert_eq!(events.last("user.message").turn_id.as_deref(), Some("turn_2"));
}

/// C42: a retry with the same key is the same message; with other content it is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_one_message() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    for _ in 0..3 {
        assert_eq!(send_as(&host, &id, ann(), NOTHING, Some("k")).await, 1);
    }
    let other = Command::Message { parts: vec![Part::text("other")] };
    let refused = host.send(&id, ann(), other, Some("k".into())).await.unwrap_err();
    assert!(refused.to_string().contains("the key \"k\" was used before, for row 1"), "{refused}");
    // A key is the sender's own.
    assert_eq!(send_as(&host, &id, Sender::System, NOTHING, Some("k")).await, 2);
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    assert_eq!(send_as(&host, &id, ann(), NOTHING, Some("k")).await, 1);
    host.shut_down().await;
    assert_eq!(world.check(&id).await.count("user.message"), 2);
}

/// A02, C43, C44, C49: the host sets the sender, and the entry holds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_names_its_sender() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    for sender in [ann(), Sender::Agent("ses_1".into()), Sender::Trigger("daily".into()), Sender::System] {
        send_as(&host, &id, sender, NOTHING, None).await;
    }
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    host.shut_down().await;
    let events = world.check(&id).await;
    let actors: Vec<_> = events.of_kind("user.message").map(|event| json!(event.actor)).collect();
    assert_eq!(
        actors,
        [
            json!({ "type": "operator", "id": "ann" }),
            json!({ "type": "agent", "id": "ses_1" }),
            json!({ "type": "trigger", "id": "daily" }),
            json!({ "type": "system", "id": "host" }),
        ]
    );
}

/// A08, C28: a question makes the session wait; the first answer counts, the others are rejected.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_answer_counts() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "ask", "id": "q", "text": "Go on?", "choices": ["yes", "no"] }, { "op": "say", "text": "on" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    assert_eq!(world.store.session(&id).await.unwrap().unwrap().status.as_str(), "awaiting");

    let host = world.host();
    for (question, value) in [("other", "yes"), ("q", "yes"), ("q", "no")] {
        host.send(&id, ann(), answer(question, value), None).await.unwrap();
    }
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    host.shut_down().await;
    let events = world.check(&id).await;
    let asked = &events.first("question.asked").data;
    assert_eq!((&asked["id"], &asked["choices"]), (&json!("q"), &json!(["yes", "no"])));
    assert_eq!(events.first("turn.waiting").data["on"], json!({ "answers": ["q"] }));
    assert_eq!(events.learned(), [["answer q: \"yes\"", "said"]]);
    let rejected: Vec<_> = events.of_kind("command.rejected").map(|event| &event.data["n"]).collect();
    assert_eq!(rejected, [2, 4]);
    assert_eq!((events.count("user.answer"), events.count("turn.completed")), (1, 1));
}

/// C22, X15: a message that arrives while the turn waits for an answer waits for the next turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_does_not_answer_a_question() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "ask", "id": "q", "text": "?" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    assert_eq!(world.run(&id, NOTHING).await, Outcome::Idle);
    assert_eq!(world.events(&id).await.count("user.message"), 1);
    let host = world.host();
    host.send(&id, ann(), answer("q", "yes"), None).await.unwrap();
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    host.shut_down().await;
    let events = world.check(&id).await;
    assert_eq!(events.count("turn.completed"), 2);
    assert_eq!(events.last("user.message").turn_id.as_deref(), Some("turn_2"));
}

/// A35, R10: a turn that waits for a time continues at that time, on the host that runs it then.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_can_wait_for_a_time() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let ops = json!([{ "op": "wait", "ms": 150 }, { "op": "say", "text": "awake" }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("turn.waiting").await;
    session.unload().await;
    let second = world.host();
    let mut session = Running::load(&second, &id).await;
    // A slow machine may be there before the first host has let go.
    if world.events(&id).await.count("turn.completed") == 0 {
        session.event("turn.completed").await;
    }
    session.unload().await;
    let events = world.check(&id).await;
    let until = events.first("turn.waiting").data["on"]["time"]["until"].as_i64().unwrap();
    let woken = events.of_kind("step.started").nth(1).unwrap();
    assert!(rewake_core::ids::Timestamp::parse(&woken.at).unwrap().0 >= until, "it woke too early");
}

/// R2, R10: a message that a wait listens for wakes the step and is taken into it, in the same turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_ends_a_wait_that_listens() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "wait", "on_message": true }, { "op": "say", "text": "awake" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    assert_eq!(world.run(&id, "good morning").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.learned(), [["heard: good morning", "said"]]);
    assert_eq!((events.count("turn.started"), events.count("turn.steered")), (1, 1));
    assert_eq!(events.first("turn.steered").data["commands"], json!([2]));
}

/// C23, C33, C89: a stop is terminal; every acknowledged command is in an entry, and no more are accepted.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_answers_every_row_and_ends_the_session() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let ops = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 60_000 } }] }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    session.send(NOTHING).await;
    session.command(answer("q", "yes")).await.unwrap();
    session.command(Command::Stop { reason: "enough".into() }).await.unwrap();
    assert_eq!(session.rest().await, Outcome::Gone(UnloadReason::Ended));
    let refused = host.send(&id, ann(), answer("q", "yes"), None).await.unwrap_err();
    assert!(refused.to_string().contains("the session is stopped"), "{refused}");
    let events = world.check(&id).await;
    let tail: Vec<&str> = events.kinds().into_iter().rev().take(5).collect();
    assert_eq!(events.0.last().unwrap().kind, "turn.interrupted");
    assert!(tail.contains(&"session.stopped"), "{tail:?}");
    assert_eq!(events.first("session.stopped").data["reason"], "enough");
    assert_eq!(events.count("command.rejected"), 2);
    assert_eq!(events.first("tool.lost").data["why"], "interrupted");
    assert!(world.store.pending(&id).await.unwrap().is_empty());
    assert_eq!(world.store.session(&id).await.unwrap().unwrap().status.as_str(), "stopped");
}
