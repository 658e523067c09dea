//! Content: what messages and tool results are made of.
//!
//! Knows the kinds of content and how common values become them. Does not know who sends them.

use serde::{Deserialize, Serialize};

use crate::json::{Json, JsonText};

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text(String),
    /// JSON.
    Json(JsonText),
    /// Bytes, such as an image.
    Blob {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes; base64 in JSON.
        #[serde(with = "bytes")]
        data: Vec<u8>,
    },
    /// Bytes that the session already holds; [`crate::Session::blob`] reads them.
    BlobRef {
        /// Such as `image/png`.
        media_type: String,
        /// What names the bytes, such as `blake3:…`.
        digest: String,
        /// How many bytes they are.
        size: u32,
    },
}

impl Part {
    /// A piece of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// What this piece says in words; bytes have none.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(json) => Some(json.as_str()),
            Self::Blob { .. } | Self::BlobRef { .. } => None,
        }
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// The words of several pieces, a line each.
#[must_use]
pub fn text_of(parts: &[Part]) -> String {
    let words: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    words.join("\n")
}

/// What a tool may return: a `String`, a [`Json`], a [`Part`], several of them, or nothing.
pub trait IntoParts {
    /// The same as content.
    ///
    /// # Errors
    /// The value has no JSON form.
    fn into_parts(self) -> crate::Result<Vec<Part>>;
}

impl IntoParts for String {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(vec![Part::Text(self)])
    }
}

impl IntoParts for &str {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(vec![Part::text(self)])
    }
}

impl IntoParts for Part {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(vec![self])
    }
}

impl IntoParts for Vec<Part> {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(self)
    }
}

impl IntoParts for () {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(Vec::new())
    }
}

impl<T: Serialize> IntoParts for Json<T> {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(vec![Part::Json(JsonText::of(&self.0)?)])
    }
}

/// Bytes as they are kept in JSON: a list of numbers would take three times the room.
mod bytes {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)
    }
}
