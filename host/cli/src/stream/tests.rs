//! Tests of how entries are shown.

use rewake_core::fact::{
    AgentMessage, Class, HookVerdict, HttpCompleted, HttpLost, HttpRequest, HttpStarted, LogLine, Lost,
    RequestedUse, StepRerun, ToolLost, ToolsRequested,
};
use rewake_core::ids::{Digest, Timestamp};
use rewake_wire::{Actor, ActorType, Part};

use super::*;

/// An entry that says something; its chain is none.
pub(crate) fn entry(place: Place, fact: impl Into<Fact>) -> Entry {
    Entry {
        seq: 1,
        epoch: 1,
        at: Timestamp(0),
        actor: Actor::new(ActorType::Hook, "acme/guard:guard"),
        place,
        fact: fact.into(),
        prev_hash: Digest::default(),
        hash: Digest::default(),
        bytes: 0,
    }
}

fn texts(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|(_, text)| text).collect()
}

fn requested(names: &[&str]) -> ToolsRequested {
    let one = |name: &&str| RequestedUse {
        id: "u".into(),
        name: (*name).to_owned(),
        input: "{\"path\":\n \"a\u{1b}[31m\"}".into(),
        arguments: Digest::default(),
        hooks: vec![],
        after: vec![],
    };
    ToolsRequested { uses: names.iter().map(one).collect() }
}

fn outcome(outcome: Outcome, why: &str) -> ToolCompleted {
    let parts = vec![Part::text(why)];
    ToolCompleted { ms: 7, ..ToolCompleted::new(None, outcome, parts) }
}

