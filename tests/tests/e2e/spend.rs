//! What models cost (journal.md R5): reserved before anything is sent, never above the cap, counted whole where
//! nobody knows; a provider that does not answer for now is asked again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_core::money::Usd;
use rewake_models::request_store::{self, NotSent};
use rewake_runtime::live::Live;
use rewake_runtime::{NewSession, PROJECT, host};
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::world::{asked_for, send};
use rewake_tests::{CutStore, Outcome, Running, World};
use rewake_wire::Event;
use serde_json::{Value, json};

/// A scripted model that costs: a tenth of a cent a token.
const PAID: &str =
    "[models.paid]\nprovider = \"scripted\"\nmax_tokens = 100\nprice = { input = 1000, output = 1000 }\n";
/// The same at a thousandth of the price.
const CHEAP: &str =
    "[models.paid]\nprovider = \"scripted\"\nmax_tokens = 100\nprice = { input = 1, output = 1 }\n";

/// A session of the model `paid` that may cost so much, and whose script has so many replies.
fn paid(max_usd: u32, replies: &str) -> Draft {
    let agent = format!("[agent]\nmodel = \"paid\"\nmax_usd = {max_usd}\nscript = \"script.toml\"");
    Draft::scripted().toml(&agent).file("script.toml", replies)
}

fn replies(count: usize) -> String {
    "[[reply]]\ntext = \"Yes.\"\n".repeat(count)
}

/// So many calls of the model, a step each.
fn asks(count: usize) -> Value {
    let ops =
        (0..count).flat_map(|n| [json!({ "op": "model", "text": n.to_string() }), json!({ "op": "more" })]);
    ops.collect()
}

fn nanos(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// What all calls come to, from the journal alone; checks that no more than the cap was ever at stake, and that
/// what died with its host counts whole.
fn added_up(events: &Events, cap: u64) -> u64 {
    let (mut ended, mut before, mut reserved) = (0, 0, 0);
    for event in &events.0 {
        match event.kind.as_str() {
            "model.started" => (before, reserved) = (0, nanos(&event.data["reserved"])),
            "call.retried" => {
                if event.data["why"].is_null() {
                    assert_eq!(nanos(&event.data["cost"]), reserved, "what died counts whole");
                }
                before += nanos(&event.data["cost"]);
                reserved = nanos(&event.data["reserved"]);
            }
            "model.completed" => {
                ended += before + nanos(&event.data["cost"]);
                (before, reserved) = (0, 0);
            }
            "model.lost" => {
                ended += before + reserved;
                (before, reserved) = (0, 0);
            }
            _ => {}
        }
        assert!(ended + before + reserved <= cap, "the cap is passed at {}", event.seq);
    }
    ended
}

async fn spent(world: &World, id: &SessionId) -> u64 {
    host::standing(world.store.as_ref(), id).await.unwrap().session.spent.nanos()
}

const CAP: u64 = 20_000_000_000;

/// C15: the turn ends before a call that could exceed the pinned cap, and so does every later turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_before_the_call_that_could_pass_the_cap() {
    let world = World::new().await;
    world.rule(PAID);
    let id = world.create(&paid(20, &replies(50))).await;
    assert_eq!(world.run(&id, &asks(40).to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let failed = events.first("turn.failed");
    assert_eq!(failed.data["code"], "budget_reached", "{failed:?}");
    let last = events.last("model.completed");
    let why = last.data["outcome"]["budget"].as_str().unwrap();
    assert!(why.contains("may spend $20.00") && why.contains("could cost up to $"), "{why}");
    let start = events.last("model.started");
    assert_eq!(
        (start.data["reserved"].is_null(), last.data["cost"].is_null()),
        (true, true),
        "nothing was sent"
    );
    let total = added_up(&events, CAP);
    assert_eq!(spent(&world, &id).await, total);
    assert_eq!(nanos(&failed.data["cost"]), total);
    // Most of the cap is used: what is reserved is not much more than what it costs.
    assert!(total > CAP / 2, "only {total} was spent");
    assert!(events.count("model.completed") > 5, "{}", events.count("model.completed"));
    // Nothing more is sent, in any turn.
    assert_eq!(world.run(&id, &asks(1).to_string()).await, Outcome::Idle);
    assert_eq!(spent(&world, &id).await, total);
    assert_eq!(world.check(&id).await.last("turn.failed").data["code"], "budget_reached");
}

/// What is recorded is what a replay goes by, whatever the model costs by then and wherever it is replayed.
#[tokio::test(flavor = "multi_thread")]
async fn replay_trips_at_the_same_call() {
    let created = World::new().await;
    created.rule(PAID);
    let id = created.create(&paid(20, &replies(50))).await;
    // One step that asks until it may not, and goes on.
    let mut ops = vec![json!({ "op": "model", "text": "?", "patient": true }); 40];
    ops.insert(30, json!({ "op": "say", "text": "on" }));
    ops.push(json!({ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 1 } }] }));
    let is_over = |events: &Events| {
        let tripped = |event: &&Event| !event.data["outcome"]["budget"].is_null();
        events.0.iter().find(tripped).map(|event| event.seq)
    };
    // Killed once the call that was not sent is in the journal, and the step's end is not.
    let mut cut = None;
    for appends in 1..100 {
        let world = created.copy().await;
        let host = world.host_over(Arc::new(CutStore::new(world.store.clone(), appends)));
        send(&host, &id, &json!(ops).to_string()).await;
        Running::load(&host, &id).await.rest().await;
        let events = world.events(&id).await;
        if let Some(seq) = is_over(&events) {
            assert_eq!(events.count("step.completed"), 0);
            cut = Some((world, seq));
            break;
        }
    }
    let (world, seq) = cut.expect("the cap is reached");
    let recorded = world.events(&id).await.0.len();
    world.rule(CHEAP);
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(is_over(&events), Some(seq), "it trips where it did");
    assert_eq!(events.count("turn.completed"), 1);
    let learned = events.learned().pop().unwrap();
    let refused = learned.iter().position(|line| line == "no answer: budget_reached").expect("it was told");
    assert!(refused > 3 && learned[..refused].iter().all(|line| line == "model: Yes."), "{learned:?}");
    // What comes after the recorded part is live, and goes by what the model costs now.
    assert!(events.0.len() > recorded && learned.last().unwrap().contains(": ok: "), "{learned:?}");
}

