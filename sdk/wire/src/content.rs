//! Pieces of content: what people, models and tools say.

use std::fmt;
use std::ops::Deref;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// JSON, kept as the text it came as.
    Json {
        /// UTF-8 JSON text.
        json: String,
    },
    /// Bytes of a media type.
    Blob {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes; base64 in JSON.
        data: Base64,
    },
    /// Bytes that the session already holds; a harness reads them with `session.blob`.
    BlobRef {
        /// Such as `image/png`.
        media_type: String,
        /// `blake3:` and 64 hexadecimal digits.
        digest: String,
        /// Length in bytes.
        size: u32,
    },
}

impl Part {
    /// A part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text { text: text.into() }
    }

    /// A part of JSON text.
    pub fn json(json: impl Into<String>) -> Self {
        Part::Json { json: json.into() }
    }

    /// What this part says in words; bytes have none.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Part::Text { text } => Some(text),
            Part::Json { json } => Some(json),
            Part::Blob { .. } | Part::BlobRef { .. } => None,
        }
    }

    /// The bytes this part carries itself.
    pub fn len(&self) -> usize {
        match self {
            Part::Text { text } => text.len(),
            Part::Json { json } => json.len(),
            Part::Blob { data, .. } => data.0.len(),
            Part::BlobRef { .. } => 0,
        }
    }

    /// Whether it carries no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Part::Text { text }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Part::text(text)
    }
}

/// Bytes that are base64 in JSON: a list of numbers would take three times the room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

impl From<Vec<u8>> for Base64 {
    fn from(bytes: Vec<u8>) -> Self {
        Base64(bytes)
    }
}

impl Deref for Base64 {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Base64).map_err(D::Error::custom)
    }
}

/// Who sent something; stamped by the host, never by the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
pub enum Sender {
    /// A person or a program with a token: its principal.
    Operator(String),
    /// Another session: its id.
    Agent(String),
    /// A trigger, by name. What it carries is data, never an instruction of the system.
    Trigger(String),
    /// The host itself.
    System,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked.
    Ok,
    /// The tool said no: bad input, or it failed.
    Error,
    /// A hook, a grant or the operator refused it; nothing was done.
    Denied,
    /// It was ended when its time was over; what it had done by then is done.
    TimedOut,
    /// It was started and its end is not known; it was not repeated.
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Denied => "denied",
            Outcome::TimedOut => "timed out",
            Outcome::Unknown => "unknown",
        })
    }
}

/// How a step or a turn ended that did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A person interrupted it.
    Interrupted,
    /// The harness said that it failed, or a limit was reached.
    Failed,
    /// The harness died.
    Trapped,
    /// Its time was over.
    TimedOut,
    /// The workspace went back to an older state. No host of this version writes it.
    RolledBack,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Interrupted => "it was interrupted",
            Ending::Failed => "it failed",
            Ending::Trapped => "the agent's program crashed",
            Ending::TimedOut => "it took too long and was stopped",
            Ending::RolledBack => "the workspace was put back to an older state",
        })
    }
}

/// What repeating a call does to the world; from the safest to the least safe. The host caps what an author declares
/// by what the component is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads: performed again after a crash.
    Pure,
    /// Safe to repeat with the same key: performed again with it.
    Idempotent,
    /// May not be repeated: after a crash its outcome is `unknown`. The default.
    #[default]
    Once,
}

impl Effect {
    /// The word it is written as.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Pure => "pure",
            Effect::Idempotent => "idempotent",
            Effect::Once => "once",
        }
    }

    /// Whether a start without an end may be performed again.
    pub fn is_repeatable(self) -> bool {
        self != Effect::Once
    }
}

/// Why a model's answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said all.
    End,
    /// It wants tools.
    ToolUse,
    /// The bound on the answer's length.
    MaxTokens,
    /// It would not.
    Refused,
    /// Another reason.
    Other,
}

/// What a model's answer was counted as, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request that were not read from a cache.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens of the answer.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens of the request that were read from the provider's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Tokens that were written to the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

impl Usage {
    /// All tokens of request and answer, saturating.
    pub fn total(self) -> u64 {
        [self.output_tokens, self.cache_read_tokens, self.cache_write_tokens]
            .into_iter()
            .fold(self.input_tokens, u64::saturating_add)
    }

    /// Both together, saturating.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_in_json_as_documented() {
        let part = Part::Blob { media_type: "image/png".into(), data: Base64(vec![1, 2, 255]) };
        let json = serde_json::to_string(&part).unwrap();
        assert_eq!(json, r#"{"type":"blob","media_type":"image/png","data":"AQL/"}"#);
        assert_eq!(serde_json::from_str::<Part>(&json).unwrap(), part);
    }

    #[test]
    fn only_once_may_not_be_repeated() {
        assert!(Effect::Pure.is_repeatable() && Effect::Idempotent.is_repeatable());
        assert!(!Effect::Once.is_repeatable());
    }

    #[test]
    fn base64_that_is_none_is_refused() {
        assert!(serde_json::from_str::<Base64>("\"a*\"").is_err());
    }
}
