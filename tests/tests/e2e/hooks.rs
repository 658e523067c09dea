//! Hooks on tool calls: a denied call has no effect, a failing hook means what its `on_error` says, and
//! what hooks have to say reaches the harness.

use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};

use crate::tools::{Called, called};

/// The scripted bundle with the probe of hooks on tool calls; `on` is the rest of its declaration.
fn hooked(config: &[(&str, &str)], on: &str) -> Draft {
    Draft::scripted().hook(config, &format!("[[component.probe.on]]\nevent = \"PreToolUse\"\n{on}"))
}

fn append(line: &str) -> Value {
    json!({ "name": "append_once", "input": { "path": "/workspace/log", "line": line } })
}

fn verdicts<'a>(events: &'a Events, key: &str) -> Vec<&'a Value> {
    events.of_kind("hook.verdict").map(|event| &event.data[key]).collect()
}

/// A07: a denied tool has no effect, and the harness gets the reason and the context.
#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_has_no_effect() {
    let bundle = hooked(&[("deny", "append_once"), ("context", "be careful")], "");
    let uses = json!([append("x"), { "name": "sleep_pure", "input": { "ms": 1 } }]);
    let Called { world, id, events, learned } = called(&bundle, uses).await;
    assert_eq!(
        learned,
        [
            "use-1: denied: the probe denies append_once",
            "use-1: context: be careful",
            "use-2: ok: slept 1 ms",
            "use-2: context: be careful",
        ]
    );
    assert_eq!(world.workspace_file(&id, "log"), None);
    let verdicts: Vec<(&Value, &Value)> = events
        .of_kind("hook.verdict")
        .map(|event| (&event.data["decision"], &event.data["reason"]))
        .collect();
    assert!(verdicts.contains(&(&json!("deny"), &json!("the probe denies append_once"))), "{verdicts:?}");
    assert!(verdicts.contains(&(&json!("none"), &Value::Null)));
    let verdict = events.first("hook.verdict");
    assert_eq!(
        (json!(verdict.actor.kind), verdict.actor.id.as_str()),
        (json!("hook"), "test/scripted:probe")
    );
    assert_eq!(events.count("tool.started"), 1);
    let kinds = events.kinds();
    let place = |kind: &str| kinds.iter().position(|one| *one == kind).unwrap();
    assert!(place("tools.requested") < place("hook.started"));
    assert!(kinds.iter().rposition(|one| *one == "hook.verdict").unwrap() < place("tool.started"));
}

/// A07: a tool starts with the verdicts that allowed it, and its entry names them.
#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_tool_names_its_verdicts() {
    let Called { world, id, events, learned } =
        called(&hooked(&[("allow", "append_once")], ""), json!([append("x")])).await;
    assert_eq!(learned, ["use-1: ok: appended x"]);
    assert_eq!(world.workspace_file(&id, "log").as_deref(), Some("x\n"));
    let verdict = events.first("hook.verdict");
    assert_eq!(verdict.data["decision"], "allow");
    assert_eq!(events.first("tool.started").data["verdicts"], json!([verdict.seq]));
    assert_eq!(verdict.data["binding"], events.first("hook.started").data["binding"]);
}

