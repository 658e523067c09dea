//! What sessions do when nothing goes wrong, and what stands in their journals.

use rewake_tests::bundles::Draft;
use rewake_tests::{Outcome, World};
use serde_json::json;

/// A01, A02, A03, B10, B20: every fact is an entry, in order, without gaps; a turn's end is the last.
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
