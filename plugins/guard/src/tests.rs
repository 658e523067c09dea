//! What is denied, and what is not.

use rewake_sdk::testing;
use serde_json::{Value, json};

use super::*;

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
