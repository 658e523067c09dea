//! What is shown of entries and sessions, and what is said of what went wrong.

use rewake_core::command::Command;
use rewake_core::entry::{Draft, Place};
use rewake_core::error::Mismatch;
use rewake_core::fact::{
    AgentMessage, AgentTitle, CommandCanceled, CommandEdited, CommandPromoted, CommandRejected, Fact,
    HookEvent, OnError, TriedOn, TurnStarted, UserAnswer, UserInterrupt, UserMessage, UserStop,
};
use rewake_core::ids::{Digest, Head, Timestamp};
use rewake_core::limits::{DETAIL_BYTES_MAX, TITLE_CHARS_MAX};
use rewake_core::{Session, view};
use rewake_wire::{Actor, ActorType, Part, Sender, SessionSummary, Status};

use crate::bench::{Bench, STEP, USE};
use crate::pins;
use rewake_core::codec::{Seal, seal};
use rewake_core::fact::Decision::{Allow, Ask, Block, Deny, None as Nothing};

#[test]
fn an_event_says_what_its_entry_does() {
    let head = Head { seq: 6, hash: Digest::of(b"before") };
    let sealed = |draft| {
        let terms = Seal { epoch: 1, at: Timestamp(1_764_417_600_005), salt: [0; 16] };
        seal(&pins::session(), head, terms, draft).unwrap().0
    };
    let entry = sealed(Draft::agent(USE, AgentMessage::new(vec![Part::text("hi")])));
    let event = view::event(&pins::session(), &entry);
    assert_eq!((event.id.as_str(), event.seq, event.session_id.as_str()), ("evt_laws_7", 7, "ses_laws"));
    assert_eq!((event.turn_id.as_deref(), event.step), (Some("turn_1"), Some(1)));
    assert_eq!((event.kind.as_str(), event.version), ("agent.message", 1));
    assert_eq!(event.actor, Actor::new(ActorType::Agent, "harness"));
    assert_eq!(event.at, "2025-11-29T12:00:00.005Z");
    assert_eq!(event.data, serde_json::json!({ "parts": [{ "type": "text", "text": "hi" }] }));
    assert_eq!((event.prev_hash, event.hash), (head.hash.to_hex(), entry.hash.to_hex()));
    let opened = sealed(Draft::system(Place::turn(2), TurnStarted { commands: vec![] }));
    let event = view::event(&pins::session(), &opened);
    assert_eq!((event.turn_id.as_deref(), event.step), (Some("turn_2"), None));
    assert_eq!(event.actor, Actor::new(ActorType::System, "host"));
    let of_session = Place::default();
    let loaded = sealed(Draft::system(of_session, TurnStarted { commands: vec![] }));
    assert_eq!(view::event(&pins::session(), &loaded).turn_id, None);
}

#[test]
fn a_summary_is_of_the_fold() {
    let mut bench = Bench::in_step();
    bench.record(USE, AgentTitle { title: "t".repeat(TITLE_CHARS_MAX + 1) }).unwrap();
    let at = "1970-01-01T00:00:01.000Z".to_owned();
    let expected = SessionSummary {
        id: "ses_laws".into(),
        agent: "laws/agent".into(),
        status: Status::Running,
        title: Some("t".repeat(TITLE_CHARS_MAX)),
        turns: 1,
        entries: 6,
        created_at: at.clone(),
        updated_at: at,
        fault: None,
    };
    assert_eq!(view::summary(&bench.session), expected);
    let empty = view::summary(&Session::new(pins::session()));
    assert_eq!((empty.agent.as_str(), empty.status, empty.entries), ("", Status::Queued, 0));
}

#[test]
fn a_mismatch_is_shown_as_a_fault_that_is_cut() {
    let long = "x".repeat(DETAIL_BYTES_MAX + 1);
    let mismatch = Mismatch { seq: 0, expected: long.clone(), got: long, field: "input".into() };
    let fault = mismatch.fault("0.1.0");
    assert_eq!((fault.seq, fault.reason.as_str(), fault.field.as_str()), (None, "mismatch", "input"));
    assert!(fault.expected.ends_with("… (1 bytes cut)") && fault.got == fault.expected);
    assert_eq!((fault.host_version.as_str(), fault.detail.is_empty()), ("0.1.0", false));
    assert_eq!(Mismatch { seq: 3, ..mismatch }.fault("0.1.0").seq, Some(3));
}

