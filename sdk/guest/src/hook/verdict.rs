//! What a hook may answer.
//!
//! Knows how to say it. Does not know which event may decide what: the host refuses the rest.

use serde::Serialize;

use crate::{Result, json::JsonText, part::Part};

/// What is to become of what was asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// This hook has no opinion.
    #[default]
    None,
    /// Do it, as far as grants and policy allow it.
    Allow,
    /// Do not.
    Deny,
    /// Ask a person.
    Ask,
    /// `Stop`: go on. `UserPromptSubmit`: refuse the prompt. `PostToolUse`: tell the model.
    Block,
}

/// A hook's answer. Begin with a decision and add to it:
///
/// ```
/// use rewake_sdk::prelude::*;
///
/// let verdict = Verdict::ask("it deletes files").with_context("ask before deleting");
/// assert_eq!(verdict.decision, Decision::Ask);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is to become of it.
    pub decision: Decision,
    /// Why; for `deny` and `block` the model reads it.
    pub reason: Option<String>,
    /// What the model is told besides.
    pub context: Option<String>,
    /// Replaces the whole input. Only hooks with `rewrites = true` may.
    pub updated_input: Option<JsonText>,
    /// Replaces a tool's output.
    pub updated_output: Option<Vec<Part>>,
    /// The session's new title.
    pub title: Option<String>,
    /// Ends the turn for this reason; beats everything else.
    pub end_turn: Option<String>,
}

impl Verdict {
    /// No opinion.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Do it. It never widens what grants and policy allow.
    #[must_use]
    pub fn allow() -> Self {
        Self { decision: Decision::Allow, ..Self::default() }
    }

    /// Do not do it; the model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::because(Decision::Deny, reason)
    }

    /// Ask a person; the person reads the reason.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::because(Decision::Ask, reason)
    }

    /// What blocking means is the event's: see [`Decision::Block`].
    pub fn block(reason: impl Into<String>) -> Self {
        Self::because(Decision::Block, reason)
    }

    /// No opinion, but something for the model to know.
    pub fn context(text: impl Into<String>) -> Self {
        Self::none().with_context(text)
    }

    /// Ends the turn.
    pub fn end_turn(reason: impl Into<String>) -> Self {
        Self { end_turn: Some(reason.into()), ..Self::default() }
    }

    /// Adds something for the model to know.
    #[must_use]
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.context = Some(text.into());
        self
    }

    /// Names the session.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Replaces the whole input.
    ///
    /// # Errors
    /// The value has no JSON form.
    pub fn with_input<T: Serialize>(mut self, input: &T) -> Result<Self> {
        self.updated_input = Some(JsonText::of(input)?);
        Ok(self)
    }

    /// Replaces a tool's output.
    #[must_use]
    pub fn with_output(mut self, output: Vec<Part>) -> Self {
        self.updated_output = Some(output);
        self
    }

    fn because(decision: Decision, reason: impl Into<String>) -> Self {
        Self { decision, reason: Some(reason.into()), ..Self::default() }
    }
}

/// What a hook function may return: a [`Verdict`], or a `Result` of one.
pub trait IntoVerdict {
    /// The same as a result.
    ///
    /// # Errors
    /// The function's own.
    fn into_verdict(self) -> Result<Verdict>;
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Result<Verdict> {
        Ok(self)
    }
}

impl<E: Into<crate::Error>> IntoVerdict for Result<Verdict, E> {
    fn into_verdict(self) -> Result<Verdict> {
        self.map_err(Into::into)
    }
}
