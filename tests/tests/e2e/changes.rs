//! Edits, cancellations and promotions of messages that wait (R1): what is acknowledged has its effect, whenever it
//! comes; what comes too late is refused.

use std::collections::BTreeMap;

use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_runtime::{Host, HostError};
use rewake_store::{Store, StoreError};
use rewake_tests::bundles::Draft;
use rewake_tests::play::Scenario;
use rewake_tests::world::{ann, send};
use rewake_tests::{Outcome, Running, World};
use rewake_wire::{Part, Sender};
use serde_json::{Value, json};

fn say(text: &str) -> String {
    json!([{ "op": "say", "text": text }]).to_string()
}

fn slow(ms: u64) -> String {
    json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": ms } }] }]).to_string()
}

fn edit(target: u64, text: &str) -> Command {
    Command::Edit { target, parts: vec![Part::text(text)] }
}

fn refusal(told: Result<u64, HostError>) -> Refusal {
    match told {
        Err(HostError::Store(StoreError::Refused(refusal))) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// C67, X6: a pending message is delivered as it was last edited; the journal holds the previous text.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_waits_is_told_as_it_was_edited() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, &slow(3_000)).await;
    session.event("tool.started").await;
    let n = session.send(&say("first")).await;
    for text in ["second", "third"] {
        session.command(edit(n, &say(text))).await.unwrap();
        session.event("command.edited").await;
    }
    assert_eq!(refusal(session.command(edit(1, "late")).await), Refusal::Delivered { n: 1 });
    session.event("turn.completed").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    assert!(events.said().contains(&"third".to_owned()), "{:?}", events.said());
    assert_eq!(events.last("user.message").data["parts"], json!([Part::text(say("third"))]));
    let edited: Vec<_> = events.of_kind("command.edited").map(|event| &event.data).collect();
    assert_eq!(edited[0]["before"], json!([Part::text(say("first"))]));
    assert_eq!((&edited[1]["before"], &edited[1]["target"]), (&edited[0]["after"], &json!(n)));
    assert_eq!((events.count("turn.completed"), events.count("command.rejected")), (2, 0));
}

/// C68: a canceled message is never delivered and cannot be changed any more; guests cannot read its text.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_taken_back_is_never_told() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, &slow(3_000)).await;
    session.event("tool.started").await;
    let n = session.send(&say("SECRET")).await;
    session.command(Command::Cancel { target: n }).await.unwrap();
    for late in [edit(n, "x"), Command::Cancel { target: n }, Command::Promote { target: n, turn: Some(1) }] {
        assert!(matches!(refusal(session.command(late).await), Refusal::Conflict(_)));
    }
    session.event("turn.completed").await;
    assert_eq!(session.rest().await, Outcome::Idle);
    session.unload().await;
    let events = world.check(&id).await;
    assert_eq!((events.count("user.message"), events.count("turn.started")), (1, 1));
    assert_eq!(events.first("command.canceled").data["target"], json!(n));
    assert!(events.0.iter().all(|event| !event.data.to_string().contains("SECRET")), "it is in the journal");
    assert_eq!(world.store.pending(&id).await.unwrap(), []);
}

/// C69: the current turn is interrupted, and the promoted message opens the next one, ahead of the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_message_runs_next() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, &slow(60_000)).await;
    session.event("tool.started").await;
    session.send(&say("two")).await;
    session.send(&say("three")).await;
    session.send(&say("four")).await;
    session.command(Command::Promote { target: 4, turn: Some(1) }).await.unwrap();
    session.event("turn.interrupted").await;
    session.event("turn.completed").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    let taken: Vec<_> = events.of_kind("turn.started").map(|event| event.data["commands"].clone()).collect();
    assert_eq!(taken, [json!([1]), json!([4]), json!([2, 3])]);
    assert_eq!(events.first("command.promoted").data["turn"], json!(1));
    assert_eq!(events.first("tool.lost").data["why"], "interrupted");
}

/// A promotion names the turn that its sender saw: of a later one it ends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_ends_no_other_turn() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, "[]").await;
    session.event("turn.completed").await;
    session.send(&slow(3_000)).await;
    session.event("tool.started").await;
    session.send(&say("three")).await;
    session.send(&say("four")).await;
    session.command(Command::Promote { target: 4, turn: Some(1) }).await.unwrap();
    for _ in 0..3 {
        session.event("turn.completed").await;
    }
    session.unload().await;
    let events = world.check(&id).await;
    let taken: Vec<_> = events.of_kind("turn.started").map(|event| event.data["commands"].clone()).collect();
    assert_eq!(taken, [json!([1]), json!([2]), json!([4]), json!([3])]);
    assert_eq!(events.count("turn.interrupted"), 0);
}

/// A hook on prompts judges what is told, not what was sent first; and nobody edits what is not theirs.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_judge_what_is_told() {
    let world = World::new().await;
    let on = "[[component.probe.on]]\nevent = \"UserPromptSubmit\"\n";
    let id = world.create(&Draft::scripted().hook(&[("context", "heard")], on)).await;
    let host = world.host();
    send(&host, &id, "[]").await;
    let trigger = Sender::Trigger("daily".into());
    let forged = host.send(&id, trigger, edit(1, &say("forged")), None).await;
    assert!(matches!(refusal(forged), Refusal::Forbidden(_)));
    host.send(&id, Sender::Operator("bob".into()), edit(1, &say("edited")), None).await.unwrap();
    assert_eq!(Running::load(&host, &id).await.rest().await, Outcome::Idle);
    host.shut_down().await;
    let events = world.check(&id).await;
    assert!(events.said().contains(&"edited".to_owned()), "{:?}", events.said());
    let kinds = events.kinds();
    let at = |kind: &str| kinds.iter().position(|other| *other == kind).unwrap();
    assert!(at("command.edited") < at("user.message") && at("user.message") < at("hook.started"));
    let message = events.first("user.message");
    assert_eq!(message.data["sender"], json!({ "type": "operator", "id": "ann" }));
}

