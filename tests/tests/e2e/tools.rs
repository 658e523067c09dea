//! Tool calls: what is refused before anything runs, and what comes of tools that misbehave.

use rewake_core::ids::SessionId;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};

/// A session after one call of tools.
pub(crate) struct Called {
    pub(crate) world: World,
    pub(crate) id: SessionId,
    pub(crate) events: Events,
    /// What the harness learned of each use.
    pub(crate) learned: Vec<String>,
}

/// Runs one call of these uses, and checks the session.
pub(crate) async fn called(bundle: &Draft, uses: Value) -> Called {
    let world = World::new().await;
    let id = world.create(bundle).await;
    let ops = json!([{ "op": "tools", "uses": uses }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let learned = events.learned().pop().unwrap_or_default();
    Called { world, id, events, learned }
}

/// A bundle whose tools have small limits.
fn limited() -> Draft {
    let limits = "memory = \"8MiB\"\ntimeout = \"1s\"\nfuel = 200_000_000\noutput = \"1KiB\"";
    Draft::new("test/limited").harness("harness_script").tools_within("tool_probe", "rw", limits)
}

/// A04, A14, R4: uses that write nothing start in one transaction and run side by side; their results are in the order of
/// the uses.
#[tokio::test(flavor = "multi_thread")]
async fn results_come_in_the_order_of_the_uses() {
    let uses = json!([
        { "name": "sleep_pure", "input": { "ms": 500 } },
        { "name": "sleep_pure", "input": { "ms": 1 } },
        { "name": "fail", "input": { "message": "no" } },
    ]);
    let readers = Draft::new("test/ro").harness("harness_script").tools("tool_probe", "ro");
    let Called { events, learned, .. } = called(&readers, uses).await;
    assert_eq!(learned, ["use-1: ok: slept 500 ms", "use-2: ok: slept 1 ms", "use-3: error: no"]);
    let kinds = events.kinds();
    let at = kinds.iter().position(|kind| *kind == "tools.requested").unwrap();
    assert_eq!(kinds[at + 1..at + 4], ["tool.started"; 3]);
    let first = events.of_kind("tool.completed").next().unwrap();
    assert_ne!(first.data["start"], events.first("tool.started").seq, "they did not run side by side");
}

/// R4, `N-A1`: uses that may change a directory run one after another, in the order of the request; the start of each is
/// recorded with the end before it.
#[tokio::test(flavor = "multi_thread")]
async fn writers_run_in_the_order_of_the_uses() {
    let append = |line: &str, ms: u64| {
        let input = json!({ "path": "/workspace/log", "line": line, "before_ms": ms });
        json!({ "name": "append_once", "input": input })
    };
    let uses = json!([append("one", 300), append("two", 50), append("three", 0)]);
    let Called { world, id, events, learned } = called(&Draft::scripted(), uses).await;
    assert!(learned.iter().all(|line| line.contains(": ok: ")), "{learned:?}");
    assert_eq!(world.workspace_file(&id, "log").as_deref(), Some("one\ntwo\nthree\n"));
    let kinds = events.kinds();
    let at = kinds.iter().position(|kind| *kind == "tools.requested").unwrap();
    let pair = ["tool.started", "tool.completed"];
    assert_eq!(kinds[at + 1..at + 7], [pair, pair, pair].concat());
}

/// R5: the idempotency key is the chain hash of the call's start.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_told_its_call_s_key() {
    let Called { events, learned, .. } =
        called(&Draft::scripted(), json!([{ "name": "echo", "input": { "a": [1] } }])).await;
    let echoed: Value = serde_json::from_str(learned[0].strip_prefix("use-1: ok: ").unwrap()).unwrap();
    let start = events.first("tool.started");
    assert_eq!(echoed["idempotency_key"], start.hash);
    assert_eq!((&echoed["session"], &echoed["turn"]), (&json!(start.session_id), &json!("turn_1")));
    assert_eq!(echoed["input"], json!({ "a": [1] }));
}

/// B05, B09: the trap of a tool is an error of its own call, and its last output is in the journal.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_crashes_is_an_error_of_that_call_alone() {
    let uses = json!([{ "name": "trap", "input": {} }, { "name": "sleep_pure", "input": { "ms": 1 } }]);
    let Called { events, learned, .. } = called(&Draft::scripted(), uses).await;
    assert!(learned[0].starts_with("use-1: error: the tool was ended (trapped)"), "{learned:?}");
    assert_eq!(learned[1], "use-2: ok: slept 1 ms");
    let logged = events.first("log.lines");
    assert_eq!(logged.data["component"], "test/scripted:tool_probe");
    assert!(logged.data["lines"].to_string().contains("this tool crashes when it is called"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_never_returns_runs_out_of_fuel() {
    let limits = "timeout = \"60s\"\nfuel = 100_000_000";
    let bundle = Draft::new("test/fuel").harness("harness_script").tools_within("tool_probe", "rw", limits);
    let Called { learned, .. } = called(&bundle, json!([{ "name": "loop_forever", "input": {} }])).await;
    assert!(learned[0].starts_with("use-1: error: the tool was ended (out_of_fuel)"), "{learned:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_takes_too_much_memory_is_ended() {
    let Called { learned, .. } = called(&limited(), json!([{ "name": "grow_memory", "input": {} }])).await;
    assert!(learned[0].starts_with("use-1: error: the tool was ended (out_of_memory)"), "{learned:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_sleeps_past_its_deadline_is_timed_out() {
    let Called { events, learned, .. } =
        called(&limited(), json!([{ "name": "sleep_pure", "input": { "ms": 60_000 } }])).await;
    assert!(learned[0].starts_with("use-1: timed out: the tool was ended (timed_out)"), "{learned:?}");
    assert_eq!(events.first("tool.completed").data["outcome"], "timed_out");
}

/// R13: an output over its limit is cut, and marked.
#[tokio::test(flavor = "multi_thread")]
async fn an_output_over_its_limit_is_cut() {
    let uses = json!([{ "name": "big_output", "input": { "bytes": 1024 } }, { "name": "big_output", "input": { "bytes": 3000 } }]);
    let Called { events, learned, .. } = called(&limited(), uses).await;
    assert_eq!(learned[0], format!("use-1: ok: {}", "x".repeat(1024)));
    assert_eq!(learned[1], format!("use-2: ok: {}… (1976 bytes cut)", "x".repeat(1024)));
    let cut: Vec<_> =
        events.of_kind("tool.completed").map(|event| event.data["cut_bytes"].as_u64()).collect();
    assert!(cut.contains(&None) && cut.contains(&Some(1976)), "{cut:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_is_refused_with_the_known_ones() {
    let Called { events, learned, .. } =
        called(&Draft::scripted(), json!([{ "name": "rm", "input": {} }])).await;
    assert!(learned[0].starts_with("use-1: error: there is no tool \"rm\"; there are: "), "{learned:?}");
    assert!(learned[0].contains("append_once"));
    assert_eq!(events.count("tool.started"), 0);
    assert_eq!(events.first("tool.completed").data.get("start"), None);
}

/// hooks.md: which of two keys counts would differ between the hook that judges and the tool that acts.
#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_are_not_one_json_value_are_refused() {
    let raws = ["{", "{} {}", r#"{"ms":1,"ms":60000}"#, r#"{"a":{"b":1,"b":2}}"#, ""];
    let uses: Vec<Value> = raws.iter().map(|raw| json!({ "name": "sleep_pure", "raw": raw })).collect();
    let Called { events, learned, .. } = called(&Draft::scripted(), json!(uses)).await;
    assert_eq!(learned.len(), raws.len());
    for line in &learned {
        assert!(line.contains(": error: the input cannot be read as JSON: "), "{line}");
    }
    assert!(learned[2].contains("the key \"ms\" is twice"), "{learned:?}");
    assert_eq!(events.count("tool.started"), 0);
    let requested = &events.first("tools.requested").data["uses"];
    assert_eq!(requested[2]["input"], raws[2], "it is journaled byte for byte");
}

/// What a tool itself refuses is an error of the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_refuses_input_of_another_shape() {
    let Called { learned, .. } =
        called(&Draft::scripted(), json!([{ "name": "sleep_pure", "input": { "ms": "long" } }])).await;
    assert!(learned[0].starts_with("use-1: error: invalid input: "), "{learned:?}");
}

/// R13: more uses than one call may have are refused before anything is written.
#[tokio::test(flavor = "multi_thread")]
async fn too_many_uses_are_refused() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let one = json!({ "name": "sleep_pure", "input": { "ms": 0 } });
    let ops = |count| json!([{ "op": "tools", "uses": vec![one.clone(); count] }]).to_string();
    assert_eq!(world.run(&id, &ops(65)).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.count("tools.requested"), events.count("tool.started")), (0, 0));
    let failed = &events.first("turn.failed").data;
    assert_eq!(failed["code"], "refused");
    assert!(failed["detail"].as_str().unwrap().contains("65 is over the limit of 64"), "{failed}");
    assert_eq!(world.run(&id, &ops(64)).await, Outcome::Idle);
    assert_eq!(world.check(&id).await.count("tool.completed"), 64);
}

/// R8: a read-only mount is one, whatever the tool tries; a component sees no other file of the host.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_mount_is_not_written() {
    let bundle = Draft::new("test/ro").harness("harness_script").tools("tool_probe", "ro");
    let append = |path: &str| json!({ "name": "append_once", "input": { "path": path, "line": "x" } });
    let world = World::new().await;
    let id = world.create(&bundle).await;
    let uses = [append("/workspace/log"), append("/tmp/log"), append("/workspace/../log")];
    let ops = json!([{ "op": "tools", "uses": uses }, { "op": "read", "path": "/etc/hostname" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let learned = world.check(&id).await.learned().pop().unwrap();
    assert!(learned[..3].iter().all(|line| line.contains(": error: ")), "{learned:?}");
    assert!(learned[3].starts_with("read: ("), "{learned:?}");
    assert_eq!(world.workspace_file(&id, "log"), None);
}
