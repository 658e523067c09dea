//! Entries of the journal, as the host's own tests keep them, read as a harness reads them.

use crate::{
    entry::{Entry, ModelOutcome},
    harness::{Ending, Sender},
    model::{Content, Outcome},
    prelude::*,
    session::JournalEvent,
};

/// One payload of each kind a line, as the host writes them.
const GOLDEN: &str = include_str!("../../../../host/core/tests/laws/golden.txt");

/// Every golden entry, with the place that `session.events` adds to those of a tool's use.
fn golden() -> impl Iterator<Item = JournalEvent> {
    GOLDEN.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let (kind, data) = (words.next().expect("a kind"), words.nth(1).expect("a payload"));
        let is_of_use = kind.starts_with("tool.") || kind.starts_with("hook.");
        let data = if is_of_use { data.replacen('{', r#"{"index":1,"#, 1) } else { data.to_owned() };
        JournalEvent {
            seq: 1,
            kind: kind.to_owned(),
            turn: None,
            at: String::new(),
            data: JsonText::from_text(data),
        }
    })
}

fn of_kind(kind: &str) -> Vec<Entry> {
    let events = golden().filter(|event| event.kind == kind);
    events.map(|event| event.entry().expect("an entry")).collect()
}

#[test]
fn whatever_the_host_writes_is_read() {
    for event in golden() {
        let entry = event.entry().unwrap_or_else(|error| panic!("{error}"));
        let is_listed =
            ["step.", "model.completed", "tool.completed", "turn.failed", "custom."].iter().any(|kind| {
                event.kind.starts_with(kind) && !matches!(&*event.kind, "step.rerun" | "step.observed")
            });
        assert!(!is_listed || entry != Entry::Other, "{}", event.kind);
    }
}

#[test]
fn what_it_says_is_what_the_host_wrote() {
    let Entry::StepStarted(started) = of_kind("step.started").remove(1) else { panic!("a step") };
    assert_eq!(started.messages[0].sender, Sender::Operator("ada".to_owned()));
    assert_eq!(started.messages[0].parts, [Part::text("hello")]);
    assert_eq!(started.answers[0].value, "1");
    assert_eq!(started.unfinished.expect("one").how, Ending::Interrupted);

    let Entry::ModelCompleted(completed) = of_kind("model.completed").remove(0) else { panic!("a model") };
    let ModelOutcome::Completion { content, usage, .. } = completed.outcome else { panic!("an answer") };
    let content: Vec<Content> = content.into_iter().map(Content::from).collect();
    assert!(matches!(&content[1], Content::Thinking(json) if json.as_str() == "{}"));
    assert!(matches!(&content[2], Content::ToolUse(one) if one.name == "words"));
    assert_eq!((usage.input_tokens, usage.cache_write_tokens), (10, 1));

    let Entry::ToolCompleted { index, body } = of_kind("tool.completed").remove(0) else { panic!("a tool") };
    assert_eq!((index, body.outcome), (1, Outcome::Ok));
    assert_eq!(body.contexts, ["c"]);

    let outputs = of_kind("hook.verdict").into_iter().filter_map(|entry| match entry {
        Entry::HookVerdict { index: Some(1), body } => body.changes.output,
        _ => None,
    });
    assert_eq!(outputs.collect::<Vec<_>>(), [vec![Part::text("hello")]]);
}

#[test]
fn what_is_no_such_entry_is_named() {
    let event = JournalEvent {
        seq: 7,
        kind: "tool.completed".to_owned(),
        turn: None,
        at: String::new(),
        data: JsonText::from_text("null".to_owned()),
    };
    let error = event.entry().expect_err("no data");
    assert!(error.message().starts_with("entry 7 (tool.completed): "), "{error}");
}
