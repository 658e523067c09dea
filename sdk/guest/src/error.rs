//! The error of everything that is not a tool: a message for a person.
//!
//! Knows how any error becomes one. Does not know who reads it.

use std::fmt;

/// `Result` with this crate's [`Error`] unless another is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in words.
///
/// It is made from any standard error by `?`. For that reason it does not itself implement
/// [`std::error::Error`].
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error with this message: say what was wrong and what to do.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0
    }

    /// The same error with what was being done put before it.
    #[must_use]
    pub fn context(self, doing: impl fmt::Display) -> Self {
        Self(format!("{doing}: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?})", self.0)
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
