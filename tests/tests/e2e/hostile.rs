//! Guests that mean harm, or behave as if they did, in every export of every kind: each is ended, typed and
//! journaled, and nobody beside it is any the worse.

use rewake_runtime::{HostError, PlanError};
use rewake_tests::bundles::{Draft, guest};
use rewake_tests::hostile::{DEEDS, Deed, component, with_harness, with_hook, with_tool};
use rewake_tests::journal::Events;
use rewake_tests::{Outcome, Running, World};
use serde_json::{Value, json};

/// A call of one tool.
fn call(name: &str, input: &Value) -> String {
    json!([{ "op": "tools", "uses": [{ "name": name, "input": input }] }]).to_string()
}

/// Deeds that an initialiser can do: it has no imports yet, and returns nothing.
fn of_initialisers() -> impl Iterator<Item = &'static Deed> {
    DEEDS.iter().filter(|deed| !deed.text.contains("$log") && !deed.text.contains("return"))
}

async fn ran(world: &World, bundle: &Draft, message: &str) -> Events {
    let id = world.create(bundle).await;
    assert_eq!(world.run(&id, message).await, Outcome::Idle);
    world.check(&id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_called() {
    let world = World::new().await;
    let honest = ran(&world, &with_tool(component("tool", "none", "")), &call("act", &json!({}))).await;
    assert_eq!(honest.learned(), [["use-1: ok: done"]]);
    for Deed { name, text, code } in &DEEDS {
        let events = ran(&world, &with_tool(component("tool", "call", text)), &call("act", &json!({}))).await;
        let told = format!("use-1: error: the tool was ended ({code})");
        assert!(events.learned()[0][0].starts_with(&told), "it {name}: {:?}", events.learned());
        assert_eq!(events.first("tool.completed").data["outcome"], "error", "it {name}");
    }
}

/// Its tools are asked for before there is a session; there is none then, and it is said why.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_asked_what_it_is() {
    let world = World::new().await;
    let starts = of_initialisers().map(|deed| ("start", deed));
    for (export, Deed { name, text, code }) in DEEDS.iter().map(|deed| ("list-tools", deed)).chain(starts) {
        let refused = world.try_create(&with_tool(component("tool", export, text))).await.unwrap_err();
        let HostError::Plan(PlanError::Tools { component, why }) = &refused else { panic!("{refused}") };
        assert_eq!(component, "test/hostile:hostile");
        assert!(why.starts_with(&format!("list-tools was ended ({code})")), "it {name}: {why}");
    }
    assert!(world.store.list_sessions(10, None).await.unwrap().is_empty());
}

/// What a hook's failure means is denial, unless its author says otherwise; the tool does not run.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook() {
    let world = World::new().await;
    let append = call("append_once", &json!({ "path": "/workspace/log", "line": "x" }));
    let honest = ran(&world, &with_hook(component("hook", "none", "")), &append).await;
    assert_eq!(honest.learned(), [["use-1: ok: appended x"]]);
    let starts = of_initialisers().map(|deed| ("start", deed));
    for (export, Deed { name, text, code }) in DEEDS.iter().map(|deed| ("handle", deed)).chain(starts) {
        let id = world.create(&with_hook(component("hook", export, text))).await;
        assert_eq!(world.run(&id, &append).await, Outcome::Idle);
        let events = world.check(&id).await;
        assert!(events.learned()[0][0].starts_with("use-1: denied: "), "it {name}: {:?}", events.learned());
        let verdict = &events.first("hook.verdict").data;
        assert!(verdict["error"].as_str().unwrap().contains(code), "it {name}: {verdict}");
        assert_eq!((events.count("tool.started"), world.workspace_file(&id, "log")), (0, None), "it {name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness() {
    let world = World::new().await;
    let honest = ran(&world, &with_harness(component("harness", "none", "")), "hello").await;
    assert_eq!(honest.count("turn.completed"), 1);
    let exports = ["step", "save"].map(|export| DEEDS.iter().map(move |deed| (export, deed)));
    let starts = of_initialisers().map(|deed| ("start", deed));
    for (export, Deed { name, text, code }) in exports.into_iter().flatten().chain(starts) {
        let events = ran(&world, &with_harness(component("harness", export, text)), "hello").await;
        let failed = &events.first("turn.failed").data;
        // What is handed over while saving counts with the state.
        let code = if (export, *code) == ("save", "too_much_data") { "state_too_large" } else { code };
        assert_eq!(failed["code"], code, "in {export} it {name}: {failed}");
        assert_eq!(events.count("step.aborted"), 1);
    }
}

/// A harness that dies of its own state fails its turn, again and again, and the session stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_is_given_its_state() {
    let world = World::new().await;
    for Deed { name, text, code } in &DEEDS {
        let id = world.create(&with_harness(component("harness", "load", text))).await;
        let host = world.host();
        let mut session = Running::start(&host, &id, "one").await;
        session.event("turn.completed").await;
        for _ in 0..2 {
            session.send("two").await;
            let failed = session.event("turn.failed").await;
            assert_eq!(failed.data["code"], *code, "it {name}: {failed:?}");
        }
        session.unload().await;
        world.check(&id).await;
    }
}

/// R13: a state over its limit fails the turn, whether the contract can still carry it or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_too_large() {
    let world = World::new().await;
    for bytes in [(16 << 20) + 1, 17 << 20, 100 << 20] {
        let text = format!(
            "(drop (memory.grow (i32.const 1700)))
             (i32.store (i32.const 260) (i32.const 4096)) (i32.store (i32.const 264) (i32.const {bytes}))"
        );
        let bundle = with_harness(component("harness", "save", &text));
        let manifest = bundle.manifest().replace("memory = \"32MiB\"", "memory = \"200MiB\"");
        let bundle = bundle.with_manifest(&manifest);
        let events = ran(&world, &bundle, "hello").await;
        let failed = &events.first("turn.failed").data;
        assert_eq!(failed["code"], "state_too_large", "{bytes} bytes: {failed}");
        assert_eq!(events.count("step.completed"), 0);
    }
}

