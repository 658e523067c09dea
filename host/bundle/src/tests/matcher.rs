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

/// hooks.md: what is no list of names is a regular expression, found anywhere in the name.
#[test]
fn anything_else_is_a_pattern() {
    let tool = HookEvent::PreToolUse;
    check(tool, "write.*", &["write", "rewrite", "write_file"], &["Write", "edit"]);
    check(tool, "^(write|edit)_file$", &["write_file", "edit_file"], &["rewrite_file", "write_files"]);
    check(tool, "^write|edit$", &["write_file", "my-edit"], &["rewrite", "edits"]);
    check(tool, "(?i)WRITE", &["write", "rewrite"], &["edit"]);
    check(tool, "\\d{2}", &["a12"], &["a1"]);
    check(HookEvent::SessionStart, "^(startup|fork)$", &["startup", "fork"], &["resume"]);
}

/// What folds journals reads lists of words, and no patterns.
#[test]
fn a_pattern_on_words_is_pinned_as_the_words() {
    for (event, text, pinned) in [
        (HookEvent::SessionStart, "^.{1,7}$", "startup|resume|fork"),
        (HookEvent::SessionStart, "re.ume", "resume"),
        (HookEvent::SessionEnd, "ed$", "stopped|failed|archived"),
        (HookEvent::SessionEnd, "stopped, failed", "stopped, failed"),
        (HookEvent::PreToolUse, "^write", "^write"),
    ] {
        assert_eq!(Matcher::parse(event, text).unwrap().pinned(event), pinned);
    }
}

/// Matching takes time in proportion to the name, whatever the pattern.
#[test]
fn no_pattern_takes_for_ever() {
    let name = "a".repeat(64);
    for pattern in ["(a+)+$", "(a|aa)+b", "(a*)*b", "(.*)(.*)(.*)(.*)b"] {
        let since = std::time::Instant::now();
        Matcher::parse(HookEvent::PreToolUse, pattern).unwrap().matches(&name, None, &[]);
        assert!(since.elapsed().as_secs() < 2, "{pattern}");
    }
}

#[test]
fn what_can_never_match_is_refused() {
    let tool = HookEvent::PreToolUse;
    for (event, text, message) in [
        (tool, "write|", "the matcher `write|` has an empty name in it"),
        (tool, " ", "the matcher ` ` has an empty name in it"),
        (tool, "write edit", "`write edit` has a space in it, and no name has"),
        (tool, "write(", "the pattern `write(` does not compile: unclosed group (at 5)"),
        (tool, "(a{1000}){1000}", "the pattern `(a{1000}){1000}` does not compile: it is too large"),
        (
            tool,
            "(?=write)",
            "the pattern `(?=write)` does not compile: look-around, including look-ahead and look-behind, is not supported (at 0)",
        ),
        (tool, "write file\\.txt", "PreToolUse can never match `write file\\.txt`"),
        (tool, "[.:/]", "PreToolUse can never match `[.:/]`"),
        (
            tool,
            "effect:once|w.*",
            "`effect:once|w.*` has `effect:once` beside a regular expression, which would hide it",
        ),
        (
            tool,
            "grant:fs.*",
            "`grant:fs.*` has `grant:fs.*` beside a regular expression, which would hide it",
        ),
        (HookEvent::SessionStart, "^start$", "SessionStart can never match `^start$`"),
        (tool, "effect:never", "`effect:never` is not known"),
        (tool, "grant:fs", "`grant:fs` is not known"),
        (tool, "Effect:once", "PreToolUse can never match `Effect:once`"),
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
fn events_have_one_name_each() {
    for event in HookEvent::ALL {
        assert_eq!(HookEvent::ALL.iter().filter(|other| other.as_str() == event.as_str()).count(), 1);
        assert_eq!(serde_json::to_value(event).unwrap(), event.as_str());
        if event.can_be_rewritten() {
            assert_eq!(event.tried_on(), TriedOn::Tool);
        }
    }
}

#[test]
fn a_matcher_is_bounded() {
    let long = "a".repeat(1025);
    let invalid = Matcher::parse(HookEvent::PreToolUse, &long).expect_err("it is too long");
    assert_eq!(invalid.message, "the matcher has 1025 bytes");
}
