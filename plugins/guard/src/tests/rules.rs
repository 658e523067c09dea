//! What rules say of uses.

use rewake_sdk::prelude::*;
use serde_json::{Value, json};

use super::judged;

/// What one set of rules says of a use; `protected` plays no part.
fn said(rules: &str, tool: &str, input: Value, can: (&str, &[&str])) -> (Decision, String) {
    let verdict = judged(tool, input, can, json!({ "rules": rules, "protected": "" }));
    (verdict.decision, verdict.reason.unwrap_or_default())
}

const NOTHING: (&str, &[&str]) = ("pure", &[]);

#[test]
fn a_rule_goes_by_the_tool() {
    let decided = |rules, tool| said(rules, tool, json!({}), NOTHING).0;
    assert_eq!(decided("ask delete_file", "delete_file"), Decision::Ask);
    assert_eq!(decided("ask delete_file", "delete_files"), Decision::None);
    assert_eq!(decided("deny a|del*", "delete_files"), Decision::Deny);
    assert_eq!(decided("deny *", "x"), Decision::Deny);
    assert_eq!(decided("", "x"), Decision::None);
    assert_eq!(decided("\n  # deny *\n", "x"), Decision::None);
}

#[test]
fn a_rule_goes_by_the_path_however_it_is_written() {
    let rules = "deny write_file|edit_file path=.env*|\"my docs/**\"";
    for path in ["./.env", "a/../.env.local", "my docs/x", "/workspace/My Docs/x"] {
        let (decision, reason) = said(rules, "write_file", json!({ "path": path }), NOTHING);
        assert_eq!(decision, Decision::Deny, "{path}");
        assert!(reason.contains("`write_file` is denied by line 1 of the guard's rules"), "{reason}");
        assert!(reason.contains("is covered by `"), "{reason}");
    }
    assert_eq!(said(rules, "write_file", json!({ "path": "a" }), NOTHING).0, Decision::None);
    assert_eq!(said(rules, "read_file", json!({ "path": ".env" }), NOTHING).0, Decision::None);
}

#[test]
fn a_path_that_is_not_told_is_denied_where_a_rule_goes_by_it() {
    for (rules, input, decision) in [
        ("ask save_file path=.env", json!({}), Decision::Deny),
        ("ask save_file path!=docs/**", json!({}), Decision::Deny),
        ("ask * path=.env", json!({}), Decision::None),
        ("ask save_* path=.env", json!({}), Decision::None),
        ("ask * path=.env", json!({ "path": 5 }), Decision::Deny),
        ("ask * path=.env", json!({ "path": ["a", null] }), Decision::Deny),
        ("ask * path=.env", json!({ "path": ["a", ".env"] }), Decision::Ask),
        ("ask * path=.env", json!({ "edits": [{ "path": "a" }, { "path": ".env" }] }), Decision::Ask),
        ("ask save_file path=.env", json!({ "edits": [{ "path": "a" }] }), Decision::None),
        ("ask * path=.env", json!({ "edits": [{ "path": 5 }] }), Decision::Deny),
        ("ask save_file capability=http path=.env", json!({}), Decision::None),
    ] {
        assert_eq!(said(rules, "save_file", input.clone(), NOTHING).0, decision, "{rules} {input}");
    }
}

#[test]
fn an_exception_is_what_a_path_is_not() {
    let rules = "ask * capability=fs-rw path!=docs/**|notes.md";
    let decided = |path| said(rules, "write_file", json!({ "path": path }), ("idempotent", &["fs-rw"])).0;
    assert_eq!(decided("docs/a.md"), Decision::None);
    assert_eq!(decided("src/a.rs"), Decision::Ask);
    assert_eq!(decided("docs/../src/a.rs"), Decision::Ask);
}

