//! Matchers, as the hook contract describes them.

use rewake_core::effect::Effect;

use super::super::{GrantKind, HookEvent, Matcher, TriedOn};

#[track_caller]
fn check(event: HookEvent, matcher: &str, matched: &[&str], not_matched: &[&str]) {
    let parsed = Matcher::parse(event, matcher).expect("it is well-formed");
    for name in matched {
        assert!(parsed.matches(name, None, &[]), "{matcher:?} must match {name:?}");
    }
    for name in not_matched {
        assert!(!parsed.matches(name, None, &[]), "{matcher:?} must not match {name:?}");
    }
}

#[test]
fn names_are_exact_and_case_sensitive() {
    let tool = HookEvent::PreToolUse;
    for everything in ["", "*"] {
        check(tool, everything, &["write", "http"], &[]);
    }
    check(tool, "write", &["write"], &["Write", "write_file", "rewrite", ""]);
    check(tool, "write|edit", &["write", "edit"], &["write|edit", "ed"]);
    check(tool, "write, edit | rm_-1", &["write", "edit", "rm_-1"], &["rm"]);
    check(HookEvent::SessionStart, "startup|resume", &["startup", "resume"], &["fork"]);
    check(HookEvent::SubagentStop, "reviewer", &["reviewer"], &["writer"]);
}

#[test]
fn capabilities_match_whatever_the_name() {
    let once = Matcher::parse(HookEvent::PreToolUse, "effect:once").unwrap();
    assert!(once.matches("x", Some(Effect::Once), &[]));
    assert!(!once.matches("x", Some(Effect::Pure), &[GrantKind::Http]));
    assert!(!once.matches("effect:once", None, &[]), "a name is not a capability");

    let write = Matcher::parse(HookEvent::PreToolUse, "grant:fs-rw").unwrap();
    assert!(write.matches("x", None, &[GrantKind::Http, GrantKind::FsRw]));
    assert!(!write.matches("x", Some(Effect::Once), &[GrantKind::FsRo]));

    let either = Matcher::parse(HookEvent::PostToolUse, "grant:http | effect:once, shell").unwrap();
    assert!(either.matches("x", None, &[GrantKind::Http]));
    assert!(either.matches("x", Some(Effect::Once), &[]));
    assert!(either.matches("shell", None, &[]));
    assert!(!either.matches("x", Some(Effect::Idempotent), &[GrantKind::FsRw]));
}

#[test]
fn names_are_given_only_where_they_are_all_there_is() {
    let names = |text| Matcher::parse(HookEvent::PreToolUse, text).unwrap().names().join("+");
    assert_eq!(names("write, edit"), "write+edit");
    assert_eq!(names("write|effect:once"), "");
    assert_eq!(names("*"), "");
}

#[test]
fn what_can_never_match_is_refused() {
    let tool = HookEvent::PreToolUse;
    for (event, text, message) in [
        (tool, "write|", "the matcher `write|` has an empty name in it"),
        (tool, " ", "the matcher ` ` has an empty name in it"),
        (tool, "write edit", "`write edit` has a space in it, and no name has"),
        (tool, "write.*", "`write.*` would be a regular expression"),
        (tool, "^mcp__", "`^mcp__` would be a regular expression"),
        (tool, "effect:never", "`effect:never` is not known"),
        (tool, "grant:fs", "`grant:fs` is not known"),
        (tool, "Effect:once", "`Effect:once` would be a regular expression"),
        (HookEvent::Stop, "", "Stop has no matcher"),
        (HookEvent::UserPromptSubmit, "*", "UserPromptSubmit has no matcher"),
        (HookEvent::SessionStart, "start", "SessionStart can never match `start`"),
        (
            HookEvent::SessionStart,
            "grant:http",
            "SessionStart is not about a tool, so `grant:http` never matches",
        ),
        (HookEvent::PreCompact, "automatic", "PreCompact can never match `automatic`"),
    ] {
        let invalid = Matcher::parse(event, text).expect_err(text);
        assert_eq!(invalid.message, message);
        assert!(invalid.help.is_some(), "{text:?} needs a word on what to do");
    }
}

#[test]
fn events_agree_with_what_sessions_fire() {
    for event in HookEvent::ALL {
        assert_eq!(HookEvent::ALL.iter().filter(|other| other.name() == event.name()).count(), 1);
        if let Some(fired) = event.fired() {
            assert_eq!(fired.as_str(), event.name());
            assert_eq!(fired.default_on_error(), event.on_error_default());
        }
        if event.can_be_rewritten() {
            assert_eq!(event.tried_on(), TriedOn::Tool);
        }
    }
}