#[test]
fn a_request_and_its_outcomes_name_the_tools() {
    let place = Place { turn: 1, step: 2, ordinal: 3, index: 0 };
    let mut of = transcript();
    assert_eq!(
        texts(lines(&mut of, &entry(place, requested(&["read", "write"])))),
        [r#"→ read {"path": "a\u{1b}[31m"}"#, r#"→ write {"path": "a\u{1b}[31m"}"#]
    );
    for (index, fact, expected) in [
        (0, Fact::from(outcome(Outcome::Ok, "text")), "✓ read: ok, 7 ms"),
        (1, outcome(Outcome::Denied, "no\u{1b}\nway").into(), r"⊘ write: denied: no\u{1b} way"),
        (1, outcome(Outcome::Error, "bad").into(), "✗ write: error: bad"),
        (0, outcome(Outcome::TimedOut, "").into(), "✗ read: timed out after 7 ms"),
        (0, outcome(Outcome::Unknown, "w").into(), "✗ read: unknown whether it did it: w"),
        (2, outcome(Outcome::Ok, "").into(), "✓ a tool: ok, 7 ms"),
        (
            1,
            ToolLost { start: 1, why: Lost::Host }.into(),
            "✗ write: unknown whether it did it: the host died while it ran. It was not repeated",
        ),
    ] {
        assert_eq!(texts(lines(&mut of, &entry(place.at_index(index), fact))), [expected]);
    }
}

#[test]
fn denials_of_hooks_are_shown_and_their_silence_is_not() {
    let place = Place { turn: 1, step: 1, ordinal: 1, index: 0 };
    let mut of = transcript();
    lines(&mut of, &entry(place, requested(&["write"])));
    let verdict = |decision, reason: Option<&str>| HookVerdict {
        start: 1,
        hook: 0,
        decision,
        reason: reason.map(str::to_owned),
        ms: 1,
        ..HookVerdict::default()
    };
    let denied = lines(&mut of, &entry(place, verdict(Decision::Deny, Some("protected"))));
    assert_eq!(texts(denied), ["⊘ acme/guard:guard denies write: protected"]);
    let end = lines(&mut of, &entry(place, outcome(Outcome::Denied, "protected")));
    assert_eq!(texts(end), ["⊘ write: denied"], "its reason was shown");
    let asked = lines(&mut of, &entry(place, verdict(Decision::Ask, Some("it writes"))));
    assert_eq!(texts(asked), ["acme/guard:guard wants a person to decide: it writes"]);
    for decision in [Decision::None, Decision::Allow] {
        assert_eq!(lines(&mut of, &entry(place, verdict(decision, None))), []);
    }
}

#[test]
fn messages_are_whole_and_diagnostics_are_dim() {
    let mut of = transcript();
    let said = AgentMessage::new(vec![Part::text("one\ntwo"), Part::Json { json: "{}".into() }]);
    assert_eq!(
        lines(&mut of, &entry(Place::default(), said)),
        [(Style::Plain, "  one\n  two\n  {}".to_owned())]
    );
    let logged = LogLines {
        component: "acme/tool:t".into(),
        lines: vec![LogLine { level: LogLevel::Warn, text: "a\u{9b}b".into() }],
        dropped: 2,
    };
    assert_eq!(
        lines(&mut of, &entry(Place::default(), logged)),
        [
            (Style::Dim, r"acme/tool:t warn| a\u{9b}b".to_owned()),
            (Style::Dim, "acme/tool:t | 2 more were over the limit".to_owned())
        ]
    );
    let rerun = lines(&mut of, &entry(Place::step(3, 2), StepRerun { again: 1 }));
    assert_eq!(texts(rerun), ["↻ turn 3, step 2: resumes after its last entry"]);
}

#[test]
fn places_are_turns_and_steps() {
    for (at, expected) in
        [(Place::default(), ""), (Place::turn(2), "turn_2"), (Place::step(2, 3), "turn_2.3")]
    {
        assert_eq!(place(at), expected);
    }
}

#[test]
fn requests_and_their_ends_are_a_line_each() {
    let place = Place { turn: 1, step: 1, ordinal: 1, index: 0 };
    let request = HttpRequest {
        method: "PUT".into(),
        url: "https://a.example/\u{1b}[31mx".into(),
        headers: vec![],
        body: Digest::default(),
        bytes: 3,
        digest: Digest::default(),
        arguments: Digest::default(),
    };
    let started = HttpStarted {
        request: request.clone(),
        asked: None,
        class: Class::Once,
        hooks: vec![],
        verdicts: vec![],
    };
    let ended = |outcome| HttpCompleted { start: Some(1), request: None, outcome, ms: 7 };
    let answered =
        |body| HttpOutcome::Response { status: 404, headers: vec![("x".into(), "\u{1b}".into())], body };
    let refused = HttpCompleted {
        start: None,
        request: Some(request),
        outcome: HttpOutcome::Denied("no\u{1b}\nway".into()),
        ms: 0,
    };
    let lost = |why, refused: Option<&str>| HttpLost { start: 1, why, refused: refused.map(str::to_owned) };
    for (fact, expected) in [
        (Fact::from(started), r"→ PUT https://a.example/\u{1b}[31mx"),
        (ended(answered(HttpBody::Text("text".into()))).into(), "✓ http: 404, 4 bytes, 7 ms"),
        (
            ended(answered(HttpBody::Blob { digest: Digest::default(), size: 2_048 })).into(),
            "✓ http: 404, 2.0 KiB, 7 ms",
        ),
        (refused.into(), r"⊘ PUT https://a.example/\u{1b}[31mx: denied: no\u{1b} way"),
        (ended(HttpOutcome::TimedOut).into(), "✗ http: timed out after 7 ms"),
        (ended(HttpOutcome::TooLarge).into(), "✗ http: the response is over its limit"),
        (ended(HttpOutcome::Failed("it\u{7}broke".into())).into(), r"✗ http: failed: it\u{7}broke"),
        (
            lost(Lost::Interrupted, None).into(),
            "✗ http: unknown whether it was done: the turn ended while it ran. It was not sent again",
        ),
        (
            lost(Lost::Host, Some("not granted")).into(),
            "✗ http: unknown whether it was done: the host died while it ran. It was not sent again: not granted",
        ),
    ] {
        let shown = texts(lines(&mut transcript(), &entry(place, fact)));
        assert_eq!(shown, [expected]);
    }
}
