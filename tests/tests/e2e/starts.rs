//! Hooks on the session's start: once per load that runs a step, `startup` once in the session's life.

use std::sync::Arc;

use rewake_core::ids::SessionId;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::world::send;
use rewake_tests::{CutStore, Outcome, Running, World};
use serde_json::json;

/// Hook 0 is for `startup`, hook 1 for every source.
const BOTH: &str = "[[component.probe.on]]\nevent = \"SessionStart\"\nmatcher = \"startup\"\n\n[[component.probe.on]]\nevent = \"SessionStart\"";

fn bundle() -> Draft {
    Draft::scripted().hook(&[], BOTH)
}

/// The sources that a hook was asked with.
fn sources(events: &Events, hook: u64) -> Vec<&str> {
    let asked = events.of_kind("hook.started").filter(|event| event.data["hook"] == hook);
    asked.map(|event| event.data["source"].as_str().unwrap()).collect()
}

fn verdicts(events: &Events, hook: u64) -> usize {
    events.of_kind("hook.verdict").filter(|event| event.data["hook"] == hook).count()
}

/// A36, X10: the contexts of a start hook reach the first step; the source is `resume` on every later load.
#[tokio::test(flavor = "multi_thread")]
async fn the_start_is_told_before_the_first_step() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(
        events.learned(),
        [vec!["context: source=startup", "context: source=startup"], vec!["context: source=resume"]]
    );
    assert!(events.first("hook.verdict").seq < events.first("step.started").seq);
}

/// A34, A37, A38: five loads, a kill and another load: `startup` once, and one verdict for each load.
#[tokio::test(flavor = "multi_thread")]
async fn startup_is_told_once_and_every_load_once() {
    let world = World::with_snapshots(3).await;
    let id = world.create(&bundle()).await;
    for _ in 0..5 {
        assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    }
    kill_in_a_turn(&world, &id).await;
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(sources(&events, 0), ["startup"]);
    assert_eq!(sources(&events, 1), ["startup", "resume", "resume", "resume", "resume", "resume", "resume"]);
    assert_eq!((verdicts(&events, 0), verdicts(&events, 1)), (1, 7));
    assert_eq!(events.count("session.loaded"), 7);
}

/// The step is begun, and then nothing more is written.
async fn kill_in_a_turn(world: &World, id: &SessionId) {
    let host = world.host_over(Arc::new(CutStore::new(world.store.clone(), 3)));
    send(&host, id, r#"[{ "op": "say", "text": "cut" }]"#).await;
    let outcome = Running::load(&host, id).await.rest().await;
    assert_ne!(outcome, Outcome::Idle);
    assert_eq!(world.events(id).await.0.last().unwrap().kind, "step.started");
}

/// A load that runs no step tells nobody; the next one that does is still the `startup`.
#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_does_nothing_is_not_told() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    for _ in 0..2 {
        assert_eq!(world.resume(&id).await, Outcome::Idle);
    }
    assert_eq!(world.events(&id).await.count("hook.started"), 0);
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(sources(&events, 0), ["startup"]);
}

/// Several turns of one load are one start.
#[tokio::test(flavor = "multi_thread")]
async fn several_turns_are_one_start() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    let host = world.host();
    let mut session = Running::rested(&host, &id).await;
    for _ in 0..3 {
        session.send("[]").await;
        session.event("turn.completed").await;
    }
    session.unload().await;
    assert_eq!(verdicts(&world.check(&id).await, 1), 1);
}

/// A hook that fails on the start says nothing, and the session goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_hook_does_not_keep_the_session_from_starting() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted().hook(&[("trap_on", "SessionStart")], BOTH)).await;
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.learned(), [Vec::<String>::new()]);
    assert!(events.of_kind("hook.verdict").all(|event| event.data["error"].is_string()));
}

/// R5, A37: wherever the host is killed, `startup` is judged once, and each step gets the context of its load.
#[tokio::test(flavor = "multi_thread")]
async fn starts_everywhere() {
    let scenario = Scenario::new(bundle())
        .say(&json!([{ "op": "say", "text": "one" }, { "op": "more" }, { "op": "say", "text": "two" }]))
        .varies();
    scenario
        .everywhere(|_, _, events| {
            assert_eq!(verdicts(events, 0), 1);
            assert!(verdicts(events, 1) <= events.count("session.loaded"));
            let learned = events.learned().pop().unwrap();
            let startups = learned.iter().filter(|line| line.ends_with("source=startup")).count();
            assert!(startups == 2, "{learned:?}");
        })
        .await;
}