/// Wherever the host dies, here and from a copy: the cap holds and everything is counted.
#[tokio::test(flavor = "multi_thread")]
async fn the_cap_holds_wherever_the_host_dies() {
    let script = format!("[[reply]]\ntext = \"Yes.\"\nunavailable = 1\n{}", replies(5));
    let scenario = Scenario::new(paid(20, &script)).ruled(PAID).say(&asks(4)).varies();
    scenario
        .everywhere(|_, _, events| {
            let total = added_up(events, CAP);
            let told: u64 = ["turn.completed", "turn.failed"]
                .into_iter()
                .flat_map(|kind| {
                    events.of_kind(kind).map(|event| nanos(&event.data["cost"])).collect::<Vec<_>>()
                })
                .sum();
            assert_eq!(total, told);
        })
        .await;
}

/// C15: the smaller of the agent's cap and the command's cap is pinned at creation.
#[tokio::test(flavor = "multi_thread")]
async fn the_smaller_cap_is_pinned() {
    let world = World::new().await;
    world.rule(PAID);
    let bundle = world.bundle(&paid(20, &replies(1)));
    for (asked, pinned) in [(None, "20"), (Some("30"), "20"), (Some("0.5"), "0.5")] {
        let max_usd = asked.map(|text| text.parse::<Usd>().unwrap());
        let new = NewSession { bundle: bundle.clone().into(), max_usd, ..asked_for() };
        let made = world.own().create(&new).await.unwrap();
        assert_eq!(made.created.agent.max_usd, Some(pinned.parse::<Usd>().unwrap()), "{asked:?}");
    }
    let free = NewSession { bundle: bundle.into(), model: Some("scripted".into()), ..asked_for() };
    let made = world.own().create(&free).await.unwrap();
    assert_eq!(made.created.agent.model, "scripted", "the model that was named is the one");
    // What costs nothing is not stopped by a cap.
    assert_eq!(world.run(&made.id, &asks(1).to_string()).await, Outcome::Idle);
    assert_eq!(world.check(&made.id).await.count("turn.completed"), 1);
}

/// A provider that is busy is asked again: each attempt is in the journal, and what was shown is canceled.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_provider_is_asked_again() {
    let world = World::new().await;
    let id =
        world.create(&Draft::scripted().model("[[reply]]\ntext = \"At last.\"\nunavailable = 2\n")).await;
    let host = world.host();
    send(&host, &id, &json!([{ "op": "model", "text": "hello" }]).to_string()).await;
    let (_loaded, mut follower) = host.load(&id).await.unwrap();
    let (mut resets, mut activities) = (Vec::new(), Vec::new());
    while let Ok(live) = follower.recv().await {
        match live {
            Live::DeltaReset { attempt, .. } => resets.push(attempt),
            Live::Activity(line) => activities.push(line),
            Live::Idle => break,
            _ => {}
        }
    }
    host.shut_down().await;
    let events = world.check(&id).await;
    assert_eq!(resets, [1, 2]);
    assert!(activities[0].contains("asked again in"), "{activities:?}");
    let retried: Vec<(u64, bool)> = events
        .of_kind("call.retried")
        .map(|event| {
            (nanos(&event.data["n"]), event.data["why"].as_str().unwrap().contains("does not answer"))
        })
        .collect();
    assert_eq!(retried, [(1, true), (2, true)]);
    assert_eq!(events.learned(), [["model: At last."]]);
    assert!(nanos(&events.first("model.completed").data["ms"]) >= 1_500, "it waits between attempts");
}