/// An `allow` of a hook never widens a grant.
#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_tool_has_only_its_grants() {
    let bundle = Draft::new("test/ro")
        .harness("harness_script")
        .tools("tool_probe", "ro")
        .hook(&[("allow", "append_once")], "[[component.probe.on]]\nevent = \"PreToolUse\"");
    let Called { world, id, learned, .. } = called(&bundle, json!([append("x")])).await;
    assert!(learned[0].starts_with("use-1: error: "), "{learned:?}");
    assert_eq!(world.workspace_file(&id, "log"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_crashes_denies_unless_it_says_otherwise() {
    for (on, learns) in [
        ("", "use-1: denied: the hook test/scripted:probe failed, and its on_error is \"deny\""),
        (
            "on_error = \"deny\"",
            "use-1: denied: the hook test/scripted:probe failed, and its on_error is \"deny\"",
        ),
        ("on_error = \"allow\"", "use-1: ok: appended x"),
    ] {
        let Called { world, id, events, learned } =
            called(&hooked(&[("trap_on", "append_once")], on), json!([append("x")])).await;
        assert_eq!(learned, [learns], "{on}");
        assert_eq!(world.workspace_file(&id, "log").is_some(), learns.starts_with("use-1: ok"), "{on}");
        assert!(verdicts(&events, "error")[0].as_str().unwrap().starts_with("trapped: "));
        assert_eq!(events.first("log.lines").data["component"], "test/scripted:probe");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_takes_too_long_is_one_that_failed() {
    for (on, outcome) in [("deny", "denied"), ("allow", "ok")] {
        let on = format!("timeout = \"100ms\"\non_error = {on:?}");
        let Called { events, learned, .. } =
            called(&hooked(&[("sleep_ms", "60000")], &on), json!([append("x")])).await;
        assert!(learned[0].starts_with(&format!("use-1: {outcome}: ")), "{learned:?}");
        let error = verdicts(&events, "error")[0].as_str().unwrap();
        assert!(error.starts_with("timed_out: ") && error.contains("100 ms"), "{error}");
    }
}

/// hooks.md: a matcher is tried on names, or on what the tool can do.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_judges_what_its_matcher_names() {
    let uses = json!([
        append("x"),
        { "name": "append_idempotent", "input": { "path": "/workspace/log", "line": "y" } },
        { "name": "look", "input": { "path": "/workspace/log" } },
        { "name": "none" },
    ]);
    for (matcher, judged) in [
        ("", vec![0, 1, 2]),
        ("*", vec![0, 1, 2]),
        ("append_once", vec![0]),
        ("append_idempotent | look", vec![1, 2]),
        ("append", vec![]),
        ("effect:once", vec![0]),
        ("effect:pure,append_once", vec![0, 2]),
        ("grant:fs-rw", vec![0, 1]),
        ("grant:fs-ro", vec![2]),
        ("grant:http", vec![]),
        ("^append_", vec![0, 1]),
        ("o(nce|ok)$", vec![0, 2]),
    ] {
        let bundle = Draft::new("test/matched")
            .harness("harness_script")
            .tools("tool_probe", "rw")
            .tools("tool_pure", "ro")
            .hook(&[], &format!("[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = {matcher:?}"));
        let Called { events, .. } = called(&bundle, uses.clone()).await;
        let requested = events.first("tools.requested").data["uses"].as_array().unwrap();
        let hooked: Vec<usize> =
            (0..requested.len()).filter(|at| requested[*at].get("hooks").is_some()).collect();
        assert_eq!(hooked, judged, "{matcher}");
        assert_eq!(events.count("hook.verdict"), judged.len(), "{matcher}");
    }
}

/// All hooks are asked side by side; one that denies beats one that allows, and all contexts are kept in
/// the order of the declarations.
#[tokio::test(flavor = "multi_thread")]
async fn one_denial_beats_every_allowance() {
    let world = World::new().await;
    let second = Draft::new("test/strict").hook(
        &[("deny", "append_once"), ("context", "second")],
        "[[component.probe.on]]\nevent = \"PreToolUse\"",
    );
    let first = hooked(&[("allow", "append_once"), ("context", "first")], "");
    let id = world.create_with(&first, &[&second]).await;
    let ops = json!([{ "op": "tools", "uses": [append("x")] }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let learned = world.check(&id).await.learned().pop().unwrap();
    assert_eq!(
        learned,
        ["use-1: denied: the probe denies append_once", "use-1: context: first", "use-1: context: second"]
    );
    assert_eq!(world.workspace_file(&id, "log"), None);
}

/// hooks.md: what hooks say is capped.
#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_capped() {
    let long = "ä".repeat(12_000);
    let Called { learned, .. } =
        called(&hooked(&[("context", &long)], ""), json!([{ "name": "sleep_pure", "input": { "ms": 0 } }]))
            .await;
    assert_eq!(learned[1], format!("use-1: context: {}", "ä".repeat(10_000)));
}

/// Deny reaches a tool of whatever bundle, by whatever name it has in the session, after whatever was made of
/// its input, and among others in one call.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_reaches_every_way_to_a_tool() {
    let on = "[[component.probe.on]]\nevent = \"PreToolUse\"";
    let rewriting = format!("{on}\nrewrites = true");
    let deny = |name: &str| Draft::new("test/strict").hook(&[("deny", name)], on);
    let input = r#"{"line":"rewritten","path":"/workspace/log"}"#;
    let other = Draft::new("test/other").tools("tool_probe", "rw");
    let alone = Draft::new("test/alone").harness("harness_script");
    let as_put =
        "[agent]\ntools = [{ from = \"test/other:append_once\", as = \"put\" }, \"test/other:sleep_pure\"]";
    let slow = json!({ "name": "sleep_pure", "input": { "ms": 50 } });
    for (way, root, with, tool) in [
        ("a second bundle's", alone.clone(), vec![&other], "append_once"),
        ("by another name", alone.clone().toml(as_put), vec![&other], "put"),
        (
            "rewritten by its own bundle",
            Draft::scripted().hook(&[("input", input)], &format!("{rewriting}\nmatcher = \"append_once\"")),
            vec![],
            "append_once",
        ),
        (
            "allowed by its own bundle",
            Draft::scripted().hook(&[("allow", "append_once")], on),
            vec![],
            "append_once",
        ),
    ] {
        let world = World::new().await;
        let strict = deny(tool);
        let with: Vec<&Draft> = with.into_iter().chain([&strict]).collect();
        let id = world.create_with(&root, &with).await;
        let used = json!({ "name": tool, "input": append("x")["input"] });
        let ops = json!([{ "op": "tools", "uses": [used, slow, used] }, { "op": "tools", "uses": [used] }]);
        assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
        let events = world.check(&id).await;
        assert_eq!(world.workspace_file(&id, "log"), None, "{way}");
        let denied = events.of_kind("tool.completed").filter(|event| event.data["outcome"] == "denied");
        assert_eq!(denied.count(), 3, "{way}");
        assert_eq!(events.count("tool.started"), 1, "{way}: only the other one ran");
    }
}

/// What a rewriter makes of an input must fit the tool's schema; what does not is an error of the hook.
#[tokio::test(flavor = "multi_thread")]
async fn a_rewriter_cannot_make_an_input_that_does_not_fit() {
    for (input, why) in [
        (r#"{"line":1,"path":"/workspace/log"}"#, "`/line` must be of type string"),
        (r#"{"line":"y"}"#, "`/path` is missing"),
        (r#"["line"]"#, "is not a JSON object"),
        (r#"{"path":"a","path":"b","line":"y"}"#, "cannot be read as JSON"),
    ] {
        for (on_error, line) in [("", None), ("\non_error = \"allow\"", Some("x\n"))] {
            let bundle = hooked(&[("input", input)], &format!("rewrites = true{on_error}"));
            let Called { world, id, events, .. } = called(&bundle, json!([append("x")])).await;
            let error = verdicts(&events, "error")[0].as_str().unwrap().to_owned();
            assert!(error.contains(why), "{error}");
            assert_eq!(world.workspace_file(&id, "log").as_deref(), line, "{input} {on_error}");
        }
    }
}

/// Every event tells how the session was last loaded, and where the component sees the workspace.
#[tokio::test(flavor = "multi_thread")]
async fn every_hook_is_told_how_the_session_was_loaded() {
    let world = World::new().await;
    let id = world.create(&hooked(&[("context", "common")], "")).await;
    for (turn, source) in [(1, "Startup"), (2, "Resume")] {
        let ops = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 0 } }] }]);
        assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
        let learned = world.check(&id).await.learned().pop().unwrap();
        let told = format!("test/scripted Some(\"turn_{turn}\") Some({source}) None");
        assert_eq!(learned[1], format!("use-{turn}: context: {told}"));
    }
}

/// What hooks add to a request of the harness has no room in its answer: the next step is told it, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_context_on_a_request_comes_with_the_next_step() {
    let server = rewake_tests::server::Server::echo();
    let asks = format!(
        "[component.harness.asks]\nhttp = [{{ host = {:?}, scheme = \"http\", methods = [\"GET\"] }}]",
        server.host()
    );
    let bundle = Draft::new("test/http").harness("harness_script").toml(&asks).hook(
        &[("context", "be brief")],
        "[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"http\"",
    );
    let fetch = json!({ "op": "fetch", "fetches": [{ "url": server.url("/") }] });
    let world = World::new().await;
    let id = world.create(&bundle).await;
    assert_eq!(world.run(&id, &json!([fetch]).to_string()).await, Outcome::Idle);
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let events = world.check(&id).await;
    let contexts: Vec<&Value> =
        events.of_kind("step.started").map(|event| &event.data["input"]["contexts"]).collect();
    let none = |contexts: &Value| contexts.is_null() || *contexts == json!([]);
    assert!(none(contexts[0]) && none(contexts[2]), "{contexts:?}");
    assert_eq!(contexts[1], &json!(["be brief"]));
}
