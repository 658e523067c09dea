//! Tools: functions that a model can call.
//!
//! Knows how typed functions become the contract's `list-tools` and `call`. Does not know the WIT
//! bindings (`glue.rs` does), nor what any tool does.

use std::fmt;

pub use rewake_wire::Effect;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    json::JsonText,
    part::{IntoParts, Part},
};

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDef {
    /// `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema (2020-12) of the input.
    pub input_schema: JsonText,
    /// What the author declares.
    pub effect: Effect,
}

/// What a tool is told about the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolContext {
    /// The session's id.
    pub session: String,
    /// The turn's id.
    pub turn: String,
    /// The same for every try of the same call: hand it to whatever you call.
    pub idempotency_key: String,
    /// The bundle's configuration values, without the sensitive ones.
    pub config: JsonText,
}

impl ToolContext {
    /// The bundle's configuration as a type of yours.
    ///
    /// # Errors
    /// It is not a `T`; the message names the field.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        self.config.parse().map_err(|error| ToolError::Failed(format!("the bundle's configuration: {error}")))
    }
}

/// Why a tool did not do it.
///
/// Any standard error becomes `Failed` by `?`. For that reason this does not itself implement
/// [`std::error::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// An error that the model can fix: the problem with the input, and a correct value.
    InvalidInput(String),
    /// It could not be done.
    Failed(String),
}

impl ToolError {
    /// An error that the model can fix.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::InvalidInput(message.into())
    }

    /// It could not be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// The message, whichever kind it is.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::InvalidInput(message) | Self::Failed(message) => message,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<crate::Error> for ToolError {
    fn from(error: crate::Error) -> Self {
        Self::Failed(error.message().to_owned())
    }
}

/// The input of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoInput {}

/// A tool. `#[tool]` implements it for the function it stands on.
pub trait Tool {
    /// The name that a model calls it by.
    const NAME: &'static str;
    /// What the model reads about it.
    const DESCRIPTION: &'static str;
    /// What the author declares; [`Effect::Once`] if nothing.
    const EFFECT: Effect;
    /// What it takes: a JSON object.
    type Input: DeserializeOwned + JsonSchema;

    /// Does it.
    ///
    /// # Errors
    /// As the function says.
    fn call(input: Self::Input, cx: &ToolContext) -> Result<Vec<Part>, ToolError>;
}

/// One tool of a component, its types forgotten. [`crate::tools!`] makes them.
#[derive(Clone, Copy)]
pub struct ToolEntry {
    /// The tool's name.
    pub(crate) name: &'static str,
    def: fn() -> ToolDef,
    run: fn(&JsonText, &ToolContext) -> Result<Vec<Part>, ToolError>,
}

impl ToolEntry {
    /// The entry of `T`.
    #[must_use]
    pub const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, def: def_of::<T>, run: run::<T> }
    }

    /// Whether no two of these have one name. [`crate::tools!`] asks while compiling.
    #[must_use]
    pub const fn all_differ(tools: &[Self]) -> bool {
        let mut i = 0;
        while i < tools.len() {
            let mut j = i + 1;
            while j < tools.len() {
                if crate::names::equal(tools[i].name, tools[j].name) {
                    return false;
                }
                j += 1;
            }
            i += 1;
        }
        true
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolEntry({})", self.name)
    }
}

/// Definitions of all tools of a component.
#[must_use]
pub fn list(tools: &[ToolEntry]) -> Vec<ToolDef> {
    tools.iter().map(|tool| (tool.def)()).collect()
}

/// Calls the tool of this name.
///
/// # Errors
/// There is none of this name, the input does not fit, or the tool says so.
pub fn call(
    tools: &[ToolEntry],
    name: &str,
    input: &JsonText,
    cx: &ToolContext,
) -> Result<Vec<Part>, ToolError> {
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        return Err(ToolError::InvalidInput(format!(
            "this component has no tool `{name}`; it has {}",
            names.join(", ")
        )));
    };
    (tool.run)(input, cx)
}

/// The definition of `T`.
///
/// # Panics
/// If its input is not a JSON object: models send nothing else.
#[must_use]
pub fn def_of<T: Tool>() -> ToolDef {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        // Models read a flat schema better than one of references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T::Input>();
    // The struct's own name and doc comment: what a model needs is in the tool's description.
    schema.remove("title");
    schema.remove("description");
    assert!(
        schema.get("type").and_then(|kind| kind.as_str()) == Some("object"),
        "tool `{}`: the input must be a struct with named fields, so that it is a JSON object",
        T::NAME
    );
    ToolDef {
        name: T::NAME.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        input_schema: JsonText::from(schema.to_value()),
        effect: T::EFFECT,
    }
}

/// Reads the input and calls `T`.
///
/// # Errors
/// The input does not fit, or the tool says so.
pub fn run<T: Tool>(input: &JsonText, cx: &ToolContext) -> Result<Vec<Part>, ToolError> {
    let input = input.parse().map_err(|error| {
        ToolError::InvalidInput(format!("the input does not fit the schema of `{}`: {error}", T::NAME))
    })?;
    T::call(input, cx)
}

/// Turns what a tool function returned into what the contract wants. `#[tool]` calls it.
///
/// # Errors
/// The function's own, or that its value has no JSON form.
pub fn outcome<T: IntoParts, E: Into<ToolError>>(returned: Result<T, E>) -> Result<Vec<Part>, ToolError> {
    Ok(returned.map_err(Into::into)?.into_parts()?)
}
