//! Every session is also cut after every transaction, taken up by another host, and must come to the same.

use std::sync::Arc;

use rewake_core::ids::SessionId;
use rewake_tests::bundles::Draft;
use rewake_tests::world::{rest, send};
use rewake_tests::{CutStore, Outcome, World};
use serde_json::{Value, json};

/// Runs a session whose host is killed after `appends` appends, and again without a kill. Returns whether
/// the kill came before the session rested.
async fn cut(world: &World, id: &SessionId, message: &str, appends: i64) -> bool {
    let store = Arc::new(CutStore::new(world.store.clone(), appends));
    let host = world.host_over(store.clone());
    send(&host, id, message).await;
    let outcome = rest(&host, id).await;
    if outcome == Outcome::Idle && !store.is_cut() {
        host.shut_down().await;
        return false;
    }
    drop(host);
    assert_eq!(world.resume(id).await, Outcome::Idle);
    true
}

/// Runs it uncut, then cut after each append, and compares what was learned.
async fn everywhere(bundle: &Draft, ops: &Value, check: impl Fn(&World, &SessionId, &[String])) {
    let message = ops.to_string();
    let whole = World::new().await;
    let id = whole.create(bundle).await;
    assert_eq!(whole.run(&id, &message).await, Outcome::Idle);
    let events = whole.check(&id).await;
    let expected = events.learned();
    assert_eq!(expected.len(), 1, "{:?}", events.kinds());
    let mut appends = 0;
    loop {
        let world = World::with_snapshots(3).await;
        let id = world.create(bundle).await;
        if !cut(&world, &id, &message, appends).await {
            break;
        }
        let events = world.check(&id).await;
        let learned = events.learned();
        assert_eq!(learned.len(), 1, "cut after {appends}: {:?}", events.kinds());
        check(&world, &id, &learned[0]);
        if !learned[0].iter().any(|line| line.contains("unknown")) {
            assert_eq!(learned, expected, "cut after {appends}");
        }
        appends += 1;
        assert!(appends < 200, "it never comes to an end");
    }
    assert!(appends > 3, "it was cut {appends} times only");
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_without_effects() {
    let ops = json!([
        { "op": "say", "text": "one" },
        { "op": "more" },
        { "op": "emit", "kind": "custom.note", "data": { "x": 0.1 } },
        { "op": "list_tools" },
        { "op": "more" },
        { "op": "title", "text": "cut" },
        { "op": "log", "text": "a line" },
        { "op": "say", "text": "two" },
    ]);
    // `emit` learns a seq, which differs where a load stands before it; so it is not learned here.
    let ops: Value = ops.as_array().unwrap().iter().filter(|op| op["op"] != "emit").cloned().collect();
    everywhere(&Draft::scripted(), &ops, |_, _, _| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_every_class() {
    let append =
        |name: &str, line: &str| json!({ "name": name, "input": { "path": "/workspace/log", "line": line } });
    let ops = json!([
        { "op": "tools", "uses": [append("append_idempotent", "a"), append("append_once", "b")] },
        { "op": "more" },
        { "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 1 } }, { "name": "fail", "input": { "message": "no" } }, { "name": "nothing" }] },
        { "op": "tools", "uses": [append("append_once", "c")] },
    ]);
    everywhere(&Draft::scripted(), &ops, |world, id, _| {
        let log = world.workspace_file(id, "log").unwrap_or_default();
        let count = |line: &str| log.lines().filter(|other| *other == line).count();
        assert!(count("a") >= 1, "an idempotent call was lost");
        assert!(count("b") <= 1 && count("c") <= 1, "a call of class `once` was repeated: {log}");
    })
    .await;
}
