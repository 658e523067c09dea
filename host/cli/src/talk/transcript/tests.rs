//! Tests of how a conversation is shown as it happens.

use rewake_core::entry::Place;
use rewake_core::fact::{
    AgentMessage, ModelCompleted, ModelFinish, ModelLost, ModelStarted, QuestionAsked, RequestedUse,
    ToolCompleted, ToolsRequested, TurnInterrupted, TurnWaiting, UserAnswer, UserMessage,
};
use rewake_core::ids::{Digest, Timestamp};
use rewake_core::money::Usd;
use rewake_wire::{Outcome, Usage};

use super::*;
use crate::stream::tests::entry;

const PLACE: Place = Place { turn: 1, step: 1, ordinal: 1, index: 0 };

struct Talk(Transcript, Instant);

impl Talk {
    fn new() -> Talk {
        Talk(Transcript::new("ann".into(), 30, false, false), Instant::now())
    }

    /// What stays after an entry.
    fn entry(&mut self, fact: impl Into<Fact>) -> Vec<String> {
        self.0.entry(&entry(PLACE, fact), self.1);
        texts(self.0.take())
    }

    fn text(&mut self, start: u64, attempt: u32, piece: &str) {
        self.0.delta(start, attempt, &Delta::Text(piece.into()));
    }

    /// What stays, and what changes, with room for so many rows of what is said.
    fn shown(&mut self, rows_max: usize) -> (Vec<String>, Vec<String>) {
        let changing = texts(self.0.changing(self.1, rows_max));
        (texts(self.0.take()), changing)
    }
}

fn texts(rows: Vec<Row>) -> Vec<String> {
    rows.iter().map(Row::text).collect()
}

fn started() -> ModelStarted {
    ModelStarted {
        model: "scripted".into(),
        provider: None,
        request: Digest::default(),
        messages: 1,
        reserved: Usd::ZERO,
        stored: None,
    }
}

fn completion(start: u64, text: &str) -> ModelCompleted {
    let outcome = ModelOutcome::Completion {
        model: "scripted".into(),
        content: vec![ModelContent::Part(Part::text(text))],
        finish: ModelFinish::End,
        usage: Usage::default(),
        context_tokens: None,
    };
    ModelCompleted { start, outcome, cost: Usd::ZERO, ms: 1 }
}

fn message(text: &str) -> AgentMessage {
    AgentMessage::new(vec![Part::text(text)])
}

#[test]
fn what_was_shown_as_it_came_is_not_shown_again() {
    let mut talk = Talk::new();
    talk.entry(started());
    talk.text(4, 0, "It says\nh");
    assert_eq!(talk.shown(9), (vec![], vec!["  It says".into(), "  h".into()]));
    talk.text(4, 0, "i.");
    assert_eq!(talk.entry(completion(4, "It says\nhi.")), Vec::<String>::new());
    assert_eq!(talk.entry(message("It says\nhi.")), ["  It says", "  hi.", ""]);
    assert_eq!(talk.shown(9), (vec![], vec![]));
    talk.text(4, 0, "late");
    assert_eq!(talk.shown(9).1, Vec::<String>::new(), "the call has ended");
}

#[test]
fn what_finds_no_room_stays_above_and_counts_once() {
    let mut talk = Talk::new();
    talk.text(4, 0, "one\ntwo\nthree\nfo");
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(talk.shown(2), (strings(&["  one", "  two"]), strings(&["  three", "  fo"])));
    talk.entry(completion(4, "one\ntwo\nthree\nfour"));
    assert_eq!(talk.entry(message("one\ntwo\nthree\nfour")), ["  three", "  four", ""]);
}

#[test]
fn a_reset_makes_what_was_shown_void() {
    let mut talk = Talk::new();
    talk.text(4, 0, "wro");
    talk.0.reset(4, 1);
    let stays = talk.shown(9).0;
    assert_eq!(
        stays,
        ["↻ partial answer discarded:", "  the model is asked again,", "  for the second time"]
    );
    talk.text(4, 1, "one\ntwo\nthree");
    assert_eq!(talk.shown(1).0, ["", "  one", "  two"]);
    talk.0.reset(4, 2);
    let (stays, changes) = talk.shown(9);
    assert_eq!((stays[0].as_str(), changes.len()), ("  three", 0));
    assert!(stays[1].starts_with("✗ partial answer above"), "{stays:?}");
    talk.text(4, 2, "right");
    talk.entry(completion(4, "right"));
    assert_eq!(talk.entry(message("right")), ["", "  right", ""]);
    talk.0.reset(4, 3);
    assert_eq!(talk.shown(9), (vec![], vec![]), "it came too late");
}

#[test]
fn what_the_agent_does_not_say_goes_again() {
    let mut talk = Talk::new();
    talk.text(4, 0, "a summary");
    talk.entry(completion(4, "a summary"));
    assert_eq!(talk.entry(started()), Vec::<String>::new());
    assert_eq!(talk.shown(9), (vec![], vec![]));
    assert_eq!(talk.entry(message("other words")), ["  other words", ""]);
}