/// The table of hooks.md: what each event is called, is tried on, may decide, and comes to when its hook fails.
#[test]
fn the_events_of_hooks_are_as_they_are_written() {
    use HookEvent as Event;
    let (tool, name) = (TriedOn::Tool, TriedOn::Name);
    let of_compaction = TriedOn::Words(&["manual", "auto"]);
    let start = TriedOn::Words(&["startup", "resume", "fork"]);
    let end = TriedOn::Words(&["stopped", "failed", "archived"]);
    let table = [
        (Event::SessionStart, "SessionStart", start, vec![Nothing], Nothing),
        (Event::UserPromptSubmit, "UserPromptSubmit", TriedOn::Nothing, vec![Nothing, Block], Block),
        (Event::PreToolUse, "PreToolUse", tool, vec![Nothing, Allow, Deny, Ask], Deny),
        (Event::PostToolUse, "PostToolUse", tool, vec![Nothing, Block], Block),
        (Event::PostToolUseFailure, "PostToolUseFailure", tool, vec![Nothing], Nothing),
        (Event::Stop, "Stop", TriedOn::Nothing, vec![Nothing, Block], Block),
        (Event::SubagentStart, "SubagentStart", name, vec![Nothing], Nothing),
        (Event::SubagentStop, "SubagentStop", name, vec![Nothing], Nothing),
        (Event::PreCompact, "PreCompact", of_compaction, vec![Nothing], Nothing),
        (Event::PostCompact, "PostCompact", of_compaction, vec![Nothing], Nothing),
        (Event::Notification, "Notification", name, vec![Nothing], Nothing),
        (Event::SessionEnd, "SessionEnd", end, vec![Nothing], Nothing),
    ];
    assert_eq!(table.each_ref().map(|row| row.0), Event::ALL);
    for (event, name, tried_on, decides, denied) in table {
        assert_eq!((event.as_str(), event.tried_on()), (name, tried_on));
        let all = [Nothing, Allow, Deny, Ask, Block];
        let may: Vec<_> = all.into_iter().filter(|decision| event.may_decide(*decision)).collect();
        assert_eq!(may, decides, "{name}");
        assert_eq!(
            [event.failure(OnError::Deny), event.failure(OnError::Allow)],
            [denied, Nothing],
            "{name}"
        );
        let is_guard = matches!(event, Event::PreToolUse | Event::UserPromptSubmit);
        let default = if is_guard { OnError::Deny } else { OnError::Allow };
        assert_eq!(event.default_on_error(), default, "{name}");
        let rewrites = matches!(event, Event::PreToolUse | Event::PostToolUse);
        assert_eq!(event.can_be_rewritten(), rewrites, "{name}");
    }
    let silent = Event::ALL.into_iter().filter(|event| !event.is_fired());
    let names: Vec<_> = silent.map(Event::as_str).collect();
    assert_eq!(names, ["SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Notification"]);
}

#[test]
fn a_place_is_in_its_own_step_only() {
    assert!(USE.is_in_step(1, 1) && STEP.is_in_step(1, 1));
    for (turn, step) in [(1, 2), (2, 1), (0, 1)] {
        assert!(!USE.is_in_step(turn, step));
    }
    assert!(!Place::turn(1).is_in_step(1, 0), "no step has the number 0");
    let by = Draft::by(Actor::new(ActorType::Hook, "h"), USE, TurnStarted { commands: vec![] });
    assert_eq!((by.actor.kind, by.place, by.fact.is_turn_end()), (ActorType::Hook, USE, false));
    assert_eq!(by.fact.rows().next(), None);
}

#[test]
fn a_command_s_entry_names_its_row() {
    let sender = || Sender::System;
    let (value, question, reason, why) = (String::new(), String::new(), String::new(), String::new());
    let edited = CommandEdited { n: 6, sender: sender(), target: 1, before: vec![], after: vec![] };
    let facts: [Fact; 8] = [
        UserMessage { n: 1, sender: sender(), parts: vec![] }.into(),
        UserAnswer { n: 2, sender: sender(), question, value }.into(),
        UserInterrupt { n: 3, sender: sender(), turn: 1 }.into(),
        UserStop { n: 4, sender: sender(), reason }.into(),
        CommandRejected { n: 5, why }.into(),
        edited.into(),
        CommandPromoted { n: 7, sender: sender(), target: 1, turn: None }.into(),
        CommandCanceled { n: 8, sender: sender(), target: 1 }.into(),
    ];
    // What is canceled is accepted with the command that does it.
    let rows = [vec![1], vec![2], vec![3], vec![4], vec![5], vec![6], vec![7], vec![8, 1]];
    assert_eq!(facts.map(|fact| fact.rows().collect::<Vec<_>>()), rows);
}

#[test]
fn a_command_about_a_message_names_it() {
    for (command, target) in [
        (Command::Edit { target: 3, parts: vec![] }, Some(3)),
        (Command::Cancel { target: 4 }, Some(4)),
        (Command::Promote { target: 5, turn: Some(1) }, Some(5)),
        (Command::Message { parts: vec![] }, None),
        (Command::Interrupt { turn: 6 }, None),
    ] {
        assert_eq!(command.target(), target, "{command:?}");
    }
}
