//! Content: what messages and tool results are made of.
//!
//! Knows the kinds of content and how common values become them. Does not know who sends them.

use serde::Serialize;

pub use rewake_wire::{Base64, Part};

use crate::json::{Json, JsonText};

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
        Ok(vec![self.into()])
    }
}

impl IntoParts for &str {
    fn into_parts(self) -> crate::Result<Vec<Part>> {
        Ok(vec![self.into()])
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
        Ok(vec![Part::json(JsonText::of(&self.0)?.into_text())])
    }
}
