//! The assistant in a real host: what the model is told is read from what was sent to it.

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_models::request_store;
use rewake_runtime::PROJECT;
use rewake_tests::bundles::{Draft, root};
use rewake_tests::play::Scenario;
use rewake_tests::{Outcome, Running, World};
use serde_json::json;

/// The assistant with the probe's tools and these replies of the model.
pub(crate) fn assistant(replies: &str) -> Draft {
    without_model().model(replies)
}

fn without_model() -> Draft {
    let path = root().join("plugins/assistant/assistant.wasm");
    let component = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; build it with `cargo xtask guests`", path.display()));
    let toml = "[component.harness]\nkind = \"harness\"\nsource = \"assistant.wasm\"\nstate_version = 3\n\n\
                [config.steer]\ntype = \"boolean\"\ndefault = true";
    Draft::new("test/assistant").toml(toml).file("assistant.wasm", component).tools("tool_probe", "rw")
}

/// A reply that uses tools.
fn uses(uses: &[(&str, serde_json::Value)]) -> String {
    let mut reply = json!({ "reply": [] });
    let uses: Vec<_> = uses.iter().map(|(tool, input)| json!({ "tool": tool, "input": input })).collect();
    reply["reply"] = json!([{ "text": "I do it.", "use": uses }, { "text": "I see." }, { "text": "Yes." }]);
    reply.to_string()
}

/// What the newest request told the model, as text.
async fn told(world: &World, id: &SessionId) -> String {
    let events = world.events(id).await;
    let sent = request_store::read(world.store.as_ref(), PROJECT, id, events.last("model.started").seq)
        .await
        .unwrap();
    serde_json::to_string(&sent.messages).unwrap()
}

/// A40, A42, R9: after an interrupt in the middle of calls, the model sees the state of each use, and every use
/// has a result.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_is_told_truthfully() {
    let slow = json!({ "path": "/workspace/log", "line": "a", "sleep_ms": 60_000 });
    let replies = uses(&[
        ("nothing", json!({})),
        ("sleep_pure", json!({ "ms": 1 })),
        ("append_once", slow),
        ("sleep_pure", json!({ "ms": 60_000 })),
    ]);
    let world = World::new().await;
    let id = world.create(&assistant(&replies)).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, "Do it.").await;
    // The one that does not exist, and the short one.
    session.event("tool.completed").await;
    session.event("tool.completed").await;
    session.command(Command::Interrupt { turn: 1 }).await.unwrap();
    session.event("turn.interrupted").await;
    assert_eq!(session.rest().await, Outcome::Idle);
    session.send("What was done?").await;
    session.event("turn.completed").await;
    session.unload().await;
    world.check(&id).await;
    let told = told(&world, &id).await;
    for words in [
        "Do it.",
        "may do it twice",
        "there is no tool",
        "slept 1 ms",
        "before this call was begun: nothing was done",
        "interrupted by a person",
        "What was done?",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// C56, R10: a message that arrives during a step is delivered to the next step of the same turn.
#[tokio::test(flavor = "multi_thread")]
async fn people_steer() {
    let world = World::new().await;
    let id = world.create(&assistant(&uses(&[("sleep_pure", json!({ "ms": 400 }))]))).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, "Do it.").await;
    session.event("tool.started").await;
    session.send("Faster!").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    assert_eq!((events.count("turn.started"), events.count("turn.steered")), (1, 1));
    assert!(told(&world, &id).await.contains("Faster!"));
}

/// R3, R5, R9: wherever the host dies, the conversation is the same, and no call is made twice.
#[tokio::test(flavor = "multi_thread")]
async fn it_comes_to_the_same_wherever_it_is_cut() {
    let line = json!({ "path": "/workspace/log", "line": "a" });
    let ask = json!({ "question": "May I?", "choices": ["yes", "no"] });
    let replies = uses(&[("append_idempotent", line), ("ask_user", ask), ("sleep_pure", json!({ "ms": 1 }))]);
    let message = |text: &str| Command::Message { parts: vec![rewake_wire::Part::text(text)] };
    let scenario = Scenario::new(assistant(&replies))
        .send(message("Do it."))
        .answer("turn_1-1-1", &json!("yes"))
        .send(message("And now?"));
    scenario.everywhere(|_, _, events| assert_eq!(events.count("turn.completed"), 2)).await;
}

/// A call that was lost with its host is told as unknown, and the model is asked on.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_call_is_told_as_unknown() {
    let line = json!({ "path": "/workspace/log", "line": "a" });
    let scenario = Scenario::new(assistant(&uses(&[("append_once", line)])))
        .send(Command::Message { parts: vec![rewake_wire::Part::text("Do it.")] })
        .varies();
    scenario
        .everywhere(|world, id, events| {
            let log = world.workspace_file(id, "log").unwrap_or_default();
            assert!(log.lines().count() <= 1, "a call of class `once` was repeated");
            assert_eq!(events.count("turn.completed"), 1);
        })
        .await;
}

/// R5: at the cap people are told what was done, and the next turn can still say so.
#[tokio::test(flavor = "multi_thread")]
async fn the_spend_cap_ends_the_turn_with_words() {
    let reply = "[[reply]]\ntext = \"On.\"\nuse = [{ tool = \"sleep_pure\", input = { ms = 1 } }]\n";
    let agent = "[agent]\nmodel = \"paid\"\nmax_usd = 20\nscript = \"paid.toml\"";
    let draft = without_model().toml(agent).file("paid.toml", reply.repeat(60));
    let world = World::new().await;
    world.rule(
        "[models.paid]\nprovider = \"scripted\"\nmax_tokens = 100\nprice = { input = 1000, output = 1000 }\n",
    );
    let id = world.create(&draft).await;
    assert_eq!(world.run(&id, "Go on and on.").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.first("turn.failed").data["code"], "budget_reached");
    let said = events.said().pop().unwrap();
    let uses = events.count("tool.completed");
    assert!(uses > 1 && said.contains(&format!("sleep_pure {uses}×")), "{said}");
}
