//! The events that hooks are asked about, typed.
//!
//! Knows the JSON of each event (wit/README.md is where it is specified). Does not know what a hook
//! may answer to which.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{Event, Firing};
use crate::{Result, error::Error, json::JsonText, tool::Effect};

/// How a session came to be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// For the first time.
    Startup,
    /// Again: it was idle, or the host had stopped.
    Resume,
    /// As a fork of another session.
    Fork,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Fork => "fork",
        })
    }
}

/// What every event tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Common {
    /// The session's id.
    pub session_id: String,
    /// The turn's id, if there is one.
    pub turn_id: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// How the session was last loaded.
    pub source: Option<Source>,
    /// Where the workspace is mounted, if the component may see it.
    pub workspace: Option<String>,
    /// RFC 3339 in UTC.
    pub at: String,
    /// The same for every try of the same firing.
    pub idempotency_key: String,
    /// The bundle's configuration values, without the sensitive ones.
    pub config: JsonText,
}

impl Common {
    /// The bundle's configuration as a type of yours.
    ///
    /// # Errors
    /// It is not a `T`; the message names the field.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T> {
        self.config.parse().map_err(|error| error.context("the bundle's configuration"))
    }
}

/// An event's input, field by field.
struct Fields<'a> {
    event: &'a str,
    fields: BTreeMap<String, Box<RawValue>>,
}

impl Fields<'_> {
    fn of(firing: &Firing) -> Result<Fields<'_>> {
        let fields = firing.input.parse().map_err(|error| {
            error.context(format_args!("the input of `{}` is not a JSON object", firing.name))
        })?;
        Ok(Fields { event: &firing.name, fields })
    }

    /// A field that must be there.
    fn get<T: DeserializeOwned>(&self, field: &str) -> Result<T> {
        self.find(field)?.ok_or_else(|| Error::new(format!("the input of `{}` has no `{field}`", self.event)))
    }

    /// A field that may be missing or null.
    fn find<T: DeserializeOwned>(&self, field: &str) -> Result<Option<T>> {
        let Some(raw) = self.fields.get(field) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map_err(|error| Error::new(format!("`{field}` in the input of `{}`: {error}", self.event)))
    }

    /// A field that may be missing or null, and then has its type's default.
    fn or_default<T: DeserializeOwned + Default>(&self, field: &str) -> Result<T> {
        Ok(self.find(field)?.unwrap_or_default())
    }

    /// A field as it is written.
    fn text(&self, field: &str) -> Result<JsonText> {
        let raw: Box<RawValue> = self.get(field)?;
        Ok(JsonText::from_text(raw.get().to_owned()))
    }

    /// The input of a tool. `null` means that there are no arguments.
    fn arguments(&self, field: &str) -> Result<JsonText> {
        match self.fields.get(field).map(|raw| raw.get()) {
            Some("null") => Ok(JsonText::from_text("{}".to_owned())),
            _ => self.text(field),
        }
    }

    fn common(&self, firing: &Firing) -> Result<Common> {
        Ok(Common {
            session_id: firing.session.clone(),
            turn_id: firing.turn.clone(),
            agent: self.find("agent")?.unwrap_or_default(),
            source: self.find("source")?,
            workspace: self.find("workspace")?,
            at: self.find("at")?.unwrap_or_default(),
            idempotency_key: firing.idempotency_key.clone(),
            config: firing.config.clone(),
        })
    }
}

/// Declares events: each field with its type and how it is read.
macro_rules! events {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$field_doc:meta])* $field:ident: $ty:ty = $how:ident, )* }
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            /// What every event tells.
            pub common: Common,
            $( $(#[$field_doc])* pub $field: $ty, )*
        }

        impl Event for $name {
            const NAME: &'static str = stringify!($name);

            fn read(firing: &Firing) -> Result<Self> {
                let fields = Fields::of(firing)?;
                Ok(Self {
                    common: fields.common(firing)?,
                    $( $field: fields.$how(stringify!($field))?, )*
                })
            }
        }

        impl $name {
            /// The bundle's configuration as a type of yours.
            ///
            /// # Errors
            /// It is not a `T`; the message names the field.
            pub fn config<T: DeserializeOwned>(&self) -> Result<T> {
                self.common.config()
            }
        }
    )* };
}

