//! Hooks on everything but the start: prompts, what tools did, the turn's end, the session's end; hooks that
//! replace, and hooks that end the turn.

use rewake_core::command::Command;
use rewake_runtime::live::UnloadReason;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::world::{ann, rest};
use rewake_tests::{Outcome, Running, World};
use serde_json::{Value, json};

use crate::tools::{Called, called};

fn on(event: &str) -> String {
    format!("[[component.probe.on]]\nevent = \"{event}\"")
}

fn rewriting(event: &str) -> String {
    format!("[[component.probe.on]]\nevent = \"{event}\"\nrewrites = true")
}

fn append(line: &str) -> Value {
    json!({ "name": "append_once", "input": { "path": "/workspace/log", "line": line } })
}

/// A session of the scripted bundle with the probe, after one message.
async fn told(config: &[(&str, &str)], on: &str, ops: Value) -> (World, rewake_core::ids::SessionId, Events) {
    let world = World::new().await;
    let id = world.create(&Draft::scripted().hook(config, on)).await;
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    (world, id, events)
}

/// A blocked prompt never reaches a step; the reason is shown, and the session goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_prompt_ends_the_turn_without_a_step() {
    let (_, _, events) = told(&[("deny", "UserPromptSubmit")], &on("UserPromptSubmit"), json!([])).await;
    assert_eq!(events.count("step.started"), 0);
    let failed = &events.first("turn.failed").data;
    assert_eq!(
        (&failed["code"], &failed["detail"]),
        (&json!("prompt_blocked"), &json!("the probe blocks prompts"))
    );
    assert_eq!(events.first("hook.started").data["message"], 1);
}

/// Each message is judged before a step is given it; contexts come with it, and a title names the session.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_judged_before_the_step_that_gets_it() {
    let config = [("context", "heard"), ("title", "A title")];
    let (world, id, events) = told(&config, &on("UserPromptSubmit"), json!([])).await;
    let expected = r#"context: [] by {"type":"operator","id":"ann"}"#;
    let learned = events.learned().pop().unwrap();
    assert!(learned.contains(&expected.to_owned()), "{learned:?}");
    assert!(events.first("hook.verdict").seq < events.first("step.started").seq);
    assert_eq!(events.first("session.titled").data["title"], "A title");
    let summary = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!(summary.title.as_deref(), Some("A title"));
}

/// `on_error` is `deny` for prompts unless it says otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_on_prompts_that_crashes_blocks_unless_it_says_otherwise() {
    for (rest, steps) in [("", 0), ("\non_error = \"allow\"", 1)] {
        let on = format!("{}{rest}", on("UserPromptSubmit"));
        let (_, _, events) = told(&[("trap_on", "UserPromptSubmit")], &on, json!([])).await;
        assert_eq!(events.count("step.started"), steps);
    }
}

/// Names get bypassed, capabilities do not: a hook is told what the tool can do.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_told_what_a_tool_can_do() {
    let bundle = Draft::scripted().hook(&[("context", "can")], &on("PreToolUse"));
    let uses = json!([append("x"), { "name": "sleep_pure", "input": { "ms": 0 } }]);
    let Called { learned, .. } = called(&bundle, uses).await;
    let said = |line: &str| learned.iter().any(|learned| learned.ends_with(line));
    assert!(said("context: append_once is Once and may use fs-rw"), "{learned:?}");
    // Declared `pure`; a component that can write is not.
    assert!(said("context: sleep_pure is Idempotent and may use fs-rw"), "{learned:?}");
}

