//! Models as a capability: every harness calls the session's model, another one only where it asks for it and is
//! granted it.

use std::net::TcpListener;

use rewake_bundle::Bundle;
use rewake_core::ids::SessionId;
use rewake_runtime::NewSession;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::world::asked_for;
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};

/// Two models beside the session's own. They cost, so that a call that is made shows in what is spent.
const RULES: &str = "[models.fast]\nprovider = \"scripted\"\nmax_tokens = 100\nprice = { input = 1, output = 1 }\n\
                     [models.slow]\nprovider = \"scripted\"\nmax_tokens = 100\nprice = { input = 1, output = 1 }\n";
const REPLIES: &str = "[[reply]]\ntext = \"Yes.\"\n[[reply]]\ntext = \"Again.\"\n";

/// A scripted session whose harness asks for these models.
fn asking(models: &str) -> Draft {
    Draft::scripted().toml(&format!("[component.harness.asks]\nmodels = [{models}]")).model(REPLIES)
}

/// Calls a model; a call that is denied is learned.
fn call(model: Option<&str>) -> Value {
    json!({ "op": "model", "text": "hello", "model": model, "patient": true })
}

/// Runs a turn of these calls, and returns what the harness learned of each and the journal.
async fn run(world: &World, id: &SessionId, calls: &[Value]) -> (Vec<String>, Events) {
    assert_eq!(world.run(id, &json!(calls).to_string()).await, Outcome::Idle);
    let events = world.check(id).await;
    (events.learned().pop().unwrap_or_default(), events)
}

/// Why each call was denied; none: it was made.
fn denied(events: &Events) -> Vec<Option<String>> {
    let why = |event: &rewake_wire::Event| event.data["outcome"]["denied"].as_str().map(str::to_owned);
    events.of_kind("model.completed").map(why).collect()
}

fn allow(bundle: &std::path::Path, asks: &str) -> String {
    let bundle = Bundle::load(bundle).expect("a bundle");
    let (name, digest) = (bundle.name(), bundle.digest());
    format!("{RULES}[[allow]]\nbundle = \"{name}\"\ndigest = \"blake3:{digest}\"\nasks = [{asks}]\n")
}

/// `N-G4`: whatever the operator has configured, a harness that asks for no model calls the session's own and no
/// other. A call of another one is recorded, costs nothing, and is answered with the reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_asks_for_none_calls_the_session_s_model_only() {
    let world = World::new().await;
    world.rule(RULES);
    let id = world.create(&Draft::scripted().model(REPLIES)).await;
    let calls = [call(Some("fast")), call(Some("openai/m")), call(None), call(Some("scripted"))];
    let (learned, events) = run(&world, &id, &calls).await;
    let no = "no answer: model_denied";
    assert_eq!(learned, [no, no, "model: Yes.", "model: Again."]);
    let denied = denied(&events);
    let why = denied[0].as_deref().unwrap();
    for words in ["test/scripted:harness", "\"fast\"", "does not ask for it", "session's model, \"scripted\""]
    {
        assert!(why.contains(words), "{words}: {why}");
    }
    assert!(denied[1].is_some() && denied[2].is_none() && denied[3].is_none(), "{denied:?}");
    let start = events.first("model.started");
    assert_eq!(start.data["model"], "fast");
    assert!(start.data.get("provider").is_none() && start.data.get("reserved").is_none(), "{start:?}");
    assert!(events.first("model.completed").data.get("cost").is_none());
    // The start and its end are one transaction: nothing came between them.
    assert_eq!(events.first("model.completed").seq, start.seq + 1);
}

