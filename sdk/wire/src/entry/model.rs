//! Facts of calls of models: what is sent, what comes of it, and what it costs (journal.md R5, R14).

use serde::{Deserialize, Serialize};

use super::Lost;
use crate::{Finish, Part, Usage, Usd};

/// `model.started`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelStarted<D> {
    /// The model's name in the operator's configuration.
    pub model: String,
    /// The provider and its own name for the model, such as `anthropic/…`; none: it is scripted, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Digest of the whole request.
    pub request: D,
    /// Messages in the request.
    pub messages: u32,
    /// Where what was sent is kept (R14); none: an earlier version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored<D>>,
    /// The most that the first attempt can cost (R5).
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub reserved: Usd,
}

/// What was sent to a model, as blobs of the session: each text is kept once, however often it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored<D> {
    /// The system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<D>,
    /// The list of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<D>,
    /// Bounds and sampling options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<D>,
    /// The list of messages: an earlier list, and what was added to it.
    pub list: D,
    /// Of all messages' digests in order: tells what a list holds, however it is cut into earlier ones.
    pub through: D,
}

/// `model.completed`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCompleted {
    /// Its start.
    pub start: u64,
    /// What came of it.
    pub outcome: ModelOutcome,
    /// What the last attempt cost; its whole reservation where that is not known.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost: Usd,
    /// Milliseconds it took.
    pub ms: u64,
}

impl ModelCompleted {
    /// What the model said, if it answered.
    pub fn answer(&self) -> Option<&[ModelContent]> {
        match &self.outcome {
            ModelOutcome::Completion { content, .. } => Some(content),
            _ => None,
        }
    }
}

/// What came of asking a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelOutcome {
    /// An answer.
    Completion {
        /// The model that answered.
        model: String,
        /// What it says.
        content: Vec<ModelContent>,
        /// Why it ended.
        finish: Finish,
        /// What it counted.
        usage: Usage,
        /// Tokens that the model can read at once, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<u64>,
    },
    /// The component may not ask that model: nothing was sent.
    Denied(String),
    /// The call, or its next attempt, could pass the spend cap: that was not sent.
    Budget(String),
    /// The request is larger than the model's context.
    TooLarge(String),
    /// The provider refuses the request as it is.
    Rejected(String),
    /// The provider cannot answer now.
    Unavailable(String),
}

/// A piece of a model's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelContent {
    /// Content to be shown.
    Part(Part),
    /// Reasoning, kept to be sent back: the provider's own JSON.
    Thinking(String),
    /// A request to call a tool.
    ToolUse {
        /// The model's id for it.
        id: String,
        /// The tool.
        name: String,
        /// JSON text.
        input: String,
    },
}

/// `model.lost`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLost {
    /// Its start.
    pub start: u64,
    /// Why its end is not known.
    pub why: Lost,
    /// The beginning of the answer, where the host saw it before the turn was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialAnswer>,
}

impl ModelLost {
    /// A call of which no beginning of an answer is kept: it counts as what it reserved.
    pub fn new(start: u64, why: Lost) -> ModelLost {
        ModelLost { start, why, partial: None }
    }
}

/// The interrupted beginning of an answer. It holds text alone: reasoning without its signature must not be sent
/// back, and a use of a tool that was never made has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialAnswer {
    /// What was shown; cut at its limit.
    pub text: String,
    /// What was counted of it.
    pub usage: Usage,
    /// What it cost: what was streamed, by the prices of the attempt.
    #[serde(default, skip_serializing_if = "Usd::is_zero")]
    pub cost: Usd,
}
