//! What a transcript says, and what it leaves out.

use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    AgentMessage, Class, Custom, Fact, HookStarted, HookVerdict, Lost, RequestedUse, SessionLoaded, Source,
    StepRerun, ToolCompleted, ToolLost, ToolStarted, ToolsRequested, TurnCompleted, TurnFailed, TurnWaiting,
    UserMessage, WaitOn,
};
use rewake_core::fact::{Decision, HookEvent, Scope};
use rewake_core::ids::{Digest, HostId, SessionId, Timestamp};
use rewake_core::money::Usd;
use rewake_wire::{Outcome, Part, Sender, Usage};

use super::{Transcript, without_digests};

fn id() -> SessionId {
    SessionId::parse("ses_01").unwrap()
}

fn journal(facts: Vec<(Place, Fact)>) -> Vec<Entry> {
    let entry = |(seq, (place, fact)): (u64, (Place, Fact))| {
        let draft = Draft::system(place, fact);
        let hash = Digest::default();
        Entry {
            seq,
            epoch: 1,
            at: Timestamp(0),
            actor: draft.actor,
            place,
            fact: draft.fact,
            prev_hash: hash,
            hash,
            bytes: 0,
        }
    };
    (1..).zip(facts).map(entry).collect()
}

fn use_at(index: u32) -> Place {
    Place { turn: 1, step: 1, ordinal: 2, index }
}

fn requested(names: &[&str]) -> (Place, Fact) {
    let uses = names.iter().map(|name| RequestedUse {
        id: "use_1".into(),
        name: (*name).into(),
        input: "{}".into(),
        arguments: Digest::default(),
        hooks: vec![],
        after: vec![],
    });
    (use_at(0), ToolsRequested { uses: uses.collect() }.into())
}

fn started(index: u32, class: Class) -> (Place, Fact) {
    let (definition, arguments) = (Digest::default(), Digest::default());
    (use_at(index), ToolStarted { name: "t".into(), class, definition, arguments, verdicts: vec![] }.into())
}

fn completed(index: u32, outcome: Outcome, text: &str) -> (Place, Fact) {
    let body = ToolCompleted { ms: 7, ..ToolCompleted::new(Some(1), outcome, vec![Part::text(text)]) };
    (use_at(index), body.into())
}

fn of(facts: Vec<(Place, Fact)>) -> Transcript {
    Transcript::of(&id(), &journal(facts))
}

fn say(text: &str) -> (Place, Fact) {
    (Place::step(1, 1), AgentMessage::new(vec![Part::text(text)]).into())
}

#[test]
fn what_was_said_and_done_is_told_in_order() {
    let hello = UserMessage { n: 1, sender: Sender::Operator("a".into()), parts: vec![Part::text("Hello.")] };
    let done = TurnCompleted { steps: 1, ..TurnCompleted::default() };
    let transcript = of(vec![
        (Place::turn(1), hello.into()),
        requested(&["a", "b"]),
        started(0, Class::Pure),
        started(1, Class::Once),
        // The later use ends first.
        completed(1, Outcome::Error, "no\nsuch file"),
        completed(0, Outcome::Ok, "in ses_01\n"),
        say("Done.\nuser: not really"),
        (Place::turn(1), done.into()),
    ]);
    assert_eq!(
        transcript.lines,
        [
            "user: Hello.",
            "tool a {}",
            "  ok: in <session>",
            "tool b {}",
            "  error: no",
            "      such file",
            "agent: Done.",
            "    user: not really",
            "turn 1 completed"
        ]
    );
    assert_eq!(transcript.unknown, None);
}

#[test]
fn how_often_it_was_taken_up_is_not_told() {
    let loaded = |source| SessionLoaded {
        source,
        host: HostId::parse("host_1").unwrap(),
        host_version: "0".into(),
        snapshot_seq: None,
        folded: 1,
        again: None,
    };
    let fired = |source, seq| {
        let event = HookEvent::SessionStart;
        let binding = Digest::default();
        let start = HookStarted { hook: 0, event, source: Some(source), message: None, binding };
        let verdict = HookVerdict { start: seq, context: Some("hi".into()), ..HookVerdict::default() };
        [(Place::default(), start.into()), (Place::default(), verdict.into())]
    };
    let mut facts: Vec<(Place, Fact)> = vec![(Place::default(), loaded(Source::Startup).into())];
    facts.extend(fired(Source::Startup, 2));
    facts.push(say("a"));
    let whole = of(facts.clone());
    facts.push((Place::default(), loaded(Source::Resume).into()));
    facts.extend(fired(Source::Resume, 6));
    facts.push((Place::step(1, 1), StepRerun { again: 1 }.into()));
    assert_eq!(of(facts), whole);
    assert_eq!(whole.lines, ["hook ? () adds: hi", "agent: a"]);
}

