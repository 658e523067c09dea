//! Facts of questions to people: asked by a harness at a step's end, or by a hook about one use (hooks.md).

use serde::{Deserialize, Serialize};

/// A question to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Names it in the session, as long as it is open; answers say it.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// Answers to choose from; empty: free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

/// `question.asked`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAsked {
    /// The question.
    #[serde(flatten)]
    pub question: Question,
    /// Who asks.
    pub by: Asker,
}

/// Who asks a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// The harness, at a step's end.
    Harness,
    /// A pinned hook, by its index, about the use at the entry's place. Only operators may answer.
    Hook(u32),
    /// The pin of the tool whose use is at the entry's place, without any component. Only operators may answer.
    Policy,
    /// The host, of the client that runs the tool whose use is at the entry's place: the answer is the outcome.
    Client,
}

/// `question.withdrawn`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionWithdrawn {
    /// The question.
    pub id: String,
}