/// What a tool did is told before the harness learns it; `block` is feedback to the model.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_did_is_judged_before_the_harness_hears() {
    let bundle = Draft::scripted().hook(
        &[("context", "heard"), ("block", "append_once")],
        &[on("PostToolUse"), on("PostToolUseFailure")].join("\n\n"),
    );
    let uses = json!([append("x"), { "name": "fail", "input": { "message": "no" } }]);
    let Called { events, learned, .. } = called(&bundle, uses).await;
    assert_eq!(
        learned,
        [
            "use-1: ok: appended x",
            "use-1: context: the probe minds what append_once did",
            r#"use-1: context: append_once {"line":"x","path":"/workspace/log"} gave [{"type":"text","text":"appended x"}]"#,
            "use-2: error: no",
            "use-2: context: fail error: no",
        ]
    );
    let last = events.0.iter().rev().find(|event| event.kind == "tool.completed").unwrap().seq;
    assert!(events.of_kind("hook.started").all(|event| event.seq > last));
}

/// Rewriters come first, each on the last one's output; judges see, and tools get, what came of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_rewriters_make_of_an_input_is_judged_and_run() {
    let world = World::new().await;
    let first = Draft::scripted().hook(
        &[("input", r#"{"line":"first","path":"/workspace/log"}"#), ("context", "heard")],
        &rewriting("PreToolUse"),
    );
    let second = Draft::new("test/second").hook(
        &[("input", r#"{"line":"second","path":"/workspace/log"}"#), ("context", "heard")],
        &rewriting("PreToolUse"),
    );
    let judge = Draft::new("test/judge").hook(&[("context", "heard")], &on("PreToolUse"));
    let id = world.create_with(&first, &[&second, &judge]).await;
    let ops = json!([{ "op": "tools", "uses": [append("model")] }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let seen = |line: &str| {
        format!("use-1: context: append_once {{\"line\":\"{line}\",\"path\":\"/workspace/log\"}}")
    };
    let learned = events.learned().pop().unwrap();
    assert_eq!(
        learned,
        ["use-1: ok: appended second".to_owned(), seen("model"), seen("first"), seen("second")]
    );
    assert_eq!(world.workspace_file(&id, "log").as_deref(), Some("second\n"));
    let requested = &events.first("tools.requested").data["uses"][0]["arguments"];
    assert_ne!(&events.first("tool.started").data["arguments"], requested);
    let bindings: Vec<_> = events.of_kind("hook.verdict").map(|event| &event.data["binding"]).collect();
    assert!(bindings.len() == 3 && bindings[0] != bindings[1] && bindings[1] != bindings[2]);
}

/// A replacement from a hook that is not declared to replace is an error of the hook.
#[tokio::test(flavor = "multi_thread")]
async fn a_judge_may_not_replace() {
    let bundle = Draft::scripted().hook(&[("input", "{}")], &on("PreToolUse"));
    let Called { world, id, events, learned } = called(&bundle, json!([append("x")])).await;
    assert!(learned[0].starts_with("use-1: denied: the hook test/scripted:probe failed"), "{learned:?}");
    assert!(events.first("hook.verdict").data["error"].as_str().unwrap().contains("rewrites = true"));
    assert_eq!(world.workspace_file(&id, "log"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_returned_can_be_replaced() {
    let bundle = Draft::scripted().hook(&[("output", "hidden")], &rewriting("PostToolUse"));
    let Called { events, learned, .. } = called(&bundle, json!([append("x")])).await;
    assert_eq!(learned, ["use-1: ok: hidden"]);
    assert_eq!(events.first("tool.completed").data["parts"][0]["text"], "appended x");
}

/// `N-F1`: where a hook whose failure denies has failed, in whatever way, neither the harness nor a slice of its journal
/// has the tool's output; the journal does. Else the output is as the tool gave it.
#[tokio::test(flavor = "multi_thread")]
async fn an_output_is_withheld_where_its_hook_failed() {
    let withheld =
        "The output is withheld: the hook test/scripted:probe failed, and its on_error is \"deny\".";
    let deny = "\non_error = \"deny\"";
    let cases = [
        // It traps, is too slow, gives an answer that its event does not take, or hears of a failure.
        (vec![("trap_on", "PostToolUse")], "PostToolUse", format!("{deny}\nrewrites = true"), true),
        (vec![("sleep_ms", "3000")], "PostToolUse", format!("{deny}\ntimeout = \"500ms\""), true),
        (vec![("output", "hidden")], "PostToolUse", deny.to_owned(), true),
        (vec![("trap_on", "PostToolUseFailure")], "PostToolUseFailure", deny.to_owned(), true),
        (vec![("trap_on", "PostToolUse")], "PostToolUse", String::new(), false),
    ];
    for (config, event, rest, is_withheld) in cases {
        let (name, raw) = match event {
            "PostToolUse" => (append("secret"), "appended secret"),
            _ => (json!({ "name": "fail", "input": { "message": "secret" } }), "secret"),
        };
        let ops = json!([
            { "op": "tools", "uses": [name] },
            { "op": "events", "kinds": ["tool.completed"], "data": true },
        ]);
        let (_, _, events) = told(&config, &format!("{}{rest}", on(event)), ops).await;
        let learned = events.learned().pop().unwrap();
        assert_eq!(learned[0].contains(withheld), is_withheld, "{config:?} {learned:?}");
        assert_eq!(learned.iter().any(|line| line.contains(raw)), !is_withheld, "{config:?} {learned:?}");
        assert_eq!(events.first("tool.completed").data["parts"][0]["text"], raw);
    }
}

/// `N-F1`: a slice has what hooks left of an output, and nothing of one whose hook was interrupted.
#[tokio::test(flavor = "multi_thread")]
async fn a_slice_has_what_hooks_left_of_an_output() {
    let slice = json!({ "op": "events", "kinds": ["tool.completed"], "data": true });
    let ops = json!([{ "op": "tools", "uses": [append("secret")] }, slice]);
    let (_, _, events) = told(&[("output", "hidden")], &rewriting("PostToolUse"), ops.clone()).await;
    let learned = events.learned().pop().unwrap();
    assert!(learned[1].contains("hidden") && !learned[1].contains("appended secret"), "{learned:?}");

    // The turn is interrupted before the hook has answered.
    let world = World::new().await;
    let deny = format!("{}\non_error = \"deny\"", rewriting("PostToolUse"));
    let id = world.create(&Draft::scripted().hook(&[("sleep_ms", "20000")], &deny)).await;
    let host = world.host();
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("hook.started").await;
    session.command(Command::Interrupt { turn: 1 }).await.unwrap();
    session.event("turn.interrupted").await;
    session.send(&json!([slice]).to_string()).await;
    session.event("turn.completed").await;
    session.unload().await;
    let learned = world.check(&id).await.learned().pop().unwrap();
    let withheld = "The output is withheld: the hook test/scripted:probe";
    assert!(learned[1].contains(withheld) && !learned[1].contains("appended secret"), "{learned:?}");
}

/// A Stop hook that wants more gets another step, with its reason; the next time it is told so.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hook_can_have_the_turn_go_on() {
    let ops = json!([{ "op": "say", "text": "done?" }]);
    let (_, _, events) = told(&[("block", "Stop")], &on("Stop"), ops).await;
    assert_eq!((events.count("step.started"), events.count("turn.completed")), (2, 1));
    let second = events.of_kind("step.started").nth(1).unwrap();
    assert_eq!(second.data["input"]["contexts"], json!(["the probe wants more"]));
    assert!(events.last("hook.verdict").seq < events.first("turn.completed").seq);
}

/// One that never has enough is overridden after eight rounds in a row.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hook_is_overridden_after_eight_rounds() {
    let ops = json!([{ "op": "say", "text": "done?" }]);
    let (_, _, events) = told(&[("deny", "Stop")], &on("Stop"), ops).await;
    assert_eq!((events.count("step.started"), events.count("turn.completed")), (9, 1));
    let reasons: Vec<&str> =
        events.of_kind("hook.verdict").map(|event| event.data["reason"].as_str().unwrap()).collect();
    assert!(reasons[0].starts_with("more: active=false, last="), "{reasons:?}");
    assert!(reasons.len() == 9 && reasons[8].starts_with("more: active=true"), "{reasons:?}");
}

/// hooks.md: end_turn beats everything, whatever else is decided.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_end_the_turn() {
    for (name, event) in [
        ("append_once", "PreToolUse"),
        ("append_once", "PostToolUse"),
        ("UserPromptSubmit", "UserPromptSubmit"),
    ] {
        let ops = json!([{ "op": "tools", "uses": [append("x")] }, { "op": "say", "text": "after" }]);
        let (world, id, events) = told(&[("end_turn", name), ("allow", name)], &on(event), ops).await;
        let ended = &events.first("turn.interrupted").data;
        assert_eq!(ended["reason"], format!("the probe ends it at {name}"));
        let did = world.workspace_file(&id, "log").is_some();
        assert_eq!(did, event == "PostToolUse", "{event}");
        assert_eq!(events.count("agent.message"), 0, "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_session_is_told_once() {
    for (stop, matcher, heard) in
        [(true, "", true), (true, "stopped", true), (true, "failed", false), (false, "failed", true)]
    {
        let world = World::new().await;
        let on = format!("{}\nmatcher = {matcher:?}", on("SessionEnd"));
        let id = world.create(&Draft::scripted().hook(&[], &on)).await;
        if stop {
            assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
            let host = world.host();
            let stop = Command::Stop { reason: "enough".into() };
            host.send(&id, ann(), stop, None).await.unwrap();
            assert_eq!(rest(&host, &id).await, Outcome::Gone(UnloadReason::Ended));
            host.shut_down().await;
        } else {
            world.run(&id, &json!([{ "op": "fail", "session": true, "code": "broken" }]).to_string()).await;
        }
        let events = world.check(&id).await;
        assert_eq!(events.count("hook.verdict"), usize::from(heard), "{matcher}");
        if heard {
            assert_eq!(events.0.last().unwrap().kind, "hook.verdict");
            let said = &events.last("log.lines").data["lines"][0]["text"];
            assert_eq!(said, if stop { "ended: stopped" } else { "ended: failed" });
        }
    }
}

/// A host that dies before the hooks of a session's end have answered leaves them to the next load.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_session_is_told_whatever_dies() {
    let stop = Command::Stop { reason: "enough".into() };
    let bundle = Draft::scripted().hook(&[], &on("SessionEnd"));
    let scenario = Scenario::new(bundle).say(&json!([{ "op": "say", "text": "hello" }])).send(stop);
    scenario
        .everywhere(|_, _, events| {
            let heard: Vec<&str> = events
                .of_kind("hook.verdict")
                .map(|event| event.data["error"].as_str().unwrap_or_default())
                .collect();
            assert_eq!(heard, [""]);
            assert_eq!((events.count("session.stopped"), events.count("hook.started")), (1, 1));
        })
        .await;
}

/// What an overridden Stop hook wanted is no business of the next turn.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_overridden_is_not_carried_on() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted().hook(&[("deny", "Stop")], &on("Stop"))).await;
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let events = world.check(&id).await;
    let tenth = events.of_kind("step.started").nth(9).unwrap();
    assert_eq!((tenth.turn_id.as_deref(), &tenth.data["input"]["contexts"]), (Some("turn_2"), &Value::Null));
}

/// What nothing sets off yet cannot be listened for: a guard that never runs is worse than none.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_never_fired_is_refused() {
    for event in ["PreCompact", "PostCompact", "Notification", "SubagentStart", "SubagentStop"] {
        let world = World::new().await;
        let refused =
            world.try_create(&Draft::scripted().hook(&[], &on(event))).await.unwrap_err().to_string();
        assert!(refused.contains(event) && refused.contains("never"), "{refused}");
    }
}