/// What is in no grant is not there, for any kind: no environment, no arguments, no sockets, no names, no
/// processes, no threads, no files.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_granted_is_not_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = World::new().await;
    let hook = Draft::new("test/snoop")
        .harness("harness_script")
        .tools("tool_hostile", "ro")
        .toml(&format!("[config.port]\ntype = \"integer\"\ndefault = {port}"))
        .toml("[component.hook]\nkind = \"hook\"\nsource = \"hook_hostile.wasm\"\n[[component.hook.on]]\nevent = \"PreToolUse\"")
        .file("hook_hostile.wasm", guest("hook_hostile"));
    let ops = json!([
        { "op": "snoop", "port": port },
        { "op": "tools", "uses": [{ "name": "look", "input": { "port": port } }] },
    ]);
    let events = ran(&world, &hook, &ops.to_string()).await;
    let learned = events.learned().pop().unwrap();
    assert_eq!(learned.len(), 3, "{learned:?}");
    for (kind, lines) in ["harness", "tool", "hook"].iter().zip(&learned) {
        assert!(lines.contains("environment: 0\narguments: 0\n"), "{kind}: {lines}");
        assert!(!lines.contains(": there"), "{kind}: {lines}");
        assert_eq!(lines.matches(": (").count(), 11, "{kind}: {lines}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody came in");
}

/// Endless output is dropped beyond its limit, and said to be; the journal stays small.
#[tokio::test(flavor = "multi_thread")]
async fn endless_output() {
    let limits = "fuel = 300_000_000\ntimeout = \"20s\"";
    let bundle =
        Draft::new("test/flood").harness("harness_script").tools_within("tool_hostile", "ro", limits);
    let world = World::new().await;
    let events = ran(&world, &bundle, &call("flood", &json!({}))).await;
    assert!(events.learned()[0][0].contains("the tool was ended (out_of_fuel)"), "{:?}", events.learned());
    let lines = &events.first("log.lines").data;
    assert!(lines["dropped"].as_u64() > Some(0) && lines.to_string().len() < 1 << 20, "{}", lines["dropped"]);
}

/// A hook's own time runs while it waits on the host.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_sleeps_past_its_deadline() {
    let on = "[[component.probe.on]]\nevent = \"PreToolUse\"\ntimeout = \"200ms\"";
    let bundle = Draft::scripted().hook(&[("sleep_ms", "60000")], on);
    let events = ran(&World::new().await, &bundle, &call("sleep_pure", &json!({ "ms": 0 }))).await;
    assert!(events.learned()[0][0].starts_with("use-1: denied: "), "{:?}", events.learned());
    let error = events.first("hook.verdict").data["error"].as_str().unwrap().to_owned();
    assert!(error.contains("timed_out"), "{error}");
    assert_eq!(events.count("tool.started"), 0);
}