events! {
    /// The session has been loaded: once per load, before its first step.
    SessionStart {
        /// Why it was loaded.
        source: Source = get,
    }

    /// A message is about to be accepted.
    UserPromptSubmit {
        /// Its text.
        prompt: String = get,
        /// Who sent it: `{"type", "id"}`.
        sender: JsonText = text,
    }

    /// A tool is about to be called.
    PreToolUse {
        /// The tool's name.
        tool_name: String = get,
        /// Its input, as the model wrote it.
        tool_input: JsonText = arguments,
        /// The use's id.
        tool_use_id: String = get,
        /// What repeating it does, as the host has it: the author's word, capped by the grants.
        effect: Effect = or_default,
        /// What it may use: `http`, `fs-ro`, `fs-rw`. A later host may know more words.
        grants: Vec<String> = or_default,
    }

    /// A tool has answered.
    PostToolUse {
        /// The tool's name.
        tool_name: String = get,
        /// Its input.
        tool_input: JsonText = arguments,
        /// The use's id.
        tool_use_id: String = get,
        /// What repeating it does, as the host has it: the author's word, capped by the grants.
        effect: Effect = or_default,
        /// What it may use: `http`, `fs-ro`, `fs-rw`. A later host may know more words.
        grants: Vec<String> = or_default,
        /// Its output: a list of parts.
        tool_output: JsonText = text,
        /// How long it took, in milliseconds.
        duration_ms: u32 = get,
    }

    /// A tool has failed, timed out, or was lost.
    PostToolUseFailure {
        /// The tool's name.
        tool_name: String = get,
        /// Its input.
        tool_input: JsonText = arguments,
        /// The use's id.
        tool_use_id: String = get,
        /// What repeating it does, as the host has it: the author's word, capped by the grants.
        effect: Effect = or_default,
        /// What it may use: `http`, `fs-ro`, `fs-rw`. A later host may know more words.
        grants: Vec<String> = or_default,
        /// What went wrong.
        error: String = get,
        /// `error`, `denied`, `timed_out` or `unknown`.
        outcome: String = get,
        /// How long it took, in milliseconds.
        duration_ms: Option<u32> = find,
    }

    /// The turn is about to be complete.
    Stop {
        /// Whether this turn goes on because a hook blocked its end before.
        stop_hook_active: bool = get,
        /// The agent's last message, if it said anything.
        last_message: Option<String> = find,
    }

    /// A child session has been started.
    SubagentStart {
        /// Its id.
        child_session_id: String = get,
    }

    /// A child session is about to be complete.
    SubagentStop {
        /// Its id.
        child_session_id: String = get,
    }

    /// The harness is about to shorten what the model sees.
    PreCompact {
        /// `manual` or `auto`.
        trigger: String = get,
    }

    /// The harness has shortened what the model sees.
    PostCompact {
        /// `manual` or `auto`.
        trigger: String = get,
    }

    /// A person ought to know something.
    Notification {
        /// What kind of thing.
        notification_type: String = get,
        /// The thing.
        message: String = get,
    }

    /// The session has ended.
    SessionEnd {
        /// `stopped`, `failed` or `archived`.
        reason: String = get,
    }
}

impl PreToolUse {
    /// The tool's input as a type of yours.
    ///
    /// # Errors
    /// It is not a `T`; the message names the field.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
        input(&self.tool_name, &self.tool_input)
    }
}

impl PostToolUse {
    /// The tool's input as a type of yours.
    ///
    /// # Errors
    /// It is not a `T`; the message names the field.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
        input(&self.tool_name, &self.tool_input)
    }
}

fn input<T: DeserializeOwned>(tool: &str, input: &JsonText) -> Result<T> {
    input.parse().map_err(|error| error.context(format_args!("the input of the tool `{tool}`")))
}