/// An interrupt ends the wait at once, and nothing of the call is left.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_wait_for_a_provider() {
    let world = World::new().await;
    world.rule(PAID);
    let script = format!("[[reply]]\ntext = \"Never.\"\nunavailable = 1000\n{}", replies(1));
    let id = world.create(&paid(20, &script)).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, &asks(1).to_string()).await;
    // The third wait takes two seconds at least.
    session.event("call.retried").await;
    session.event("call.retried").await;
    let since = Instant::now();
    session.command(Command::Interrupt { turn: 1 }).await.unwrap();
    session.event("turn.interrupted").await;
    assert!(since.elapsed() < Duration::from_millis(1_500), "it took {:?}", since.elapsed());
    assert_eq!(session.rest().await, Outcome::Idle);
    tokio::time::sleep(Duration::from_secs(3)).await;
    session.send("[]").await;
    session.event("turn.completed").await;
    session.unload().await;
    let events = world.check(&id).await;
    assert_eq!((events.count("call.retried"), events.count("model.lost")), (2, 1));
    assert_eq!(spent(&world, &id).await, added_up(&events, CAP));
}

/// A model without a price cannot be capped, and one that is not there not asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_made_says_why() {
    let world = World::new().await;
    world.rule("[models.paid]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9/v1\"\n");
    let id = world.create(&paid(20, &replies(1))).await;
    assert_eq!(world.run(&id, &asks(1).to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let why = events.first("model.completed").data["outcome"]["rejected"].as_str().unwrap().to_owned();
    assert!(why.contains("nobody says what the model \"paid\" costs"), "{why}");
    assert_eq!(events.first("turn.failed").data["code"], "model_rejected");

    let new = NewSession { bundle: world.bundle(&paid(20, &replies(1))).into(), ..asked_for() };
    let made = world.own().create(&NewSession { model: Some("nobody".into()), ..new }).await.unwrap();
    assert_eq!(world.run(&made.id, &asks(1).to_string()).await, Outcome::Idle);
    let events = world.check(&made.id).await;
    assert_eq!(events.first("turn.failed").data["code"], "model_rejected");
    let why = events.first("model.completed").data["outcome"]["rejected"].as_str().unwrap().to_owned();
    assert!(why.contains("\"nobody\""), "{why}");
}

/// What was sent can be read back, and what was not is told.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_read_back() {
    let world = World::new().await;
    let replies = r#"
[[reply]]
text = "Let me look."
[[reply.use]]
tool = "echo"
input = { a = 1 }

[[reply]]
text = "Done."
"#;
    let id = world.create(&Draft::scripted().model(replies)).await;
    let ops =
        json!([{ "op": "model", "text": "do it" }, { "op": "more" }, { "op": "model", "text": "and?" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let seqs: Vec<u64> = events.of_kind("model.started").map(|event| event.seq).collect();
    let store = world.store.as_ref();
    let first = request_store::read(store, PROJECT, &id, seqs[0]).await.unwrap();
    let second = request_store::read(store, PROJECT, &id, seqs[1]).await.unwrap();
    assert_eq!((first.messages.len(), second.messages.len()), (1, 4));
    assert_eq!(second.messages[0], first.messages[0]);
    let shown = serde_json::to_value(&second).unwrap();
    assert_eq!(shown["messages"][1]["content"][1]["tool_use"]["name"], "echo");
    assert_eq!(shown["messages"][2]["content"][0]["tool_result"]["outcome"], "ok");
    assert!(second.tools.iter().any(|tool| tool.name == "echo"));
    for seq in [0, 1, seqs[0] + 1, 10_000] {
        let error = request_store::read(store, PROJECT, &id, seq).await.unwrap_err();
        assert!(matches!(error, NotSent::NoRequest { .. }), "{error}");
        assert!(error.to_string().contains(&seqs[0].to_string()) || seq == 10_000, "{error}");
    }
    // A blob that is not what it was is not shown as what was sent.
    let list =
        events.of_kind("model.started").next().unwrap().data["stored"]["list"].as_str().unwrap().to_owned();
    assert_eq!(list.len(), 64);
    let spoiled = world.tamper("\"text\":\"do it\"", "\"text\":\"do no\"").await;
    let error =
        request_store::read(spoiled.store.as_ref(), PROJECT, &id, seqs[0]).await.unwrap_err().to_string();
    assert!(error.contains("blob") || error.contains("digest"), "{error}");
}
