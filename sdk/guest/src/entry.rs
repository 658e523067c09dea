//! Entries of the session's journal, for a harness that builds what the model sees from them. Needs the feature
//! `entries`.
//!
//! Knows the kinds that say what was said, asked, called and how it ended, in the shape in which the host writes them.
//! Does not know the other kinds: they are [`Entry::Other`]. Fields that are new to it are passed over, so newer hosts
//! can say more.

use rewake_wire::entry;
pub use rewake_wire::entry::{
    Answer, Changes, Decision, Lost, ModelCompleted, ModelOutcome, Scope, ToolLost, TurnFailed,
    TurnInterrupted,
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    Error, Result,
    json::JsonText,
    model::{Content, ToolUse},
    session::JournalEvent,
};

/// A message, with the milliseconds since 1970 at which it was accepted.
pub type Message = entry::Message<i64>;
/// What a step is told: the same as its [`crate::harness::Input`].
pub type StepInput = entry::StepInput<i64>;
/// `tools.requested`
pub type ToolsRequested = entry::ToolsRequested<String>;
/// A use that was asked for.
pub type Requested = entry::RequestedUse<String>;
/// `tool.started`
pub type ToolStarted = entry::ToolStarted<String>;
/// `tool.completed`
pub type ToolCompleted = entry::ToolCompleted<String>;
/// `hook.verdict`
pub type HookVerdict = entry::HookVerdict<String>;
/// `workspace.imported`
pub type WorkspaceImported = entry::WorkspaceImported<String>;

/// What an entry says. `index`: which of the uses that were requested last it is about.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is described above or by its type")]
pub enum Entry {
    /// `step.started`: all that a step is told.
    StepStarted(StepInput),
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
    ToolStarted { index: u32, body: ToolStarted },
    /// `tool.completed`
    ToolCompleted { index: u32, body: Box<ToolCompleted> },
    /// `tool.lost`
    ToolLost { index: u32, body: ToolLost },
    /// `hook.started`: its event, such as `PostToolUse`.
    HookStarted(String),
    /// `hook.verdict`; without an index it is not about a use.
    HookVerdict { index: Option<u32>, body: Box<HookVerdict> },
    /// `agent.title` or `session.titled`
    Titled,
    /// `workspace.imported`: people brought files into the workspace.
    WorkspaceImported(WorkspaceImported),
    /// An entry of the harness's own kind, `custom.…`: its data.
    Custom(JsonText),
    /// Another kind.
    Other,
}

impl From<entry::ModelContent> for Content {
    fn from(content: entry::ModelContent) -> Self {
        match content {
            entry::ModelContent::Part(part) => Self::Part(part),
            entry::ModelContent::Thinking(json) => Self::Thinking(JsonText::from_text(json)),
            entry::ModelContent::ToolUse { id, name, input } => {
                Self::ToolUse(ToolUse::new(id, name, JsonText::from_text(input)))
            }
        }
    }
}

/// What `session.events` says beside the payload of an entry about a use.
#[derive(Deserialize)]
struct Place {
    index: Option<u32>,
}

#[derive(Deserialize)]
struct StepStarted {
    input: StepInput,
}

#[derive(Deserialize)]
struct HookStarted {
    event: String,
}

impl JournalEvent {
    /// What it says.
    ///
    /// # Errors
    /// Its data is not what its kind has.
    pub fn entry(&self) -> Result<Entry> {
        self.read().map_err(|error| Error::new(format!("entry {} ({}): {error}", self.seq, self.kind)))
    }

    fn read(&self) -> Result<Entry> {
        Ok(match self.kind.as_str() {
            "step.started" => Entry::StepStarted(self.data.parse::<StepStarted>()?.input),
            "step.completed" => Entry::StepCompleted,
            "step.aborted" => Entry::StepAborted,
            "turn.completed" => Entry::TurnCompleted,
            "turn.interrupted" => Entry::TurnInterrupted(self.data.parse()?),
            "turn.failed" => Entry::TurnFailed(self.data.parse()?),
            "model.completed" => Entry::ModelCompleted(self.data.parse()?),
            "model.lost" => Entry::ModelLost,
            "tools.requested" => Entry::ToolsRequested(self.data.parse()?),
            "tool.started" => {
                let (index, body) = self.of_use()?;
                Entry::ToolStarted { index, body }
            }
            "tool.completed" => {
                let (index, body) = self.of_use()?;
                Entry::ToolCompleted { index, body: Box::new(body) }
            }
            "tool.lost" => {
                let (index, body) = self.of_use()?;
                Entry::ToolLost { index, body }
            }
            "hook.started" => Entry::HookStarted(self.data.parse::<HookStarted>()?.event),
            "hook.verdict" => {
                let body = Box::new(self.data.parse()?);
                Entry::HookVerdict { index: self.data.parse::<Place>()?.index, body }
            }
            "agent.title" | "session.titled" => Entry::Titled,
            "workspace.imported" => Entry::WorkspaceImported(self.data.parse()?),
            kind if kind.starts_with("custom.") => Entry::Custom(self.data.clone()),
            _ => Entry::Other,
        })
    }

    /// An entry about a use, and which of the uses it is about.
    fn of_use<T: DeserializeOwned>(&self) -> Result<(u32, T)> {
        let body = self.data.parse()?;
        let index = self.data.parse::<Place>()?.index;
        Ok((index.ok_or_else(|| Error::new("it does not say which use it is about"))?, body))
    }
}