#[test]
fn a_summary_goes_before_the_conversation_is_said_to_be_shorter() {
    let mut talk = Talk::new();
    talk.text(4, 0, "a summary\nof it\nall");
    assert_eq!(talk.shown(1).0, ["  a summary", "  of it"]);
    talk.entry(completion(4, "a summary\nof it\nall"));
    let data = serde_json::json!({ "messages": 2, "tokens_before": 9, "summary": "a summary" });
    let shown = talk.entry(rewake_core::fact::Custom { kind: "custom.context.compacted".into(), data });
    assert!(
        shown[0].starts_with("↑ this was for the agent's own") && shown[2].contains("shorter"),
        "{shown:?}"
    );
}

#[test]
fn an_answer_that_is_interrupted_is_kept_as_that() {
    let mut talk = Talk::new();
    talk.text(4, 0, "It be");
    let mut shown = talk.entry(ModelLost::new(4, Lost::Interrupted));
    shown.extend(talk.entry(TurnInterrupted::default()));
    assert_eq!(shown[0], "  It be");
    assert!(shown[1].starts_with("✗ broken off"), "{shown:?}");
    assert_eq!(shown.last().map(String::as_str), Some("turn 1 was interrupted"));
}

#[test]
fn a_wait_that_only_lets_others_have_a_word_is_not_shown() {
    let mut talk = Talk::new();
    let wait =
        |until: i64| TurnWaiting { on: WaitOn::Time { until: Some(Timestamp(until)), on_message: true } };
    assert_eq!(talk.entry(wait(0)), Vec::<String>::new());
    assert!(!talk.entry(wait(60_000)).is_empty());
}

#[test]
fn escapes_of_models_and_tools_reach_no_row() {
    let mut talk = Talk::new();
    talk.text(4, 0, "a\x1b");
    talk.text(4, 0, "[2Jb");
    assert_eq!(talk.shown(9).1, [r"  a\u{1b}[2Jb"]);
    let uses = vec![RequestedUse {
        id: "u".into(),
        name: "ca\x1b[2Jt".into(),
        input: r#"{"path":"\u001b[2Ja"}"#.into(),
        arguments: Digest::default(),
        hooks: vec![],
        after: vec![],
    }];
    talk.entry(ToolsRequested { uses });
    assert_eq!(talk.shown(9).1, [r"→ ca\u{1b}[2Jt \u{1b}[2Ja …"]);
    let completed = ToolCompleted::new(None, Outcome::Error, vec![Part::text("no\x1b]0;t\x07")]);
    assert_eq!(talk.entry(completed), [r"✗ ca\u{1b}[2Jt \u{1b}[2Ja:", r"  error: no\u{1b}]0;t\u{7}"]);
}

#[test]
fn messages_and_questions_are_told_apart_from_what_the_program_says() {
    let mut talk = Talk::new();
    let sender = |name: &str| Sender::Operator(name.into());
    let told =
        |name: &str, text: &str| UserMessage { n: 1, sender: sender(name), parts: vec![Part::text(text)] };
    assert_eq!(talk.entry(told("ann", "do\nit")), ["› do", "  it", ""]);
    assert_eq!(talk.entry(told("bob", "no")), ["› bob: no", ""]);
    let question = Question {
        id: "q".into(),
        text: "Which?".into(),
        choices: vec!["red".into(), "blue".into()],
        schema: None,
    };
    assert_eq!(
        talk.entry(QuestionAsked { question, by: rewake_core::fact::Asker::Harness }),
        Vec::<String>::new()
    );
    let answer = UserAnswer { n: 2, sender: sender("ann"), question: "q".into(), value: "\"blue\"".into() };
    assert_eq!(talk.entry(answer), ["? Which?", "  1) red   2) blue", "› blue"]);
}

#[test]
fn an_answer_stands_below_its_question_and_once() {
    let mut talk = Talk::new();
    let question = |id: &str| Question { id: id.into(), text: id.into(), choices: vec![], schema: None };
    for id in ["one?", "two?"] {
        talk.entry(QuestionAsked { question: question(id), by: rewake_core::fact::Asker::Harness });
    }
    talk.0.question(&question("one?"));
    talk.0.answer(7, "\"yes\"");
    talk.0.question(&question("two?"));
    assert_eq!(texts(talk.0.take()), ["? one?", "› yes", "", "? two?"]);
    let sender = Sender::Operator("ann".into());
    let answer =
        |n| UserAnswer { n, sender: sender.clone(), question: "one?".into(), value: "\"yes\"".into() };
    assert_eq!(talk.entry(answer(7)), Vec::<String>::new(), "it was shown when it was sent");
    assert_eq!(talk.entry(answer(8)), ["› yes"], "another process sent it");
}
