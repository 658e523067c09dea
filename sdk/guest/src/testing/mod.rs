//! What unit tests of plugins need: calls as the host makes them, and a host in memory.
//!
//! Knows how to stand in for a host natively. Does not know grants, budgets or hooks: what the
//! real host refuses, it does not.
//!
//! ```
//! use rewake_sdk::{prelude::*, testing};
//! use serde_json::json;
//!
//! #[args]
//! struct Words {
//!     text: String,
//! }
//!
//! /// Count words.
//! #[tool(effect = pure)]
//! fn count(args: Words) -> Result<String, ToolError> {
//!     Ok(args.text.split_whitespace().count().to_string())
//! }
//!
//! let parts = testing::call_tool::<count>(json!({ "text": "one two" }), &ToolContext::default());
//! assert_eq!(parts, Ok(vec![Part::text("2")]));
//! ```

mod fake;

use std::cell::RefCell;

pub use fake::Fake;
use serde_json::Value;

use crate::{
    harness::{Answer, Input, Message, Sender},
    hook::{Event, Firing},
    http,
    json::JsonText,
    log::Level,
    part::Part,
    tool::{self, Tool, ToolContext, ToolDef, ToolError},
};

/// Calls a tool with JSON, as the host does.
///
/// # Errors
/// The input does not fit, or the tool says so.
pub fn call_tool<T: Tool>(input: Value, cx: &ToolContext) -> Result<Vec<Part>, ToolError> {
    tool::run::<T>(&JsonText::from(input), cx)
}

/// A tool's definition, as the host lists it.
#[must_use]
pub fn tool_def<T: Tool>() -> ToolDef {
    tool::def_of::<T>()
}

/// A context of a call in a bundle with this configuration.
#[must_use]
pub fn tool_context(config: Value) -> ToolContext {
    ToolContext {
        session: "session".to_owned(),
        turn: "turn".to_owned(),
        idempotency_key: "key".to_owned(),
        config: JsonText::from(config),
    }
}

/// An event, made of its JSON and the bundle's configuration as the host does.
///
/// # Panics
/// If the JSON is no such event.
#[must_use]
pub fn event<E: Event>(input: Value, config: Value) -> E {
    let firing = Firing {
        name: E::NAME.to_owned(),
        idempotency_key: "key".to_owned(),
        session: "session".to_owned(),
        turn: Some("turn".to_owned()),
        input: JsonText::from(input),
        config: JsonText::from(config),
    };
    match E::read(&firing) {
        Ok(event) => event,
        Err(error) => panic!("{error}"),
    }
}

/// The input of a turn's first step: one message of an operator.
pub fn input(text: impl Into<String>) -> Input {
    Input {
        step: 1,
        messages: vec![Message {
            id: "message".to_owned(),
            sender: Sender::Operator("operator".to_owned()),
            at: "2026-01-01T00:00:00.000Z".to_owned(),
            parts: vec![Part::text(text)],
            origin: None,
        }],
        ..Input::default()
    }
}

/// The input of a step that an operator's answer woke: to this question, as JSON text.
pub fn answer(question: impl Into<String>, value: impl Into<String>) -> Input {
    Input {
        step: 1,
        answers: vec![Answer {
            question: question.into(),
            sender: Sender::Operator("operator".to_owned()),
            value: JsonText::from_text(value.into()),
        }],
        ..Input::default()
    }
}

/// Answers HTTP requests in a test.
type Responder = Box<dyn Fn(&http::Request) -> Result<http::Response, http::Error>>;

thread_local! {
    static RESPONDER: RefCell<Option<Responder>> = const { RefCell::new(None) };
}

/// Runs `body` with every HTTP request of this thread answered by `responder`.
pub fn with_http<T>(
    responder: impl Fn(&http::Request) -> Result<http::Response, http::Error> + 'static,
    body: impl FnOnce() -> T,
) -> T {
    /// Takes the responder away, also when the body panics.
    struct Reset(Option<Responder>);
    impl Drop for Reset {
        fn drop(&mut self) {
            RESPONDER.set(self.0.take());
        }
    }
    let _reset = Reset(RESPONDER.replace(Some(Box::new(responder))));
    body()
}

pub(crate) fn answer_http(request: &http::Request) -> Result<http::Response, http::Error> {
    RESPONDER.with_borrow(|responder| match responder {
        Some(responder) => responder(request),
        None => Err(http::Error::Failed(
            "this is no component, so there is no host to send it; answer it in a test with \
             `rewake_sdk::testing::with_http`"
                .to_owned(),
        )),
    })
}

#[allow(clippy::print_stderr, reason = "the only place for diagnostics without a host")]
pub(crate) fn print_log(level: Level, message: &str) {
    eprintln!("{level:?}: {message}");
}
