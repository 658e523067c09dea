//! Paths that are protected, and what a session is told at its start.

use rewake_sdk::prelude::*;
use rewake_sdk::testing;
use serde_json::{Value, json};

use super::judged;
use crate::{greet, guard};

fn asked(input: Value, config: Value) -> Verdict {
    let event = json!({ "tool_name": "write_file", "tool_input": input, "tool_use_id": "1" });
    guard(testing::event(event, config)).expect("a verdict")
}

fn decision(path: &str, config: Value) -> Decision {
    asked(json!({ "path": path, "content": "" }), config).decision
}

#[test]
fn protected_names_are_denied_wherever_they_are_and_however_they_are_written() {
    let paths = [
        ".env",
        "./.env",
        "/workspace/.env",
        "app/.env",
        ".git/config",
        "a/../.git/hooks/x",
        "a//.git",
        ".GIT/config",
        "/workspace//.git",
    ];
    for path in paths {
        assert_eq!(decision(path, json!({})), Decision::Deny, "{path}");
    }
}

#[test]
fn other_paths_are_left_to_others() {
    for path in ["README.md", ".environment", "src/git", ".gitignore", "env"] {
        assert_eq!(decision(path, json!({})), Decision::None, "{path}");
    }
}

#[test]
fn the_operator_says_what_is_protected() {
    let config = || json!({ "protected": "secrets/keys, Cargo.lock" });
    assert_eq!(decision("secrets/keys/a", config()), Decision::Deny);
    assert_eq!(decision("x/secrets/keys", config()), Decision::None);
    assert_eq!(decision("x/cargo.lock", config()), Decision::Deny);
    assert_eq!(decision(".env", config()), Decision::None);
    assert_eq!(decision("a", json!({ "protected": " , " })), Decision::None);
}

/// Names get bypassed, capabilities do not.
#[test]
fn whatever_may_write_files_is_denied_what_is_protected() {
    let decided = |tool, input, grants: &[&str]| judged(tool, input, ("once", grants), json!({})).decision;
    assert_eq!(decided("move_file", json!({ "path": "a/.env" }), &["fs-rw"]), Decision::Deny);
    assert_eq!(decided("move_file", json!({ "path": ["b", ".git/x"] }), &["fs-rw"]), Decision::Deny);
    assert_eq!(decided("move_file", json!({ "path": 1 }), &["fs-rw"]), Decision::Deny);
    assert_eq!(decided("read_file", json!({ "path": ".env" }), &["fs-ro"]), Decision::None);
    assert_eq!(decided("publish", json!({}), &["fs-rw"]), Decision::None);
}

/// Nor does another name of an argument, or a place deep in the input, get around it.
#[test]
fn any_text_given_to_what_may_write_files_may_be_a_path() {
    let decided = |tool, input, grants: &[&str]| judged(tool, input, ("once", grants), json!({})).decision;
    for input in [
        json!({ "path": "a", "to": ".env" }),
        json!({ "file": "./a/../.ENV" }),
        json!({ "edits": [{ "path": "a" }, { "path": ".git/config" }] }),
        json!({ "files": { ".env": "KEY=1" } }),
        json!([".env"]),
        json!(".env"),
    ] {
        assert_eq!(decided("apply", input.clone(), &["fs-rw"]), Decision::Deny, "{input}");
        assert_eq!(decided("apply", input.clone(), &["fs-ro", "http"]), Decision::None, "{input}");
    }
    assert_eq!(decided("apply", json!({ "file": "a", "text": "see .env" }), &["fs-rw"]), Decision::None);
    // Of these it is known which argument is the path.
    let input = json!({ "path": ".gitignore", "content": ".env" });
    assert_eq!(decided("write_file", input, &["fs-rw"]), Decision::None);
    let input = json!({ "edits": [{ "path": ".env" }] });
    assert_eq!(decided("edit_file", input, &[]), Decision::Deny);
}

#[test]
fn what_is_protected_is_named_short_and_on_one_line() {
    let reason = asked(json!({ "path": format!("a\n{}/.env", "b".repeat(1000)) }), json!({})).reason;
    assert!(reason.is_some_and(|reason| reason.starts_with("`a\\nbbb") && reason.len() < 400));
}

#[test]
fn the_operator_says_which_arguments_are_paths() {
    let config = || json!({ "path_arguments": "path, to" });
    let input = json!({ "path": "a", "to": ".env", "content": "" });
    assert_eq!(judged("edit_file", input.clone(), ("once", &[]), config()).decision, Decision::Deny);
    assert_eq!(judged("edit_file", input, ("once", &[]), json!({})).decision, Decision::None);
}

#[test]
fn what_cannot_be_judged_is_denied() {
    for input in [json!({}), json!({ "path": 1 }), json!("x")] {
        let verdict = asked(input, json!({}));
        assert_eq!(verdict.decision, Decision::Deny);
        assert!(verdict.reason.is_some_and(|reason| reason.contains("write_file")));
    }
    let event = json!({ "tool_name": "x", "tool_input": {}, "tool_use_id": "1" });
    assert!(guard(testing::event(event, json!({ "protected": 1 }))).is_err());
}

#[test]
fn the_source_is_named() {
    for source in ["startup", "resume", "fork"] {
        let event = testing::event(json!({ "source": source }), json!({}));
        let context = greet(event).expect("a verdict").context.expect("a context");
        assert!(context.contains(source) && context.lines().count() == 1, "{context}");
    }
}

fn told(source: &str, config: Value) -> String {
    greet(testing::event(json!({ "source": source }), config)).expect("a verdict").context.expect("a context")
}

#[test]
fn a_new_session_is_told_what_the_operator_wants_told() {
    let config = || json!({ "context": "\nAsk before you publish.\n" });
    assert_eq!(told("startup", config()), "This session is new (startup).\nAsk before you publish.");
    assert_eq!(told("resume", config()).lines().count(), 1);
}

#[test]
fn rules_that_cannot_be_read_are_told_at_the_start_and_deny_everything() {
    let config = || json!({ "rules": "# fine\ndeny * pth=.env" });
    let words = "it denies every tool: line 2, column 8: `pth` is no condition";
    for source in ["startup", "resume"] {
        assert!(told(source, config()).contains(words), "{}", told(source, config()));
    }
    let verdict = judged("read_file", json!({}), ("pure", &[]), config());
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.reason.is_some_and(|reason| reason.contains(words)));
}
