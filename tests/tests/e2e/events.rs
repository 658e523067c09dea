//! A harness reads its own journal: slices by position and kind, and the same on replay.

use std::sync::Arc;

use rewake_tests::bundles::Draft;
use rewake_tests::{CutStore, Outcome, Running, World};
use serde_json::{Value, json};

/// The seqs that a learned line names.
fn seqs(line: &str) -> Vec<u64> {
    let shown = line.strip_prefix("events: ").expect("a slice").split_whitespace();
    shown.map(|one| one.split_once('@').expect("kind@seq").1.parse().expect("a seq")).collect()
}

/// Runs these operations after a first turn whose seqs are known, and returns what was learned.
async fn learned(ops: &Value) -> Vec<String> {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    assert_eq!(world.run(&id, r#"[{ "op": "say", "text": "one" }]"#).await, Outcome::Idle);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    world.check(&id).await.learned().pop().unwrap()
}

/// B14, B15, B16, B39: slices by after, before, limit and order.
#[tokio::test(flavor = "multi_thread")]
async fn slices_are_positional() {
    let ops = json!([
        { "op": "events", "after": 2, "before": 6 },
        { "op": "events", "limit": 3 },
        { "op": "events", "limit": 3, "newest_first": true, "before": 6 },
        { "op": "events", "after": 4, "before": 5 },
        { "op": "events", "before": 0 },
        { "op": "events", "limit": 0 },
        { "op": "events", "after": 4_000_000_000u32, "newest_first": true },
    ]);
    let learned = learned(&ops).await;
    let got: Vec<Vec<u64>> = learned.iter().map(|line| seqs(line)).collect();
    assert_eq!(got, [vec![3, 4, 5], vec![1, 2, 3], vec![5, 4, 3], vec![], vec![], vec![], vec![]]);
}

/// B11, B16, B21: slices by kind; a slice reads the same later; a harness can emit only its own kinds.
#[tokio::test(flavor = "multi_thread")]
async fn slices_are_filtered_by_kind() {
    let ops = json!([
        { "op": "events", "kinds": ["user.message", "turn.started"] },
        { "op": "events", "kinds": ["no.such"] },
        { "op": "emit", "kind": "custom.note", "data": { "x": 0.1 } },
        { "op": "emit", "kind": "turn.completed" },
        { "op": "events", "kinds": ["custom.note"], "newest_first": true },
    ]);
    let learned = learned(&ops).await;
    assert_eq!(learned[0].matches("user.message@").count(), 2);
    assert_eq!(learned[0].matches("turn.started@").count(), 2);
    assert_eq!(learned[1], "events: ");
    assert!(learned[3].starts_with("not emitted: ") && learned[3].contains("custom."), "{learned:?}");
    assert_eq!(seqs(&learned[4]).len(), 1);
}

/// A store may read less at once than it is asked for; nothing is passed over for that.
#[tokio::test(flavor = "multi_thread")]
async fn short_reads_lose_nothing() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let says: Vec<Value> = (0..20).map(|n| json!({ "op": "say", "text": n.to_string() })).collect();
    assert_eq!(world.run(&id, &json!(says).to_string()).await, Outcome::Idle);
    let written = world.events(&id).await.0.len() as u64;
    let host = world.host_over(Arc::new(CutStore::reading(world.store.clone(), 3)));
    let ops = json!([
        { "op": "events", "before": written + 1 },
        { "op": "events", "before": written + 1, "newest_first": true },
    ]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("turn.completed").await;
    session.unload().await;
    let learned = world.check(&id).await.learned().pop().unwrap();
    let mut all: Vec<u64> = (1..=written).collect();
    assert_eq!(seqs(&learned[0]), all);
    all.reverse();
    assert_eq!(seqs(&learned[1]), all);
    let replayed = host.replay(&id).await.unwrap();
    assert_eq!((replayed.mismatch, replayed.steps), (None, 2));
}
