//! Hooks: reading events, dispatch, verdicts.

use serde_json::{Value, json};

use super::{Firing, HookEntry, handle, run};
use crate::{prelude::*, testing::event};

#[hook]
fn guard(event: PreToolUse) -> Result<Verdict> {
    #[derive(Deserialize)]
    struct Target {
        path: String,
    }
    let target: Target = event.input()?;
    if target.path == ".env" {
        return Ok(Verdict::deny("no"));
    }
    Verdict::allow().with_input(&json!({ "path": target.path.trim() }))
}

#[hook]
fn greet(event: SessionStart) -> Verdict {
    Verdict::context(format!("source={}", event.source)).with_title("t")
}

crate::hooks![guard, greet];

const HOOKS: [HookEntry; 2] = [HookEntry::of::<guard>(), HookEntry::of::<greet>()];

fn firing(name: &str, input: Value) -> Firing {
    Firing { name: name.to_owned(), input: JsonText::from(input), ..Firing::default() }
}

fn pre_tool_use(input: Value) -> Value {
    json!({ "tool_name": "write", "tool_input": input, "tool_use_id": "1", "new_field": 1 })
}

#[test]
fn a_firing_goes_to_the_hook_of_its_event() {
    let verdict = handle(&HOOKS, &firing("PreToolUse", pre_tool_use(json!({ "path": ".env" }))));
    assert_eq!(verdict, Ok(Verdict::deny("no")));

    let verdict = handle(&HOOKS, &firing("PreToolUse", pre_tool_use(json!({ "path": " a " }))));
    let verdict = verdict.expect("a verdict");
    assert_eq!(verdict.decision, Decision::Allow);
    assert_eq!(verdict.updated_input, Some(JsonText::from(json!({ "path": "a" }))));

    let verdict = handle(&HOOKS, &firing("SessionStart", json!({ "source": "resume" })));
    let verdict = verdict.expect("a verdict");
    assert_eq!(verdict.context.as_deref(), Some("source=resume"));
    assert_eq!(verdict.title.as_deref(), Some("t"));
}

#[test]
fn an_event_without_a_hook_is_an_error_not_an_allow() {
    let error = handle(&HOOKS, &firing("Stop", json!({}))).expect_err("no hook");
    assert!(error.message().contains("no hook for `Stop`; it has hooks for PreToolUse, SessionStart"));
}

#[test]
fn an_input_that_does_not_fit_is_named() {
    let message =
        |input| run::<guard>(&firing("PreToolUse", input)).expect_err("no event").message().to_owned();
    assert_eq!(message(json!({})), "the input of `PreToolUse` has no `tool_name`");
    assert!(message(json!([])).starts_with("the input of `PreToolUse` is not a JSON object"));
    assert!(message(pre_tool_use(json!({}))).starts_with("the input of the tool `write`: missing"));
    let wrong = json!({ "tool_name": 1 });
    assert!(message(wrong).starts_with("`tool_name` in the input of `PreToolUse`: "));
}

#[test]
fn an_event_tells_what_is_common_to_all() {
    let input = json!({
        "tool_name": "write",
        "tool_input": { "big": 1.50 },
        "tool_use_id": "1",
        "agent": "a",
        "source": "fork",
        "workspace": "/workspace",
        "at": "2026-01-01T00:00:00.000Z",
    });
    let event: PreToolUse = event(input, json!({ "deny": ["x"] }));
    assert_eq!(event.common.agent, "a");
    assert_eq!(event.common.source, Some(Source::Fork));
    assert_eq!(event.common.workspace.as_deref(), Some("/workspace"));
    assert_eq!(event.tool_input.as_str(), r#"{"big":1.5}"#);
    assert_eq!(event.config::<Value>(), Ok(json!({ "deny": ["x"] })));
}

/// `N-D1`: a call with the arguments `null` is judged as one without arguments.
#[test]
fn an_input_of_null_has_no_arguments() {
    let event: PreToolUse = event(pre_tool_use(Value::Null), json!({}));
    assert_eq!(event.tool_input.as_str(), "{}");
    let firing = firing("PreToolUse", json!({ "tool_name": "write" }));
    let error = run::<guard>(&firing).expect_err("no input");
    assert!(error.message().contains("has no `tool_input`"), "{error}");
}

/// A host that does not say is not taken for one that promises something.
#[test]
fn an_event_tells_what_the_tool_can_do() {
    let told: PreToolUse = event(
        json!({ "tool_name": "a", "tool_input": {}, "tool_use_id": "1", "effect": "pure", "grants": ["http"] }),
        json!({}),
    );
    assert_eq!((told.effect, told.grants.as_slice()), (Effect::Pure, ["http".to_owned()].as_slice()));
    let silent: PreToolUse = event(pre_tool_use(json!({})), json!({}));
    assert_eq!((silent.effect, silent.grants.len()), (Effect::Once, 0));
}

#[test]
fn every_event_can_be_read() {
    let use_of_a_tool = |more: Value| {
        let mut input = pre_tool_use(json!({}));
        let fields = more.as_object().cloned().unwrap_or_default();
        input.as_object_mut().expect("an object").extend(fields);
        input
    };
    let prompt: UserPromptSubmit =
        event(json!({ "prompt": "hi", "sender": { "type": "system" } }), json!({}));
    assert_eq!(prompt.prompt, "hi");
    let post: PostToolUse = event(use_of_a_tool(json!({ "tool_output": [], "duration_ms": 5 })), json!({}));
    assert_eq!((post.duration_ms, post.tool_output.as_str()), (5, "[]"));
    let failed: PostToolUseFailure =
        event(use_of_a_tool(json!({ "error": "e", "outcome": "unknown" })), json!({}));
    assert_eq!((failed.outcome.as_str(), failed.duration_ms), ("unknown", None));
    let stop: Stop = event(json!({ "stop_hook_active": true, "last_message": null }), json!({}));
    assert_eq!((stop.stop_hook_active, stop.last_message), (true, None));
    let child: SubagentStop = event(json!({ "child_session_id": "c" }), json!({}));
    assert_eq!(child.child_session_id, "c");
    let end: SessionEnd = event(json!({ "reason": "stopped" }), json!({}));
    assert_eq!(end.reason, "stopped");
}

#[test]
fn two_hooks_of_one_event_are_refused() {
    assert!(HookEntry::all_differ(&HOOKS));
    assert!(!HookEntry::all_differ(&[HOOKS[0], HOOKS[1], HOOKS[0]]));
}
