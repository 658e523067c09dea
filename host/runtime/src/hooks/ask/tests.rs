//! What an answer may say to which event.

use rewake_bindings::hook;
use rewake_core::fact::{HookEvent, HookPin, OnError};

use super::said;

const EVENTS: [HookEvent; 7] = [
    HookEvent::SessionStart,
    HookEvent::UserPromptSubmit,
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::Stop,
    HookEvent::SessionEnd,
];

fn pin(event: HookEvent, rewrites: bool) -> HookPin {
    let on_error = OnError::Deny;
    HookPin {
        component: 0,
        event,
        matcher: String::new(),
        on_error,
        timeout_ms: 1,
        rewrites,
        operator: false,
    }
}

fn none() -> hook::Verdict {
    hook::Verdict {
        decision: hook::Decision::None,
        reason: None,
        context: None,
        updated_input: None,
        updated_output: None,
        title: None,
        end_turn: None,
    }
}

/// The events that take a verdict, asked as one that may rewrite.
fn takers(verdict: &hook::Verdict) -> Vec<HookEvent> {
    EVENTS.into_iter().filter(|event| said(&pin(*event, true), verdict.clone(), 1 << 20).is_ok()).collect()
}

#[test]
fn an_event_takes_its_own_decisions_and_no_others() {
    use HookEvent::{PostToolUse, PreToolUse, Stop, UserPromptSubmit};
    let decided = |decision| hook::Verdict { decision, reason: Some("r".into()), ..none() };
    assert_eq!(takers(&none()), EVENTS);
    for decision in [hook::Decision::Allow, hook::Decision::Deny, hook::Decision::Ask] {
        assert_eq!(takers(&decided(decision)), [PreToolUse], "{decision:?}");
    }
    assert_eq!(takers(&decided(hook::Decision::Block)), [UserPromptSubmit, PostToolUse, Stop]);
    let silent = hook::Verdict { decision: hook::Decision::Block, ..none() };
    assert_eq!(takers(&silent), [UserPromptSubmit, PostToolUse], "a Stop hook must give a reason");
}

#[test]
fn an_event_takes_its_own_changes_and_no_others() {
    use HookEvent::{PostToolUse, PreToolUse, SessionStart, UserPromptSubmit};
    let input = hook::Verdict { updated_input: Some("{}".into()), ..none() };
    let output = hook::Verdict { updated_output: Some(vec![]), ..none() };
    assert_eq!(takers(&input), [PreToolUse]);
    assert_eq!(takers(&output), [PostToolUse]);
    assert_eq!(
        takers(&hook::Verdict { title: Some("t".into()), ..none() }),
        [SessionStart, UserPromptSubmit]
    );
    assert_eq!(takers(&hook::Verdict { end_turn: Some("e".into()), ..none() }), EVENTS[..6]);
    assert_eq!(takers(&hook::Verdict { context: Some("c".into()), ..none() }), EVENTS[..6]);
    for (event, verdict) in [(PreToolUse, input), (PostToolUse, output)] {
        assert!(said(&pin(event, false), verdict, 1 << 20).unwrap_err().contains("rewrites = true"));
    }
}

#[test]
fn what_replaces_an_input_is_one_that_a_tool_can_be_given() {
    for input in ["", "[]", "1", "{\"a\":1,\"a\":2}", "{} {}"] {
        let verdict = hook::Verdict { updated_input: Some(input.into()), ..none() };
        assert!(said(&pin(HookEvent::PreToolUse, true), verdict, 1 << 20).is_err(), "{input}");
    }
}

/// What a hook makes of an output is bounded as outputs are.
#[test]
fn what_replaces_an_output_is_cut() {
    let long = vec![rewake_bindings::types::Part::Text("y".repeat(2_000))];
    let verdict = hook::Verdict { updated_output: Some(long), ..none() };
    let said = said(&pin(HookEvent::PostToolUse, true), verdict, 1024).unwrap();
    let cut = format!("{}… (976 bytes cut)", "y".repeat(1024));
    assert_eq!(said.changes.output, Some(vec![rewake_wire::Part::text(cut)]));
}
