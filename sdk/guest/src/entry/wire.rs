//! Shapes that the journal writes in another way than this crate keeps them.
//!
//! Knows only how the one becomes the other.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    harness::Sender as OurSender,
    json::JsonText,
    model::{Content as OurContent, ToolUse, Usage as OurUsage},
    part::Part as OurPart,
};

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    Json { json: String },
    Blob { media_type: String, data: String },
    BlobRef { media_type: String, digest: String, size: u32 },
}

impl From<&OurPart> for Part {
    fn from(part: &OurPart) -> Self {
        match part.clone() {
            OurPart::Text(text) => Self::Text { text },
            OurPart::Json(json) => Self::Json { json: json.into_text() },
            OurPart::Blob { media_type, data } => Self::Blob { media_type, data: STANDARD.encode(data) },
            OurPart::BlobRef { media_type, digest, size } => Self::BlobRef { media_type, digest, size },
        }
    }
}

impl TryFrom<Part> for OurPart {
    type Error = base64::DecodeError;

    fn try_from(part: Part) -> Result<Self, Self::Error> {
        Ok(match part {
            Part::Text { text } => Self::Text(text),
            Part::Json { json } => Self::Json(JsonText::from_text(json)),
            Part::Blob { media_type, data } => Self::Blob { media_type, data: STANDARD.decode(data)? },
            Part::BlobRef { media_type, digest, size } => Self::BlobRef { media_type, digest, size },
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Part(Part),
    Thinking(String),
    ToolUse { id: String, name: String, input: String },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
enum Sender {
    Operator(String),
    Agent(String),
    Trigger(String),
    System,
}

pub(super) mod parts {
    use super::*;

    pub(in crate::entry) fn serialize<S: Serializer>(parts: &[OurPart], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(parts.iter().map(Part::from))
    }

    pub(in crate::entry) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<OurPart>, D::Error> {
        let parts = Vec::<Part>::deserialize(from)?;
        parts.into_iter().map(|part| part.try_into().map_err(D::Error::custom)).collect()
    }
}

pub(super) mod some_parts {
    use super::*;

    pub(in crate::entry) fn serialize<S: Serializer>(
        parts: &Option<Vec<OurPart>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match parts {
            Some(parts) => super::parts::serialize(parts, to),
            None => to.serialize_none(),
        }
    }

    pub(in crate::entry) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<OurPart>>, D::Error> {
        let parts = Option::<Vec<Part>>::deserialize(from)?;
        let parts = parts
            .map(|parts| parts.into_iter().map(|part| part.try_into().map_err(D::Error::custom)).collect());
        parts.transpose()
    }
}

pub(super) mod contents {
    use super::*;

    pub(in crate::entry) fn serialize<S: Serializer>(
        contents: &[OurContent],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(contents.iter().filter_map(|content| match content {
            OurContent::Part(part) => Some(Content::Part(part.into())),
            OurContent::Thinking(json) => Some(Content::Thinking(json.as_str().to_owned())),
            OurContent::ToolUse(ToolUse { id, name, input }) => Some(Content::ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: input.as_str().to_owned(),
            }),
            // No model answers with one.
            OurContent::ToolResult(_) => None,
        }))
    }

    pub(in crate::entry) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<OurContent>, D::Error> {
        let contents = Vec::<Content>::deserialize(from)?;
        let ours = |content| {
            Ok(match content {
                Content::Part(part) => OurContent::Part(part.try_into().map_err(D::Error::custom)?),
                Content::Thinking(json) => OurContent::Thinking(JsonText::from_text(json)),
                Content::ToolUse { id, name, input } => {
                    OurContent::ToolUse(ToolUse::new(id, name, JsonText::from_text(input)))
                }
            })
        };
        contents.into_iter().map(ours).collect()
    }
}

pub(super) mod sender {
    use super::*;

    pub(in crate::entry) fn serialize<S: Serializer>(sender: &OurSender, to: S) -> Result<S::Ok, S::Error> {
        let sender = match sender.clone() {
            OurSender::Operator(id) => Sender::Operator(id),
            OurSender::Agent(id) => Sender::Agent(id),
            OurSender::Trigger(id) => Sender::Trigger(id),
            OurSender::System => Sender::System,
        };
        sender.serialize(to)
    }

    pub(in crate::entry) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<OurSender, D::Error> {
        Ok(match Sender::deserialize(from)? {
            Sender::Operator(id) => OurSender::Operator(id),
            Sender::Agent(id) => OurSender::Agent(id),
            Sender::Trigger(id) => OurSender::Trigger(id),
            Sender::System => OurSender::System,
        })
    }
}

/// The journal counts further than the contract does.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

pub(super) mod usage {
    use super::*;

    pub(in crate::entry) fn serialize<S: Serializer>(usage: &OurUsage, to: S) -> Result<S::Ok, S::Error> {
        usage.serialize(to)
    }

    pub(in crate::entry) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<OurUsage, D::Error> {
        let usage = Usage::deserialize(from)?;
        let count = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
        Ok(OurUsage {
            input_tokens: count(usage.input_tokens),
            output_tokens: count(usage.output_tokens),
            cache_read_tokens: count(usage.cache_read_tokens),
            cache_write_tokens: count(usage.cache_write_tokens),
        })
    }
}
