//! JSON as it crosses the plugin contract: text that stays as it was written.
//!
//! Knows how to hold, make and read such text. Does not know what any of it means.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::error::Error;

/// JSON text, kept byte for byte.
///
/// A harness passes on what a model wrote without reading it, and hooks, journal and tool must all
/// see the same bytes; so nothing here is parsed before somebody asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JsonText(String);

impl JsonText {
    /// Writes a value as JSON.
    ///
    /// # Errors
    /// The value has no JSON form, such as a map whose keys are not strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        serde_json::to_string(value)
            .map(Self)
            .map_err(|error| Error::new(format!("this value has no JSON form: {error}")))
    }

    /// Takes text that is JSON already. It is not checked here; [`JsonText::parse`] does that.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        Self(text)
    }

    /// Reads the text as a `T`.
    ///
    /// # Errors
    /// The text is not JSON, or not a `T`; the message names the field.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.0).map_err(|error| Error::new(error.to_string()))
    }

    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself, owned.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

impl Default for JsonText {
    /// The empty object, which is what an absent configuration or input means.
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<serde_json::Value> for JsonText {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string())
    }
}

/// A tool's output that is sent to the model as JSON.
///
/// ```
/// use rewake_sdk::prelude::*;
///
/// #[derive(Serialize)]
/// struct Size {
///     words: usize,
/// }
///
/// fn answer() -> Result<Json<Size>, ToolError> {
///     Ok(Json(Size { words: 3 }))
/// }
/// # assert_eq!(answer().ok().unwrap().0.words, 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);
