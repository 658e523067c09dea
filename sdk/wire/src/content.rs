//! Pieces of content: what people, models and tools say.

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
    /// Bytes that the session already holds.
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

    /// The text, if it is plain text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Part::Text { text } => Some(text),
            _ => None,
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

/// Bytes that stand as base64 in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

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
    /// A trigger, by name.
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

/// What a model's answer was counted as, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request that were not read from a cache.
    pub input_tokens: u64,
    /// Tokens of the answer.
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
    fn base64_that_is_none_is_refused() {
        assert!(serde_json::from_str::<Base64>("\"a*\"").is_err());
    }
}
