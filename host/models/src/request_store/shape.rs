//! The shapes of what is kept of requests to models: JSON that follows the contract's types, each blob with the
//! version of its shape. Once released, a version is read for ever.

use rewake_bindings::{model, types};
use rewake_core::ids::Digest;
use rewake_wire::{Outcome, Part};
use serde::{Deserialize, Serialize};

use rewake_sandbox::convert::{effect_in, effect_out, outcome_out, part_in, part_out, parts_out};

/// The version that is written.
const VERSION: u32 = 1;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The agent's side of the conversation: people, and tools' results.
    User,
    /// The model.
    Assistant,
}

/// A message of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What it says.
    pub content: Vec<Content>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Content.
    Part(Part),
    /// A model's reasoning: its provider's own JSON.
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
    /// How a tool ended.
    ToolResult {
        /// The use's id.
        id: String,
        /// How.
        outcome: Outcome,
        /// What it returned.
        parts: Vec<Part>,
        /// What hooks said about it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<String>,
    },
}

/// A tool that a model is told of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema, as text.
    pub input_schema: String,
    /// Its effect class.
    pub effect: rewake_core::effect::Effect,
}

/// Bounds and sampling options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The model that the harness names; none: the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of the answer at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Sampling options: JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
}

/// A message, as it is kept.
#[derive(Serialize, Deserialize)]
pub(super) struct MessageBlob {
    v: u32,
    #[serde(flatten)]
    message: Message,
}

/// The tools, as they are kept.
#[derive(Serialize, Deserialize)]
pub(super) struct ToolsBlob {
    v: u32,
    tools: Vec<Tool>,
}

/// The options, as they are kept.
#[derive(Serialize, Deserialize)]
pub(super) struct OptionsBlob {
    v: u32,
    #[serde(flatten)]
    options: Options,
}

/// A list of messages, as it is kept.
#[derive(Serialize, Deserialize)]
pub(super) struct ListBlob {
    v: u32,
    /// The list that it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Digest>,
    /// What was added to that.
    pub(super) messages: Vec<Digest>,
}

impl ListBlob {
    pub(super) fn new(parent: Option<Digest>, messages: Vec<Digest>) -> ListBlob {
        ListBlob { v: VERSION, parent, messages }
    }
}

impl MessageBlob {
    pub(super) fn of(message: &model::Message) -> MessageBlob {
        let role = match message.role {
            model::Role::User => Role::User,
            model::Role::Assistant => Role::Assistant,
        };
        let content = message.content.iter().map(content_in).collect();
        MessageBlob { v: VERSION, message: Message { role, content } }
    }
}

impl ToolsBlob {
    pub(super) fn of(tools: &[types::ToolDef]) -> ToolsBlob {
        let tools = tools.iter().map(|tool| Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            effect: effect_in(tool.effect),
        });
        ToolsBlob { v: VERSION, tools: tools.collect() }
    }
}

impl OptionsBlob {
    /// None, if the request says nothing of it.
    pub(super) fn of(request: &model::Request) -> Option<OptionsBlob> {
        let (model, max_tokens) = (request.model.clone(), request.max_tokens);
        let options = Options { model, max_tokens, options: request.options.clone() };
        (options != Options::default()).then_some(OptionsBlob { v: VERSION, options })
    }
}

/// What a blob is read as: the content of a version that is known.
pub(super) trait Kept: for<'de> Deserialize<'de> {
    type Content;
    fn version(&self) -> u32;
    fn content(self) -> Self::Content;
}

macro_rules! kept {
    ($($blob:ty => $content:ty, $field:ident;)*) => {
        $(impl Kept for $blob {
            type Content = $content;

            fn version(&self) -> u32 {
                self.v
            }

            fn content(self) -> $content {
                self.$field
            }
        })*
    };
}

kept! {
    MessageBlob => Message, message;
    ToolsBlob => Vec<Tool>, tools;
    OptionsBlob => Options, options;
}

impl Kept for ListBlob {
    type Content = ListBlob;

    fn version(&self) -> u32 {
        self.v
    }

    fn content(self) -> ListBlob {
        self
    }
}

/// Reads a blob's bytes, which are untrusted.
///
/// # Errors
/// What is wrong with them.
pub(super) fn unpack<K: Kept>(bytes: &[u8]) -> Result<K::Content, String> {
    let kept: K = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match kept.version() {
        VERSION => Ok(kept.content()),
        other => Err(format!("it is of version {other}, which this host does not know")),
    }
}

fn content_in(content: &model::Content) -> Content {
    match content.clone() {
        model::Content::Part(part) => Content::Part(part_in(part)),
        model::Content::Thinking(json) => Content::Thinking(json),
        model::Content::ToolUse(one) => Content::ToolUse { id: one.id, name: one.name, input: one.input },
        model::Content::ToolResult(result) => Content::ToolResult {
            id: result.id,
            outcome: outcome_in(result.outcome),
            parts: result.parts.into_iter().map(part_in).collect(),
            context: result.context,
        },
    }
}

fn outcome_in(outcome: types::Outcome) -> Outcome {
    match outcome {
        types::Outcome::Ok => Outcome::Ok,
        types::Outcome::Error => Outcome::Error,
        types::Outcome::Denied => Outcome::Denied,
        types::Outcome::TimedOut => Outcome::TimedOut,
        types::Outcome::Unknown => Outcome::Unknown,
    }
}

/// The request as it was made, so that its digest can be compared.
pub(super) fn request(
    system: Option<&str>,
    tools: &[Tool],
    options: &Options,
    messages: &[Message],
) -> model::Request {
    let tools = tools.iter().map(|tool| types::ToolDef {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        effect: effect_out(tool.effect),
    });
    let messages = messages.iter().map(|message| model::Message {
        role: match message.role {
            Role::User => model::Role::User,
            Role::Assistant => model::Role::Assistant,
        },
        content: message.content.iter().map(content_out).collect(),
    });
    model::Request {
        model: options.model.clone(),
        system: system.map(str::to_owned),
        messages: messages.collect(),
        tools: tools.collect(),
        max_tokens: options.max_tokens,
        options: options.options.clone(),
    }
}

fn content_out(content: &Content) -> model::Content {
    match content.clone() {
        Content::Part(part) => model::Content::Part(part_out(&part)),
        Content::Thinking(json) => model::Content::Thinking(json),
        Content::ToolUse { id, name, input } => model::Content::ToolUse(types::ToolUse { id, name, input }),
        Content::ToolResult { id, outcome, parts, context } => {
            let (outcome, parts) = (outcome_out(outcome), parts_out(&parts));
            model::Content::ToolResult(types::ToolResult { id, outcome, parts, context })
        }
    }
}