/// `N-G4`: the manifest asks, an operator allows, and no more than both say is granted and pinned.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_granted_where_it_is_asked_for_and_allowed() {
    let fast = "{ name = \"fast\", why = \"titles\" }";
    let any = "{ name = \"*\" }";
    for (asked, allowed, pinned, may) in [
        (fast, "\"model:fast\"", json!({ "models": ["fast"] }), [true, false]),
        (fast, "\"model:*\"", json!({ "models": ["fast"] }), [true, false]),
        (fast, "\"model:slow\"", json!({}), [false, false]),
        (fast, "", json!({}), [false, false]),
        (any, "\"model:slow\"", json!({ "models": ["slow"] }), [false, true]),
        (any, "\"model:*\"", json!({ "models": ["*"] }), [true, true]),
    ] {
        let world = World::new().await;
        let bundle = world.bundle(&asking(asked));
        world.rule(&allow(&bundle, allowed));
        let new = NewSession { bundle: bundle.into(), approval: None, ..asked_for() };
        let id = world.own().create(&new).await.unwrap().id;
        let calls = [call(Some("fast")), call(Some("slow")), call(Some("openai/m"))];
        let (learned, events) = run(&world, &id, &calls).await;
        let created = &events.first("session.created").data["components"];
        assert_eq!(created[0]["grants"], pinned, "{asked} {allowed}");
        let made: Vec<bool> = learned.iter().map(|line| line.starts_with("model: ")).collect();
        // `*` means the models of rewake.toml, and not whatever a provider has.
        assert_eq!(made, [may[0], may[1], false], "{asked} {allowed}: {learned:?}");
        for why in denied(&events).into_iter().flatten() {
            let words = ["was not granted", "does not ask for it", "models that rewake.toml describes"];
            assert!(words.iter().any(|words| why.contains(words)), "{why}");
        }
    }
}

/// `N-G4`, R11: what the rules take away is gone at the next load, and is journaled.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_no_longer_allowed_is_denied_from_the_next_load_on() {
    let world = World::new().await;
    let bundle = world.bundle(&asking("{ name = \"fast\" }"));
    world.rule(&allow(&bundle, "\"model:fast\""));
    let new = NewSession { bundle: bundle.clone().into(), approval: None, ..asked_for() };
    let id = world.own().create(&new).await.unwrap().id;
    assert_eq!(run(&world, &id, &[call(Some("fast"))]).await.0, ["model: Yes."]);
    world.rule(&allow(&bundle, ""));
    let (learned, events) = run(&world, &id, &[call(Some("fast")), call(None)]).await;
    assert_eq!(learned, ["no answer: model_denied", "model: Again."]);
    assert_eq!(events.first("grants.changed").data["from"], json!({ "models": ["fast"] }));
}

/// `N-G4`: a session with the scripted model asks no provider, not even for a model that is granted.
#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_session_reaches_no_provider() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let world = World::new().await;
    let model = format!(
        "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://{}/v1\"\n",
        listener.local_addr().unwrap()
    );
    world.rule(&format!("[models.default]\n{model}[models.fast]\n{model}"));
    let draft = asking("{ name = \"fast\" }");
    let draft =
        draft.clone().with_manifest(&draft.manifest().replace("[agent]", "[agent]\nmodel = \"default\""));
    let bundle = world.bundle(&draft).into();
    let new = NewSession { bundle, model: Some("scripted".into()), ..asked_for() };
    let id = world.own().create(&new).await.unwrap().id;
    let calls = [call(Some("default")), call(Some("fast")), call(None)];
    let (learned, events) = run(&world, &id, &calls).await;
    assert_eq!(learned, ["no answer: model_denied", "no answer: model_denied", "model: Yes."]);
    assert!(events.of_kind("model.started").all(|start| start.data.get("provider").is_none()));
    let why = denied(&events)[1].clone().unwrap();
    assert!(why.contains("session's model is \"scripted\""), "{why}");
    assert!(listener.accept().is_err(), "a provider was asked");
}

/// `N-G4`, R6: wherever the host dies, the same calls are denied.
#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_is_denied_wherever_the_host_dies() {
    let calls = json!([call(Some("fast")), call(Some("slow")), call(None)]);
    Scenario::new(asking("{ name = \"slow\" }"))
        .ruled(RULES)
        .say(&calls)
        .everywhere(|_, _, events| {
            let denied: Vec<bool> = denied(events).iter().map(Option::is_some).collect();
            assert_eq!(denied, [true, false, false]);
        })
        .await;
}
