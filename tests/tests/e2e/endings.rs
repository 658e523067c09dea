//! How steps end that do not end well: each as its own code, and never at another session's cost.

use rewake_core::command::Command;
use rewake_runtime::NewSession;
use rewake_runtime::live::UnloadReason;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::world::{ann, asked_for, send};
use rewake_tests::{Outcome, Running, World};
use serde_json::{Value, json};

/// Runs a failing turn beside another session, and one more turn after it.
async fn fails(bundle: &Draft, ops: &Value, code: &str, how: &str) -> Events {
    let world = World::new().await;
    let (id, other) = (world.create(bundle).await, world.create(&Draft::scripted()).await);
    let host = world.host();
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    let mut neighbour = Running::start(&host, &other, r#"[{ "op": "say", "text": "unharmed" }]"#).await;
    let failed = session.event("turn.failed").await;
    assert_eq!((&failed.data["code"], &failed.data["scope"]), (&json!(code), &json!("turn")), "{failed:?}");
    neighbour.event("turn.completed").await;
    neighbour.unload().await;
    assert_eq!(world.check(&other).await.said()[0], "unharmed");

    assert_eq!(session.rest().await, Outcome::Idle);
    session.send("[]").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    let (first, last) = (events.first("user.message").seq, failed.seq);
    let told = format!("unfinished: {how} {first}-{last}");
    assert!(events.said().last().unwrap().contains(&told), "{:?}", events.said());
    events
}

/// C31, B08: the harness fails its turn; the session continues, from the state before that step.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_leaves_the_session() {
    let ops = json!([{ "op": "say", "text": "before" }, { "op": "fail", "code": "no_luck" }]);
    let events = fails(&Draft::scripted(), &ops, "no_luck", "it failed").await;
    assert_eq!(events.said()[0], "before", "what was said stays said");
    assert_eq!(events.first("turn.failed").data["detail"], "as scripted");
}

/// `N-F3`: a turn whose harness never ends it fails after the steps that the operator, else the bundle, allows. A
/// message continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_has_the_steps_that_its_session_pins() {
    let ops = Value::from(vec![json!({ "op": "more" }); 260]).to_string();
    for (bundle, operator, may) in [(None, None, 200), (Some(4), None, 4), (Some(4), Some(6), 6)] {
        let world = World::new().await;
        let agent = bundle.map(|steps| format!("[agent]\nmax_steps = {steps}"));
        let bundle = world.bundle(&Draft::scripted().toml(&agent.unwrap_or_default())).into();
        let new = NewSession { bundle, max_steps: operator, ..asked_for() };
        let id = world.own().create(&new).await.unwrap().id;
        assert_eq!(world.run(&id, &ops).await, Outcome::Idle);
        let events = world.check(&id).await;
        assert_eq!(events.first("session.created").data["agent"]["max_steps"], may);
        assert_eq!(events.count("step.completed"), may);
        let failed = events.first("turn.failed");
        let detail = failed.data["detail"].as_str().unwrap();
        assert_eq!(failed.data["code"], "steps");
        assert!(detail.contains(&format!("at most {may} steps: send a message to continue")), "{detail}");
        assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
        assert_eq!(world.check(&id).await.count("turn.completed"), 1);
    }
}

/// C23, C32, C93: the harness fails its session; every row is answered, and no more are accepted.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_session_is_over() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let ops = json!([
        { "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 1_000 } }] },
        { "op": "fail", "session": true, "code": "broken" },
    ]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    send(&host, &id, "too late").await;
    assert_eq!(session.rest().await, Outcome::Gone(UnloadReason::Ended));
    let message = Command::Stop { reason: String::new() };
    let refused = host.send(&id, ann(), message, None).await.unwrap_err();
    assert!(refused.to_string().contains("the session is failed"), "{refused}");
    let events = world.check(&id).await;
    assert_eq!(events.first("session.failed").data["code"], "broken");
    assert_eq!(events.first("command.rejected").data["n"], 2);
    let last = events.0.last().unwrap();
    assert_eq!((last.kind.as_str(), &last.data["scope"]), ("turn.failed", &json!("session")));
    assert_eq!(world.store.session(&id).await.unwrap().unwrap().status.as_str(), "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_fails_the_turn() {
    let crashed = "the agent's program crashed";
    let events = fails(&Draft::scripted(), &json!([{ "op": "trap" }]), "trapped", crashed).await;
    let lines = events.first("log.lines").data["lines"].to_string();
    assert!(lines.contains("this harness crashes, as scripted"), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fuel_runs_out() {
    let bundle = Draft::scripted().harness_limits("fuel = 50_000_000");
    let crashed = "the agent's program crashed";
    let events = fails(&bundle, &json!([{ "op": "spin" }]), "out_of_fuel", crashed).await;
    assert_eq!(events.first("step.aborted").data["how"], "trapped");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_runs_out() {
    let bundle = Draft::scripted().harness_limits("memory = \"16MiB\"");
    let crashed = "the agent's program crashed";
    fails(&bundle, &json!([{ "op": "grow" }]), "out_of_memory", crashed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_runs_out_while_the_harness_computes() {
    let bundle = Draft::scripted().harness_limits("timeout = \"700ms\"");
    let late = "it took too long and was stopped";
    fails(&bundle, &json!([{ "op": "spin" }]), "timed_out", late).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_runs_out_while_a_tool_runs() {
    let bundle = Draft::scripted().harness_limits("timeout = \"700ms\"");
    let late = "it took too long and was stopped";
    let ops = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 4_000 } }] }]);
    let events = fails(&bundle, &ops, "timed_out", late).await;
    assert_eq!(events.first("tool.lost").data["why"], "interrupted");
}

/// What a step asks for that cannot be is the turn's failure, with the reason.
#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_wish_fails_the_turn() {
    let events = fails(&Draft::scripted(), &json!([{ "op": "wait" }]), "invalid_answer", "it failed").await;
    let detail = events.first("turn.failed").data["detail"].as_str().unwrap();
    assert!(detail.contains("neither a time nor a message"), "{detail}");
    let ops = json!([{ "op": "ask", "id": "", "text": "?" }]);
    fails(&Draft::scripted(), &ops, "invalid_answer", "it failed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_explains_its_own_failures() {
    let ops = json!("no list of operations");
    let events = fails(&Draft::scripted(), &ops, "bad_script", "it failed").await;
    assert!(events.first("turn.failed").data["detail"].as_str().unwrap().contains("no list of operations"));
    let ops = json!([{ "op": "model", "text": "hi" }]);
    let events = fails(&Draft::scripted(), &ops, "model_rejected", "it failed").await;
    assert!(events.first("turn.failed").data["detail"].as_str().unwrap().contains("has no script"));
}