/// Edits as fast as they can be sent, against a host that takes the message in: each is refused, or told.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_acknowledged_is_told() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, "[]").await;
    session.event("turn.completed").await;
    let (mut expected, mut acknowledged) = (BTreeMap::new(), 0);
    for round in 0..12 {
        let n = world.store.send(&id, ann(), message(&say(&format!("{round}"))), None).await.unwrap();
        let editors: Vec<_> =
            (0..2).map(|who| tokio::spawn(edits(world.store.clone(), id.clone(), n, who))).collect();
        wake(&host, &id).await;
        let mut last = (0, say(&format!("{round}")));
        for editor in editors {
            for edited in editor.await.unwrap() {
                acknowledged += 1;
                last = last.max(edited);
            }
        }
        session.event("turn.completed").await;
        expected.insert(n, last.1);
    }
    session.unload().await;
    let events = world.check(&id).await;
    let told: BTreeMap<u64, String> = events
        .of_kind("user.message")
        .filter(|event| expected.contains_key(&event.data["n"].as_u64().unwrap()))
        .map(|event| {
            let text = event.data["parts"][0]["text"].as_str().unwrap().to_owned();
            (event.data["n"].as_u64().unwrap(), text)
        })
        .collect();
    assert_eq!(told, expected);
    assert_eq!(events.count("command.edited"), acknowledged, "none was rejected");
    assert!(acknowledged > 0);
}

fn message(text: &str) -> Command {
    Command::Message { parts: vec![Part::text(text)] }
}

/// Edits a message until it is refused; the rows and texts that were acknowledged.
async fn edits(store: std::sync::Arc<dyn Store>, id: SessionId, target: u64, who: u32) -> Vec<(u64, String)> {
    let mut acknowledged = Vec::new();
    for nth in 0..60 {
        let text = say(&format!("{who} {nth}"));
        match store.send(&id, ann(), edit(target, &text), None).await {
            Ok(n) => acknowledged.push((n, text)),
            Err(StoreError::Refused(Refusal::Delivered { .. } | Refusal::Limit { .. })) => break,
            Err(error) => panic!("{error}"),
        }
    }
    acknowledged
}

/// Has a host look at its inbox: it is told of what comes by itself only.
async fn wake(host: &Host, id: &SessionId) {
    host.send(id, ann(), Command::Interrupt { turn: u32::MAX }, None).await.expect("taken");
}

/// What another process sends is found, and accepted while a turn runs.
#[tokio::test(flavor = "multi_thread")]
async fn another_process_changes_what_waits() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let (one, other) = (world.host(), world.host());
    let mut session = Running::start(&one, &id, &slow(60_000)).await;
    session.event("tool.started").await;
    for text in ["two", "three"] {
        send(&other, &id, &say(text)).await;
    }
    other.send(&id, ann(), edit(3, &say("edited")), None).await.unwrap();
    other.send(&id, ann(), Command::Cancel { target: 2 }, None).await.unwrap();
    other.send(&id, ann(), Command::Promote { target: 3, turn: Some(1) }, None).await.unwrap();
    session.event("command.edited").await;
    session.event("command.canceled").await;
    session.event("turn.interrupted").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    assert!(events.said().contains(&"edited".to_owned()), "{:?}", events.said());
    assert_eq!(events.count("user.message"), 2);
}

/// All of it, with the host killed after every transaction.
#[tokio::test(flavor = "multi_thread")]
async fn changes_survive_every_kill() {
    let ops = |text: &str| -> Value { json!([{ "op": "say", "text": text }]) };
    let waits =
        |id: &str| json!([{ "op": "ask", "id": id, "text": "Go on?" }, { "op": "say", "text": "on" }]);
    let scenario = Scenario::new(Draft::scripted())
        .say(&waits("q"))
        .say(&ops("two"))
        .say(&ops("three"))
        .say(&ops("four"))
        .send(edit(2, &ops("two, edited").to_string()))
        .send(edit(2, &ops("two, edited again").to_string()))
        .send(Command::Cancel { target: 3 })
        .send(Command::Promote { target: 4, turn: None })
        .send(edit(4, &ops("four, edited").to_string()))
        .answer("q", &json!("yes"))
        .say(&waits("r"))
        .say(&ops("twelve"))
        .send(Command::Promote { target: 12, turn: Some(4) });
    scenario
        .everywhere(|_, _, events| {
            let taken: Vec<_> =
                events.of_kind("turn.started").map(|event| event.data["commands"].clone()).collect();
            assert_eq!(taken, [json!([1]), json!([4]), json!([2]), json!([11]), json!([12])]);
            let said = events.said();
            for (text, times) in
                [("two, edited again", 1), ("four, edited", 1), ("three", 0), ("two, edited", 0)]
            {
                assert_eq!(said.iter().filter(|one| *one == text).count(), times, "{text}: {said:?}");
            }
            let count = |kind: &str| events.count(kind);
            assert_eq!((count("command.edited"), count("command.canceled")), (3, 1));
            assert_eq!((count("command.promoted"), count("turn.interrupted")), (2, 1));
            assert_eq!(count("command.rejected"), 0);
        })
        .await;
}
