//! What sessions do when nothing goes wrong, and what stands in their journals.

use rewake_tests::bundles::Draft;
use rewake_tests::{Outcome, Running, World};
use serde_json::json;

/// A01, A02, A03, B10, B20: every fact is an entry, in order, without gaps; the end of the turn is the last
/// entry.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_entries_from_message_to_end() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "say", "text": "hello" }, { "op": "title", "text": "greeting" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let seqs: Vec<u64> = events.0.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let kinds = events.kinds();
    assert_eq!(
        kinds,
        [
            "session.created",
            "session.loaded",
            "user.message",
            "turn.started",
            "step.started",
            "agent.message",
            "agent.title",
            "agent.message",
            "step.completed",
            "turn.completed",
            "session.unloaded",
        ]
    );
    let summary = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!(summary.title.as_deref(), Some("greeting"));
    assert_eq!(summary.status.as_str(), "awaiting");
}

/// B18, B32: each turn starts from the state that the previous turn saved, on any host.
#[tokio::test(flavor = "multi_thread")]
async fn state_is_carried_from_turn_to_turn_and_host_to_host() {
    let world = World::with_snapshots(3).await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "tools", "uses": [{ "name": "echo", "input": {} }] }]).to_string();
    for _ in 0..3 {
        assert_eq!(world.run(&id, &ops).await, Outcome::Idle);
    }
    let events = world.check(&id).await;
    let uses: Vec<String> =
        events.learned().iter().map(|learned| learned[0].split(':').next().unwrap().to_owned()).collect();
    assert_eq!(uses, ["use-1", "use-2", "use-3"]);
    let summary = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!((summary.turns, summary.entries), (3, events.0.len() as u64));
}

/// R9: a turn of several steps saves the state after each of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_can_take_several_steps() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "say", "text": "1" }, { "op": "more" }, { "op": "more" }, { "op": "say", "text": "3" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.count("step.started"), events.count("step.completed")), (3, 3));
    assert_eq!(events.last("turn.completed").data["steps"], 3);
    let replayed = world.host().replay(&id).await.unwrap();
    assert_eq!((replayed.steps, replayed.skipped), (3, 0));
}

/// C115: a title has at most 64 characters.
#[tokio::test(flavor = "multi_thread")]
async fn a_title_is_cut() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([{ "op": "title", "text": "ä".repeat(200) }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    world.check(&id).await;
    let summary = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!(summary.title, Some("ä".repeat(64)));
}

/// C116: the current activity is shown live, as one line, and never recorded.
#[tokio::test(flavor = "multi_thread")]
async fn an_activity_is_heard_and_not_journaled() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let ops = json!([{ "op": "activity", "text": "reading\nlines" }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    assert_eq!(session.rest().await, Outcome::Idle);
    assert_eq!(session.activities, ["reading"]);
    session.unload().await;
    let events = world.check(&id).await;
    assert!(events.0.iter().all(|event| !event.kind.contains("activity")));
}

/// R7: diagnostics are journaled once, bounded, and silent on replay.
#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_are_journaled_and_bounded() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let ops = json!([
        { "op": "log", "text": "x".repeat(5_000) },
        { "op": "log", "text": "again", "times": 1_100 },
        { "op": "print", "text": "over the limit as well" },
    ]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.count("log.lines"), 1);
    let logged = &events.first("log.lines").data;
    let lines = logged["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 1_000);
    assert!(lines[0]["text"].as_str().unwrap().ends_with("(904 bytes cut)"));
    assert_eq!(logged["dropped"], 102);
    assert_eq!(logged["component"], "test/scripted:harness");

    let ops = json!([{ "op": "print", "text": "hello" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.last("log.lines").data["lines"], json!([{ "level": "stdout", "text": "hello" }]));
}

/// A33, A39, C10, X5: reading a session does not load it; loading it alone does no work; a new session is
/// `queued`.
#[tokio::test(flavor = "multi_thread")]
async fn reading_does_not_load() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let before = world.events(&id).await.0.len();
    world.check(&id).await;
    assert_eq!(world.store.session(&id).await.unwrap().unwrap().status.as_str(), "queued");
    assert_eq!(world.events(&id).await.0.len(), before);
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.kinds(), ["session.created", "session.loaded", "session.unloaded"]);
    assert_eq!(events.first("session.loaded").data["source"], "startup");
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    assert_eq!(world.check(&id).await.last("session.loaded").data["source"], "resume");
}
