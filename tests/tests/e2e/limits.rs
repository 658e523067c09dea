//! Bounds that an operator sets, that a component cannot set itself, and that are of more than one guest.

use rewake_runtime::{HostError, NewSession, PlanError};
use rewake_tests::bundles::Draft;
use rewake_tests::hostile::{component, component_with, with_harness, with_hook, with_tool};
use rewake_tests::journal::Events;
use rewake_tests::world::asked_for;
use rewake_tests::{Outcome, World};
use serde_json::json;

const LOOPS: &str = "(loop $on (br $on))";
const GROWS: &str = "(drop (memory.grow (i32.const 2000)))";

/// A world with these rules.
async fn ruled(rules: &str) -> World {
    let world = World::new().await;
    std::fs::write(world.path().join("rewake.toml"), rules).expect("the rules");
    world
}

/// Without the limits that the bundles of hostile guests set themselves.
fn unlimited(bundle: Draft) -> Draft {
    let lines = bundle.manifest().lines();
    let is_limit = |line: &&str| ["memory", "fuel", "timeout"].iter().any(|key| line.starts_with(key));
    let manifest: Vec<&str> = lines.filter(|line| !is_limit(line)).collect();
    let manifest = manifest.join("\n");
    bundle.with_manifest(&manifest)
}

async fn ran(world: &World, bundle: &Draft, message: &str) -> Events {
    let id = world.create(bundle).await;
    assert_eq!(world.run(&id, message).await, Outcome::Idle);
    world.check(&id).await
}

fn act(times: usize) -> String {
    json!([{ "op": "tools", "uses": vec![json!({ "name": "act", "input": {} }); times] }]).to_string()
}

/// Every key of `[limits.tool]`, `[limits.hook]` and `[limits.harness]`: what it bounds is ended by it, and
/// is not without.
#[tokio::test(flavor = "multi_thread")]
async fn each_bound_of_the_operator_ends_what_it_bounds() {
    let cases = [
        ("fuel = 1_000_000", "out_of_fuel", LOOPS),
        ("memory = \"16MiB\"", "out_of_memory", GROWS),
        ("timeout = \"100ms\"", "timed_out", LOOPS),
    ];
    for (bound, code, text) in cases {
        for (kind, export) in [("tool", "call"), ("hook", "handle"), ("harness", "step")] {
            let world = ruled(&format!("[limits.{kind}]\n{bound}")).await;
            let guest = component(kind, export, text);
            let events = match kind {
                "tool" => ran(&world, &unlimited(with_tool(guest)), &act(1)).await,
                "hook" => {
                    let use_one = json!([{ "op": "tools", "uses": [{ "name": "echo", "input": {} }] }]);
                    ran(&world, &unlimited(with_hook(guest)), &use_one.to_string()).await
                }
                _ => ran(&world, &unlimited(with_harness(guest)), "hello").await,
            };
            let said = events.0.iter().map(|event| event.data.to_string()).collect::<String>();
            assert!(said.contains(code), "{bound} of a {kind}: {said}");
        }
    }
}

/// A hook has no output of its own that is bounded by it, nor has a harness.
#[tokio::test(flavor = "multi_thread")]
async fn only_tools_have_a_bound_of_output() {
    for kind in ["hook", "harness"] {
        let world = World::new().await;
        let host = world.own();
        std::fs::write(world.path().join("rewake.toml"), format!("[limits.{kind}]\noutput = \"1KiB\""))
            .unwrap();
        let refused =
            host.create(&NewSession { bundle: world.bundle(&Draft::scripted()).into(), ..asked_for() }).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("unknown key `output`"), "{why}");
    }
}

/// Where no operator says anything, a manifest does not get what it likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_sets_itself_no_more_than_this_version_gives() {
    let world = World::new().await;
    let bundle = with_harness(component("harness", "none", ""));
    let greedy = bundle
        .manifest()
        .replace("memory = \"32MiB\"", "memory = \"4GiB\"")
        .replace("fuel = 20_000_000", "fuel = 9_000_000_000_000_000_000")
        .replace("timeout = \"20s\"", "timeout = \"24h\"");
    let id = world.create(&bundle.with_manifest(&greedy)).await;
    let limits = world.events(&id).await.first("session.created").data["components"][0]["limits"].clone();
    assert_eq!(limits["memory_bytes_max"], 256 << 20);
    assert_eq!(limits["fuel_max"], 1_000_000_000_000_u64);
    assert_eq!(limits["timeout_ms"], 10 * 3_600_000);
}

