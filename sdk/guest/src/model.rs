//! Talking to the model.
//!
//! Knows the shapes of requests and completions. Does not know which model answers, nor how.

use std::fmt;

pub use rewake_wire::{Finish, Outcome, Usage};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    json::JsonText,
    part::{Part, text_of},
    tool::{Effect, ToolDef},
};

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// People, other senders, and tools.
    User,
    /// The model.
    Assistant,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// What was said or shown.
    Part(Part),
    /// A model's reasoning in the provider's own JSON, kept so that it can be sent back.
    Thinking(JsonText),
    /// The model wants a tool called.
    ToolUse(ToolUse),
    /// What became of that.
    ToolResult(ToolResult),
}

/// A message to or from the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Vec<Content>,
}

impl Message {
    /// A message of text for the model.
    pub fn user(text: impl Into<String>) -> Self {
        Self::user_parts(vec![Part::text(text)])
    }

    /// A message of any content for the model.
    #[must_use]
    pub fn user_parts(parts: Vec<Part>) -> Self {
        Self { role: Role::User, content: parts.into_iter().map(Content::Part).collect() }
    }

    /// What the model said.
    #[must_use]
    pub fn assistant(content: Vec<Content>) -> Self {
        Self { role: Role::Assistant, content }
    }

    /// What became of the calls that the model asked for.
    #[must_use]
    pub fn tool_results(results: Vec<ToolResult>) -> Self {
        Self { role: Role::User, content: results.into_iter().map(Content::ToolResult).collect() }
    }
}

/// A request to call a tool, as a model makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The model's name for this use; its result carries it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The input, as the model wrote it.
    pub input: JsonText,
}

impl ToolUse {
    /// A use of this tool.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl Into<JsonText>) -> Self {
        Self { id: id.into(), name: name.into(), input: input.into() }
    }
}

/// What became of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The use's id.
    pub id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it returned, or the reason.
    pub parts: Vec<Part>,
    /// What hooks have to say about it.
    pub context: Vec<String>,
}

impl ToolResult {
    /// A result that says this.
    pub fn new(id: impl Into<String>, outcome: Outcome, text: impl Into<String>) -> Self {
        Self { id: id.into(), outcome, parts: vec![Part::text(text)], context: Vec::new() }
    }

    /// The same result with its outcome and its hooks' context said in words, for a model that
    /// sees only content: what is known of the effect, and what to do now.
    #[must_use]
    pub fn in_words(self) -> Self {
        self.in_words_of(Effect::Once)
    }

    /// As [`ToolResult::in_words`], for a tool of this effect class: what may be done again differs.
    #[must_use]
    pub fn in_words_of(mut self, effect: Effect) -> Self {
        if let Some(words) = words(self.outcome, effect) {
            self.parts.insert(0, Part::text(words));
        }
        self.parts.extend(self.context.drain(..).map(Part::from));
        self
    }
}

/// What an outcome means for a model; that all is well need not be said.
fn words(outcome: Outcome, effect: Effect) -> Option<String> {
    let again = match effect {
        Effect::Pure => "The tool only reads (`pure`): nothing was changed, and you may call it again.",
        Effect::Idempotent => {
            "It may have been done whole, in part or not at all. The host may repeat one such call \
             (`idempotent`), but another call of yours is another one: look before you make it."
        }
        Effect::Once => {
            "It may have been done whole, in part or not at all, and doing it again may do it twice (`once`): \
             look at the state of things before you decide."
        }
    };
    let what = match outcome {
        Outcome::Ok => return None,
        Outcome::Error => return Some("The tool reported an error.".to_owned()),
        Outcome::Denied => {
            return Some(
                "This call was refused, and nothing was done. Do not repeat it as it is: find another way or \
                 say that you may not do it."
                    .to_owned(),
            );
        }
        Outcome::TimedOut => "This call took too long and was stopped.",
        Outcome::Unknown => {
            "The host stopped, or the turn was ended, while this call ran. It is not known whether it was done, \
             and it was not repeated."
        }
    };
    Some(format!("{what} {again}"))
}

/// What to ask the model. Set what you need and leave the rest: `..Request::default()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The operator's name of a model; none: the session's model. Another one must be in the bundle's asks, and granted.
    pub model: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools that the model may ask for; [`crate::Session::tools`] lists the session's.
    pub tools: Vec<ToolDef>,
    /// At most so many tokens in the completion.
    pub max_tokens: Option<u32>,
    /// Sampling options that the contract does not name; the operator allows them by name.
    pub options: Option<JsonText>,
}

/// What the model answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The model that answered.
    pub model: String,
    /// What it said.
    pub content: Vec<Content>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
    /// Tokens of request and answer together that the model has room for, where that is known.
    #[serde(default)]
    pub context_tokens: Option<u32>,
}

impl Completion {
    /// What it said in words.
    #[must_use]
    pub fn text(&self) -> String {
        let parts: Vec<Part> = self
            .content
            .iter()
            .filter_map(|content| match content {
                Content::Part(part) => Some(part.clone()),
                _ => None,
            })
            .collect();
        text_of(&parts)
    }

    /// The tools it wants called.
    #[must_use]
    pub fn tool_uses(&self) -> Vec<ToolUse> {
        self.content
            .iter()
            .filter_map(|content| match content {
                Content::ToolUse(tool_use) => Some(tool_use.clone()),
                _ => None,
            })
            .collect()
    }
}

/// Why there is no completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// Not granted: this component may not ask that model. Nothing was sent.
    Denied(String),
    /// The call could pass the session's spend cap: nothing was sent.
    Budget(String),
    /// The request has no room in the model's context: make it smaller.
    TooLarge(String),
    /// The provider refuses the request as it is.
    Rejected(String),
    /// The provider cannot answer now; the host has already retried.
    Unavailable(String),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(why) => write!(f, "the model is not granted: {why}"),
            Self::Budget(why) => write!(f, "the session's spend cap is reached: {why}"),
            Self::TooLarge(why) => write!(f, "the request is too large for the model: {why}"),
            Self::Rejected(why) => write!(f, "the model refuses the request: {why}"),
            Self::Unavailable(why) => write!(f, "the model cannot answer now: {why}"),
        }
    }
}

impl std::error::Error for ModelError {}

/// What a completion is, or why there is none.
pub type ModelResult = Result<Completion, ModelError>;