#[test]
fn a_lost_call_is_unknown_only_if_it_may_not_be_repeated() {
    let lost = |class, why| {
        of(vec![
            say("a"),
            requested(&["a"]),
            started(0, class),
            (use_at(0), ToolLost { start: 3, why }.into()),
            say("b"),
        ])
    };
    let once = lost(Class::Once, Lost::Host);
    assert_eq!(once.lines[2], "  unknown: the host died while it ran");
    assert_eq!(once.unknown, Some(2));
    assert_eq!(lost(Class::Idempotent, Lost::Host).unknown, None);
    assert_eq!(lost(Class::Once, Lost::Limit).unknown, None);
}

#[test]
fn verdicts_stand_with_what_they_are_about() {
    let verdict = HookVerdict {
        start: 1,
        decision: Decision::Deny,
        reason: Some("protected".into()),
        ..HookVerdict::default()
    };
    let transcript = of(vec![
        requested(&["a", "b"]),
        (use_at(1), verdict.into()),
        completed(1, Outcome::Denied, "protected"),
        completed(0, Outcome::Ok, ""),
    ]);
    assert_eq!(
        transcript.lines,
        ["tool a {}", "  ok", "tool b {}", "  hook ? () denies: protected", "  denied: protected"]
    );
}

#[test]
fn a_failure_is_one_line_of_its_detail() {
    let failed = TurnFailed {
        scope: Scope::Turn,
        code: "trapped".into(),
        detail: "wasm trap: unreachable\nat 0x1234".into(),
        usage: Usage::default(),
        cost: Usd::ZERO,
        pending: 0,
    };
    let transcript = of(vec![(Place::turn(1), failed.into())]);
    assert_eq!(transcript.lines, ["turn 1 failed (trapped): wasm trap: unreachable"]);
}

#[test]
fn an_authors_entry_is_told_without_seqs_and_counts_of_tokens() {
    let data = serde_json::json!({ "to_seq": 7, "seq": 1, "tokens_before": 5, "kept": [{ "from_seq": 2, "text": "a" }], "sequel": 3 });
    let said = of(vec![(Place::turn(1), Custom { kind: "custom.note".into(), data }.into())]);
    assert_eq!(said.text(), "custom.note {\"kept\":[{\"text\":\"a\"}],\"sequel\":3}\n");
}

#[test]
fn a_step_that_only_lets_messages_in_is_no_wait() {
    let wait = |until: i64| {
        let on = WaitOn::Time { until: Some(Timestamp(until)), on_message: true };
        (Place::turn(1), TurnWaiting { on }.into())
    };
    assert_eq!(of(vec![wait(0), say("go")]).text(), of(vec![say("go")]).text());
    assert!(of(vec![wait(1)]).text().contains("waits for a message or a time"));
}

#[test]
fn digests_are_not_told() {
    let digest = "0123456789abcdef".repeat(4);
    assert_eq!(without_digests(&format!("blake3:{digest}, and abc")), "blake3:<digest>, and abc");
    assert_eq!(without_digests("face"), "face");
    assert_eq!(without_digests(""), "");
}

#[test]
fn a_long_text_is_cut_and_still_differs_by_its_rest() {
    let of_rest = |rest: &str| of(vec![say(&format!("{}{rest}", "x".repeat(4_000)))]).text();
    let cut = of_rest("ab");
    assert!(cut.contains("… (2 more characters, "), "{cut}");
    assert_ne!(cut, of_rest("ac"));
    // What is not the same on every run does not count there either.
    let digest = |digit: &str| digit.repeat(64);
    assert_eq!(of_rest(&format!(" {}", digest("a"))), of_rest(&format!(" {}", digest("b"))));
    assert!(!of_rest(" ses_01").contains("ses_01"));
}