/// More memories and tables than any language needs are refused when a session is made: one component's
/// would be what another has no room for.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_has_few_memories_and_tables() {
    for (what, more) in [("memories", "(memory 1)".repeat(8)), ("tables", "(table 1 funcref)".repeat(16))] {
        let world = World::new().await;
        let bundle = with_harness(component_with("harness", "none", "", "", &more));
        match world.try_create(&bundle).await {
            Err(HostError::Plan(PlanError::Compile { why, .. })) => {
                assert!(why.contains(what) && !why.contains("Stack backtrace"), "{why}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// What a guest leaves behind when it is ended is gone at once: more of them are ended than could be there
/// at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_is_ended_leaves_nothing_behind() {
    let ops = |name: &str| {
        let call = json!({ "op": "tools", "uses": vec![json!({ "name": name, "input": {} }); 64] });
        json!(vec![call; 18]).to_string()
    };
    let world = World::new().await;
    let events = ran(&world, &with_tool(component("tool", "call", "unreachable")), &ops("act")).await;
    assert_eq!(events.count("tool.completed"), 1_152);
    assert!(events.of_kind("tool.completed").all(|end| end.data.to_string().contains("(trapped)")));
    let hook = with_hook(component("hook", "start", GROWS));
    let events = ran(&world, &hook, &ops("echo")).await;
    assert_eq!(events.count("hook.verdict"), 1_152);
    let errors = events.of_kind("hook.verdict").map(|verdict| verdict.data["error"].to_string());
    assert!(errors.into_iter().all(|error| error.contains("out_of_memory")));
}

/// As many uses as a guest's memory holds are refused before anything is made of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_more_tools_than_may_be() {
    let import = r#"(import "rewake:plugin/tools@0.1.0" "call" (func $call (param i32 i32 i32)))"#;
    let text = "(drop (memory.grow (i32.const 240))) (call $call (i32.const 131072) (i32.const 200000) (i32.const 1024))";
    let bundle = with_harness(component_with("harness", "step", text, import, ""));
    let events = ran(&World::new().await, &bundle, "hello").await;
    let failed = &events.first("turn.failed").data;
    assert_eq!(failed["code"], "refused");
    assert!(failed["detail"].as_str().unwrap().contains("tool uses of one call"), "{failed}");
    assert_eq!(events.count("tools.requested"), 0);
}

/// What every guest of a turn says counts together.
#[tokio::test(flavor = "multi_thread")]
async fn the_diagnostics_of_a_turn_are_bounded() {
    let says = "(local.set 0 (i32.const 600)) (loop $on
        (call $log (i32.const 1) (i32.const 1024) (i32.const 4096))
        (br_if $on (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))";
    let bundle = with_tool(component("tool", "call", says));
    let events = ran(&World::new().await, &bundle, &act(20)).await;
    assert!(events.learned()[0].iter().all(|line| line.ends_with("ok: done")), "{:?}", events.learned());
    let (mut bytes, mut kept, mut dropped) = (0, 0, 0);
    for lines in events.of_kind("log.lines") {
        let texts = lines.data["lines"].as_array().unwrap();
        kept += texts.len() as u64;
        bytes += texts.iter().map(|line| line["text"].as_str().unwrap().len()).sum::<usize>();
        dropped += lines.data["dropped"].as_u64().unwrap();
    }
    assert!((3 << 20..=4 << 20).contains(&bytes), "{bytes} bytes");
    assert_eq!(kept + dropped, 20 * 600);
}

/// R13, `N-G3`: what guests write to a journal is bounded in bytes. At the limit nothing new begins and the turn fails with
/// the limit's name; what has begun is recorded to its end. A higher limit applies from the next load on.
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_is_bounded_in_bytes() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let rules = |limits: &str| {
        std::fs::write(world.path().join("rewake.toml"), format!("[limits.journal]\n{limits}"))
            .expect("rules");
    };
    rules("turn = \"100KiB\"\nsession = \"250KiB\"");
    let emits: Vec<_> =
        (0..20).map(|_| json!({ "op": "emit", "kind": "custom.x", "data": "x".repeat(20_000) })).collect();
    let run = async |ops: &serde_json::Value| {
        assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
        world.check(&id).await
    };
    let events = run(&json!(emits)).await;
    assert!((5..8).contains(&events.count("custom.x")), "{:?}", events.kinds());
    let failed = &events.last("turn.failed").data;
    assert_eq!(failed["code"], "refused");
    assert!(failed["detail"].as_str().unwrap().contains("`turn` of [limits.journal]"), "{failed}");

    // A tool that was started ends, however much it says.
    let output = json!({ "name": "big_output", "input": { "bytes": 60_000 } });
    let mut ops = emits[..4].to_vec();
    ops.extend([json!({ "op": "tools", "uses": [output] }), json!({ "op": "say", "text": "too late" })]);
    let events = run(&json!(ops)).await;
    assert_eq!(events.last("tool.completed").data["outcome"], "ok");
    assert!(!events.said().contains(&"too late".to_owned()));

    // The session's own limit holds over turns.
    let events = run(&json!(emits)).await;
    let detail = events.last("turn.failed").data["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("`session` of [limits.journal]"), "{detail}");
    rules("");
    let events = run(&json!([{ "op": "say", "text": "there is room again" }])).await;
    assert!(events.said().contains(&"there is room again".to_owned()), "{:?}", events.said());
}