#[test]
fn a_rule_goes_by_what_the_input_says() {
    let rules = "deny * pattern=/BEGIN [A-Z ]*PRIVATE KEY/\ndeny * pattern=/a\\/b/i";
    for input in [
        json!({ "content": "x\n-----BEGIN RSA PRIVATE KEY-----\n" }),
        json!({ "deep": [1, { "er": "BEGIN PRIVATE KEY" }] }),
        json!({ "BEGIN PRIVATE KEY": 1 }),
        json!("BEGIN PRIVATE KEY"),
        json!({ "content": "A/B" }),
    ] {
        assert_eq!(said(rules, "any", input.clone(), NOTHING).0, Decision::Deny, "{input}");
    }
    let (decision, reason) = said(rules, "any", json!({ "content": "BEGIN PRIVATE KEY" }), NOTHING);
    assert!(decision == Decision::Deny && reason.contains("is found in `content`"), "{reason}");
    assert!(!reason.contains("BEGIN PRIVATE"), "what is looked for is not repeated: {reason}");
    assert_eq!(said(rules, "any", json!({ "content": "PRIVATE KEY" }), NOTHING).0, Decision::None);
    assert_eq!(said("ask * pattern!=/please/", "any", json!({ "a": "now" }), NOTHING).0, Decision::Ask);
    assert_eq!(said("ask * pattern!=/please/", "any", json!({ "a": "please" }), NOTHING).0, Decision::None);
}

#[test]
fn a_rule_goes_by_what_a_tool_can_do() {
    let decided = |rules, effect, grants: &[&str]| said(rules, "x", json!({}), (effect, grants)).0;
    assert_eq!(decided("ask * capability=http", "pure", &["http"]), Decision::Ask);
    assert_eq!(decided("ask * capability=http|fs-rw", "pure", &["fs-ro", "fs-rw"]), Decision::Ask);
    assert_eq!(decided("ask * capability=http", "pure", &["fs-rw"]), Decision::None);
    assert_eq!(decided("ask * capability!=http", "pure", &["fs-rw"]), Decision::Ask);
    assert_eq!(decided("ask * effect=once", "once", &[]), Decision::Ask);
    assert_eq!(decided("ask * effect=once|idempotent", "pure", &[]), Decision::None);
    assert_eq!(decided("ask * effect!=pure", "idempotent", &[]), Decision::Ask);
    assert_eq!(decided("ask * capability=http effect=once", "pure", &["http"]), Decision::None);
}

/// Deny over ask over nothing, whatever the order.
#[test]
fn the_severest_rule_holds() {
    for rules in ["ask *\ndeny x", "deny x\nask *"] {
        let (decision, reason) = said(rules, "x", json!({}), NOTHING);
        assert_eq!(decision, Decision::Deny);
        assert!(!reason.contains("`ask *`"), "{reason}");
    }
    let (_, reason) = said("deny x\ndeny *\ndeny x*\ndeny *x\ndeny x|y", "x", json!({}), NOTHING);
    assert!(
        reason.contains("line 1 ") && reason.contains("line 3 ") && !reason.contains("line 4 "),
        "{reason}"
    );
    assert!(reason.contains("and by 2 more"), "{reason}");
}

#[test]
fn a_question_says_which_rule_and_what_exactly() {
    let rules = "\nask * capability=http path=docs/** -- the press reads these";
    let input = json!({ "path": "docs/\u{202e}a\n\"b" });
    let (decision, reason) = said(rules, "send", input, ("once", &["http"]));
    assert_eq!(decision, Decision::Ask);
    assert_eq!(
        reason,
        "A person is asked by line 2 of the guard's rules, `ask * capability=http path=docs/**` (`send` may use \
         http, `docs/\\u{202e}a\\n\\\"b` is covered by `docs/**`): the press reads these"
    );
}

#[test]
fn what_a_model_wrote_is_cut_where_it_is_shown() {
    let (_, reason) = said("ask *_file path=a/**", "x_file", json!({ "path": "a/".repeat(5_000) }), NOTHING);
    assert!(reason.len() < 500 && reason.contains('…'), "{reason}");
}
