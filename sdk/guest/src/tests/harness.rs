//! Harnesses: state from step to step, failures, and the host in memory.

use serde_json::json;

use crate::{
    harness::{Saved, Scope, load, save},
    model::{Content, ModelError},
    prelude::*,
    testing::{self, Fake},
};

/// Counts its steps, three to a turn; of version 2.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counter {
    steps: u32,
}

impl Harness for Counter {
    const STATE_VERSION: u32 = 2;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        self.steps += 1;
        if input.text() == "fail" {
            cx.model(Request::default())?;
        }
        Ok(if self.steps.is_multiple_of(3) { Next::Done } else { Next::More })
    }

    fn migrate(from: u32, data: &[u8]) -> Result<Self, String> {
        let steps = serde_json::from_slice(data).map_err(|error| format!("{from}: {error}"))?;
        Ok(Self { steps })
    }
}

/// Migrates nothing.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Plain;

impl Harness for Plain {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, _input: Input, _cx: &Session) -> Result<Next, Failure> {
        Ok(Next::More)
    }
}

crate::harness!(Counter);

#[test]
fn state_is_kept_as_json_with_its_version() {
    let saved = save(&Counter { steps: 7 });
    assert_eq!(saved, Saved { version: 2, data: br#"{"steps":7}"#.to_vec() });
    assert_eq!(load(&saved), Ok(Counter { steps: 7 }));
}

#[test]
fn older_states_are_migrated_or_refused() {
    let old = |data: &[u8]| Saved { version: 1, data: data.to_vec() };
    assert_eq!(load(&old(b"5")), Ok(Counter { steps: 5 }));
    assert!(load::<Counter>(&old(b"x")).is_err_and(|error| error.starts_with("1: ")));

    let newer = Saved { version: 9, data: b"null".to_vec() };
    let error = load::<Plain>(&newer).expect_err("no migration");
    assert_eq!(error, "the saved state is of version 9, this harness reads version 1");

    let broken = Saved { version: 2, data: b"{}".to_vec() };
    assert!(load::<Counter>(&broken).is_err_and(|error| error.contains("STATE_VERSION")));
}

#[test]
fn a_turn_runs_until_the_harness_has_no_more_to_do() {
    let host = Fake::new();
    let mut counter = Counter::default();
    assert_eq!(host.turn(&mut counter, testing::input("go")), Ok(Next::Done));
    assert_eq!(counter, Counter { steps: 3 });
}

#[test]
fn a_failed_step_leaves_the_state_as_it_was() {
    let host = Fake::new().reply_error(ModelError::Budget("5 USD".to_owned()));
    let mut counter = Counter { steps: 4 };
    let failure = host.turn(&mut counter, testing::input("fail")).expect_err("a failure");
    assert_eq!((failure.scope, failure.code.as_str()), (Scope::Turn, "budget_reached"));
    assert!(failure.detail.contains("5 USD"));
    assert_eq!(counter, Counter { steps: 4 });
}

#[test]
#[should_panic(expected = "still wants more")]
fn an_endless_turn_is_found() {
    let _ = Fake::new().turn(&mut Plain, testing::input("go"));
}

#[test]
fn the_host_in_memory_answers_as_scripted_and_remembers() {
    let host = Fake::new()
        .reply_use("a", json!({ "x": 1 }))
        .tool("a", "done")
        .config(json!({ "word": "yes" }))
        .entry("user.message", json!({}));
    let cx = host.session();

    let uses = cx.model(Request::default()).expect("a completion").tool_uses();
    assert!(cx.model(Request::default()).is_err_and(|error| error.to_string().contains("only 1")));
    let results = cx.call_tools(&[uses[0].clone(), ToolUse::new("2", "b", json!({}))]);
    assert_eq!(results[0], ToolResult::new(&uses[0].id, Outcome::Ok, "done"));
    assert_eq!((results[1].id.as_str(), results[1].outcome), ("2", Outcome::Error));

    let seq = cx.say("hello");
    assert!(cx.emit("turn.completed", &1).is_err());
    assert_eq!(cx.emit("custom.note", &1).ok(), Some(seq + 1));
    cx.set_title(&"x".repeat(100));
    assert_eq!(host.title().map(|title| title.len()), Some(64));
    assert!(cx.spawn(&crate::session::Child::default()).is_err());

    let kinds =
        |slice: &Slice| -> Vec<String> { cx.events(slice).into_iter().map(|event| event.kind).collect() };
    let all = kinds(&Slice::default());
    assert_eq!(all[all.len() - 3..], ["agent.message", "custom.note", "agent.title"]);
    let newest = Slice { newest_first: true, limit: 1, before: Some(seq + 1), ..Slice::default() };
    assert_eq!(kinds(&newest), ["agent.message"]);
    let named = Slice { after: 1, kinds: vec!["custom.note".to_owned()], ..Slice::default() };
    assert_eq!(kinds(&named), ["custom.note"]);

    #[derive(Deserialize)]
    struct Config {
        word: String,
    }
    assert_eq!(cx.config::<Config>().map(|config| config.word), Ok("yes".to_owned()));
    assert!(cx.config::<u32>().is_err_and(|failure| failure.code == "config_invalid"));
}

#[test]
fn outcomes_have_words_and_hooks_are_heard() {
    let mut result = ToolResult::new("1", Outcome::Denied, "no");
    result.context.push("because".to_owned());
    let result = result.in_words();
    let words: Vec<&str> = result.parts.iter().filter_map(Part::as_text).collect();
    assert!(words[0].contains("nothing was done"));
    assert_eq!(words[1..], ["no", "because"]);
    assert!(result.context.is_empty());

    let fine = ToolResult::new("1", Outcome::Ok, "yes");
    assert_eq!(fine.clone().in_words(), fine);
}

#[test]
fn an_unknown_outcome_says_what_may_be_done_again() {
    let told = |effect| {
        let result = ToolResult::new("1", Outcome::Unknown, "").in_words_of(effect);
        result.parts[0].as_text().map(str::to_owned).unwrap_or_default()
    };
    assert!(told(Effect::Pure).contains("call it again"));
    assert!(told(Effect::Idempotent).contains("look before"));
    assert!(told(Effect::Once).contains("may do it twice"));
}

/// Asks once, then says what it was told; people can steer it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Asks;

impl Harness for Asks {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        cx.say(input.text());
        match input.step {
            1 => Ok(Next::more_with_messages()),
            2 => Ok(Next::Ask(vec![Question { id: "q".to_owned(), ..Question::default() }])),
            _ => Ok(Next::Done),
        }
    }
}

#[test]
fn the_host_in_memory_steers_and_waits_for_answers() {
    let host = Fake::new().meanwhile("faster");
    assert!(matches!(host.turn(&mut Asks, testing::input("go")), Ok(Next::Ask(_))));
    assert_eq!(host.turn(&mut Asks, testing::answer("q", "\"yes\"")), Ok(Next::Done));
    assert_eq!(host.said(), ["go", "faster", ""]);
    let kinds: Vec<String> = host.journal().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "step.started").count(), 3);
    assert_eq!(kinds.iter().filter(|kind| *kind == "turn.started").count(), 1);
    for kind in ["turn.steered", "question.asked", "turn.waiting", "user.answer"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind}: {kinds:?}");
    }
    assert_eq!(kinds.last().map(String::as_str), Some("turn.completed"));
}

#[test]
fn messages_survive_being_saved() {
    let message = Message::assistant(vec![
        Content::Part(Part::text("a")),
        Content::Thinking(JsonText::from_text(r#"{"b":1.0,"a":18446744073709551616}"#.to_owned())),
        Content::ToolUse(ToolUse::new("1", "t", json!({}))),
        Content::ToolResult(ToolResult::new("1", Outcome::TimedOut, "late")),
        Content::Part(Part::Blob { media_type: "image/png".to_owned(), data: vec![0, 255].into() }),
    ]);
    let json = serde_json::to_string(&message).expect("JSON");
    assert_eq!(serde_json::from_str::<Message>(&json).expect("a message"), message);
}
