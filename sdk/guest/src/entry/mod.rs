//! Entries of the session's journal, for a harness that builds what the model sees from them.
//!
//! Knows the kinds that say what was said, asked, called and how it ended, in the shape that
//! [`crate::Session::events`] gives them. Does not know the other kinds: they are [`Entry::Other`].
//! Fields that are not listed here are passed over, so newer hosts can say more.

mod wire;

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    harness::Sender,
    json::JsonText,
    model::{Content, Finish, Outcome, Usage},
    part::Part,
    session::JournalEvent,
    tool::Effect,
};

/// What an entry says.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// `step.started`: all that a step is told.
    StepStarted(StepStarted),
    /// `step.completed`: its state was saved.
    StepCompleted,
    /// `step.aborted`: it did not end well; its state was not saved.
    StepAborted,
    /// `turn.completed`
    TurnCompleted,
    /// `turn.interrupted`
    TurnInterrupted(TurnInterrupted),
    /// `turn.failed`
    TurnFailed(TurnFailed),
    /// `model.completed`
    ModelCompleted(ModelCompleted),
    /// `model.lost`: what the model answered is not known.
    ModelLost,
    /// `tools.requested`
    ToolsRequested(ToolsRequested),
    /// `tool.started`
    ToolStarted(ToolStarted),
    /// `tool.completed`
    ToolCompleted(ToolCompleted),
    /// `tool.lost`
    ToolLost(ToolLost),
    /// `hook.started`
    HookStarted(HookStarted),
    /// `hook.verdict`
    HookVerdict(HookVerdict),
    /// `agent.title` or `session.titled`
    Titled,
    /// `workspace.imported`: people brought files into the workspace.
    WorkspaceImported(WorkspaceImported),
    /// An entry of the harness's own kind, `custom.…`: its data.
    Custom(JsonText),
    /// Another kind.
    Other,
}

/// What a step is told: the same as its [`crate::harness::Input`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// What it is told.
    pub input: StepInput,
}

/// The input of a step, as the journal keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepInput {
    /// Messages that it accepts.
    #[serde(default)]
    pub messages: Vec<Message>,
    /// Answers that it accepts.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// What hooks added.
    #[serde(default)]
    pub contexts: Vec<String>,
    /// What came before and did not end well.
    #[serde(default)]
    pub unfinished: Option<Unfinished>,
}

/// A message, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who sent it.
    #[serde(with = "wire::sender")]
    pub sender: Sender,
    /// What it says.
    #[serde(with = "wire::parts")]
    pub parts: Vec<Part>,
}

/// An answer, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// Who answered.
    #[serde(with = "wire::sender")]
    pub sender: Sender,
    /// The answer.
    pub value: JsonText,
}

/// What came before a step and did not end well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// How it ended, as a word: `interrupted`, `failed`, `trapped`, `timed_out`, `rolled_back`.
    pub how: String,
}

/// `turn.interrupted`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnInterrupted {
    /// Why, where a hook ended it; none: a person did.
    #[serde(default)]
    pub reason: Option<String>,
}

/// `turn.failed`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnFailed {
    /// A word for programs.
    pub code: String,
    /// Words for people.
    pub detail: String,
}

/// `model.completed`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCompleted {
    /// What came of it.
    pub outcome: ModelOutcome,
}

/// What came of asking the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelOutcome {
    /// An answer.
    Completion {
        /// What it says.
        #[serde(with = "wire::contents")]
        content: Vec<Content>,
        /// Why it ended.
        finish: Finish,
        /// What it counted.
        #[serde(with = "wire::usage")]
        usage: Usage,
        /// Tokens of request and answer together that the model has room for, where that is known.
        #[serde(default)]
        context_tokens: Option<u64>,
    },
    /// The model is not granted.
    Denied(String),
    /// The call could pass the spend cap.
    Budget(String),
    /// The request has no room in the model's context.
    TooLarge(String),
    /// The provider refuses it.
    Rejected(String),
    /// The provider cannot answer.
    Unavailable(String),
}

/// `tools.requested`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolsRequested {
    /// The uses; entries of one of them carry its index in this list.
    pub uses: Vec<Requested>,
}

/// A use that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// The use's id.
    pub id: String,
}

/// `tool.started`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// Which of the uses that were requested last.
    pub index: u32,
    /// The effect class in force.
    pub class: Effect,
}

/// `tool.completed`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCompleted {
    /// Which of the uses that were requested last.
    pub index: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What it returned, or why it was refused.
    #[serde(with = "wire::parts")]
    pub parts: Vec<Part>,
    /// What hooks had to say before it ran.
    #[serde(default)]
    pub contexts: Vec<String>,
}

/// `tool.lost`: its end is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolLost {
    /// Which of the uses that were requested last.
    pub index: u32,
    /// `host`: the host died. `interrupted`: the turn ended while it ran. `limit`: it was tried too
    /// often.
    pub why: String,
}

/// `hook.started`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookStarted {
    /// The event, such as `PostToolUse`.
    pub event: String,
}

/// `hook.verdict`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookVerdict {
    /// The seq of its `hook.started`.
    pub start: u32,
    /// The hook's number; what hooks say is told in this order.
    pub hook: u32,
    /// Which of the uses that were requested last; none: it is not about a use.
    #[serde(default)]
    pub index: Option<u32>,
    /// `none`, `allow`, `deny`, `ask`, `block`.
    pub decision: String,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// What it adds to the model's context.
    #[serde(default)]
    pub context: Option<String>,
    /// What it changes.
    #[serde(default)]
    pub changes: Changes,
}

/// What a hook changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Replaces what the tool returned.
    #[serde(default, with = "wire::some_parts")]
    pub output: Option<Vec<Part>>,
}

/// `workspace.imported`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceImported {
    /// Files that came.
    pub files: u64,
    /// Whether what was there before is gone.
    #[serde(default)]
    pub replaced: bool,
}

impl JournalEvent {
    /// What it says.
    ///
    /// # Errors
    /// Its data is not what its kind has.
    pub fn entry(&self) -> Result<Entry> {
        let read = || -> Result<Entry> {
            Ok(match self.kind.as_str() {
                "step.started" => Entry::StepStarted(self.data.parse()?),
                "step.completed" => Entry::StepCompleted,
                "step.aborted" => Entry::StepAborted,
                "turn.completed" => Entry::TurnCompleted,
                "turn.interrupted" => Entry::TurnInterrupted(self.data.parse()?),
                "turn.failed" => Entry::TurnFailed(self.data.parse()?),
                "model.completed" => Entry::ModelCompleted(self.data.parse()?),
                "model.lost" => Entry::ModelLost,
                "tools.requested" => Entry::ToolsRequested(self.data.parse()?),
                "tool.started" => Entry::ToolStarted(self.data.parse()?),
                "tool.completed" => Entry::ToolCompleted(self.data.parse()?),
                "tool.lost" => Entry::ToolLost(self.data.parse()?),
                "hook.started" => Entry::HookStarted(self.data.parse()?),
                "hook.verdict" => Entry::HookVerdict(self.data.parse()?),
                "agent.title" | "session.titled" => Entry::Titled,
                "workspace.imported" => Entry::WorkspaceImported(self.data.parse()?),
                kind if kind.starts_with("custom.") => Entry::Custom(self.data.clone()),
                _ => Entry::Other,
            })
        };
        read().map_err(|error| Error::new(format!("entry {} ({}): {error}", self.seq, self.kind)))
    }
}
