//! Harnesses: the agent's loop.
//!
//! Knows what a step accepts and how it ends, and keeps the author's state from step to step.
//! Does not know how the host drives steps, nor the WIT bindings (`glue.rs` does).

use std::fmt;

pub use rewake_wire::{Ending, Sender};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    error::Error,
    json::JsonText,
    model::ModelError,
    part::{Part, text_of},
    session::Session,
};

/// An agent's loop. Its fields are its state: saved after every step that ended well, loaded
/// before the next one, which runs in a fresh instance.
pub trait Harness: Serialize + DeserializeOwned + Default {
    /// Goes up when the fields change in a way that old states cannot be read any more.
    const STATE_VERSION: u32;

    /// Advances the turn by as much as should not be repeated: a host that dies runs the step
    /// again, giving it what was recorded of it before.
    ///
    /// # Errors
    /// The turn or the session fails; the state stays what it was before the step.
    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure>;

    /// Makes a state of today from one that version `from` saved.
    ///
    /// # Errors
    /// It cannot; the session stays as it is.
    fn migrate(from: u32, data: &[u8]) -> Result<Self, String> {
        let _ = data;
        Err(format!(
            "the saved state is of version {from}, this harness reads version {}",
            Self::STATE_VERSION
        ))
    }
}

/// A message to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The id of the command it came with.
    pub id: String,
    /// Who sent it.
    pub sender: Sender,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What it says.
    pub parts: Vec<Part>,
    /// Where it came from, for messages that came from somewhere.
    pub origin: Option<JsonText>,
}

impl Message {
    /// What it says in words.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// Who answered.
    pub sender: Sender,
    /// The answer.
    pub value: JsonText,
}

/// The turn or step before this one, which did not end well. What it did stands in the journal,
/// not in the state: [`Session::events`] between the two seqs tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The turn's id.
    pub turn: String,
    /// How it ended.
    pub how: Ending,
    /// The seq of its first entry.
    pub first_seq: u32,
    /// The seq of its last entry.
    pub last_seq: u32,
}

/// What a step accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// 1 for the first step of a turn.
    pub step: u32,
    /// The turn's messages at its first step; later, what came in while it ran.
    pub messages: Vec<Message>,
    /// Answers to what was asked.
    pub answers: Vec<Answer>,
    /// What hooks added since the last step.
    pub context: Vec<String>,
    /// What came before this step and did not end well.
    pub unfinished: Option<Unfinished>,
}

impl Input {
    /// What all messages say in words.
    #[must_use]
    pub fn text(&self) -> String {
        let words: Vec<String> = self.messages.iter().map(Message::text).collect();
        words.join("\n")
    }
}

/// A question to people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Yours; the answer names it.
    pub id: String,
    /// The question.
    pub text: String,
    /// What can be chosen; none: anything.
    pub choices: Vec<String>,
    /// JSON Schema of the answer; none: free text.
    pub answer_schema: Option<JsonText>,
}

/// How a step ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Save the state and call `step` again.
    More,
    /// The turn is complete.
    Done,
    /// The turn waits for people's answers.
    Ask(Vec<Question>),
    /// The turn waits.
    Wait {
        /// Until then at the latest, RFC 3339 in UTC.
        until: Option<String>,
        /// Or until a message, an answer or a child's end comes.
        on_message: bool,
    },
}

/// A time that is over, whenever it is asked.
const LONG_AGO: &str = "1970-01-01T00:00:00.000Z";

impl Next {
    /// As [`Next::More`], but people can steer: messages that came while the step ran are given to
    /// the next one, in the same turn. With `More` they wait for the next turn.
    #[must_use]
    pub fn more_with_messages() -> Self {
        Self::Wait { until: Some(LONG_AGO.to_owned()), on_message: true }
    }

    /// Whether the turn goes on at once.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        *self == Self::More || *self == Self::more_with_messages()
    }
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This turn; the session takes the next message.
    Turn,
    /// The session; only an operator can make it go on.
    Session,
}

/// Why a step could not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What fails.
    pub scope: Scope,
    /// A word for programs, such as `model_unavailable`.
    pub code: String,
    /// Words for people.
    pub detail: String,
}

impl Failure {
    /// This turn fails.
    pub fn turn(code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { scope: Scope::Turn, code: code.into(), detail: detail.into() }
    }

    /// The session fails.
    pub fn session(code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { scope: Scope::Session, code: code.into(), detail: detail.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let code = match error {
            ModelError::Denied(_) => "model_denied",
            ModelError::Budget(_) => "budget_reached",
            ModelError::TooLarge(_) => "model_too_large",
            ModelError::Rejected(_) => "model_rejected",
            ModelError::Unavailable(_) => "model_unavailable",
        };
        Self::turn(code, error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::turn("harness_error", error.message())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::turn("harness_error", error.to_string())
    }
}

/// Saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The author's version of `data`.
    pub version: u32,
    /// The state as JSON.
    pub data: Vec<u8>,
}

/// The bytes that keep a state.
///
/// # Panics
/// If the state has no JSON form (a map whose keys are not strings): a step whose state cannot be
/// kept must not count.
#[must_use]
pub fn save<H: Harness>(state: &H) -> Saved {
    match serde_json::to_vec(state) {
        Ok(data) => Saved { version: H::STATE_VERSION, data },
        Err(error) => panic!("the harness's state has no JSON form: {error}"),
    }
}

/// The state that these bytes keep.
///
/// # Errors
/// They are of a version that the harness cannot migrate, or no such state.
pub fn load<H: Harness>(saved: &Saved) -> Result<H, String> {
    if saved.version == H::STATE_VERSION {
        serde_json::from_slice(&saved.data).map_err(|error| {
            format!(
                "the saved state says version {}, but is not one: {error}; a change of the \
                 fields needs a new STATE_VERSION",
                saved.version
            )
        })
    } else {
        H::migrate(saved.version, &saved.data)
    }
}
