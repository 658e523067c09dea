//! What kills its host must not loop (journal.md R5): a call, then its step, is given up after a few tries.

use std::sync::Arc;

use rewake_core::ids::SessionId;
use rewake_core::limits::{RERUNS_MAX, RETRIES_MAX};
use rewake_tests::bundles::Draft;
use rewake_tests::world::send;
use rewake_tests::{CutStore, Outcome, Running, World};
use serde_json::json;

/// Has one host after another load the session, each killed after so many appends.
async fn killed(world: &World, id: &SessionId, times: u32, appends: i64) {
    for _ in 0..times {
        let host = world.host_over(Arc::new(CutStore::new(world.store.clone(), appends)));
        let outcome = Running::load(&host, id).await.rest().await;
        assert!(matches!(outcome, Outcome::Gone(_)), "{outcome:?}");
    }
}

/// A call that never comes to an end is lost; the harness is told, and the turn goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_given_up() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let uses = json!([{ "name": "sleep_pure", "input": { "ms": 1 } }]);
    send(world.own(), &id, &json!([{ "op": "tools", "uses": uses }]).to_string()).await;
    killed(&world, &id, RETRIES_MAX + 1, 2).await;
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.count("call.retried"), RETRIES_MAX as usize);
    assert_eq!(events.first("tool.lost").data["why"], "limit");
    assert_eq!(events.learned(), [["use-1: unknown: "]]);
    assert_eq!(events.count("turn.completed"), 1);
}

/// So is a hook; its `on_error` decides.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_given_up() {
    let world = World::new().await;
    let bundle = Draft::scripted().hook(&[], "[[component.probe.on]]\nevent = \"PreToolUse\"");
    let id = world.create(&bundle).await;
    let uses = json!([{ "name": "sleep_pure", "input": { "ms": 1 } }]);
    send(world.own(), &id, &json!([{ "op": "tools", "uses": uses }]).to_string()).await;
    killed(&world, &id, 1, 3).await;
    killed(&world, &id, RETRIES_MAX, 2).await;
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    let verdict = events.first("hook.verdict");
    assert_eq!(
        (&verdict.data["decision"], &verdict.data["error"]),
        (&json!("deny"), &json!("it was tried too often"))
    );
    assert!(events.learned()[0][0].starts_with("use-1: denied: "), "{:?}", events.learned());
}

/// A step that adds nothing fails its turn; the next one is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_given_up() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    send(world.own(), &id, "[]").await;
    killed(&world, &id, RERUNS_MAX + 1, 1).await;
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.count("step.rerun"), RERUNS_MAX as usize);
    assert_eq!(events.first("turn.failed").data["code"], "reruns");
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    assert!(world.check(&id).await.said().last().unwrap().contains("unfinished: it failed"));
}

/// An orderly end of the host is no such try, however often it comes.
#[tokio::test(flavor = "multi_thread")]
async fn letting_go_is_no_try() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let uses = json!([{ "name": "sleep_pure", "input": { "ms": 1_000 } }]);
    send(world.own(), &id, &json!([{ "op": "tools", "uses": uses }]).to_string()).await;
    for n in 0..RERUNS_MAX + 2 {
        let host = world.host();
        let mut session = Running::load(&host, &id).await;
        session.event(if n == 0 { "tool.started" } else { "call.retried" }).await;
        session.unload().await;
    }
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.learned(), [["use-1: ok: slept 1000 ms"]]);
    assert_eq!(events.count("tool.lost"), 0);
}
