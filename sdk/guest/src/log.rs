//! Diagnostics, journaled; never content.
//!
//! Outside a component there is no journal: lines go to standard error, where `cargo test` keeps
//! them for tests that fail.

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For who wrote it.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is odd.
    Warn,
    /// Something went wrong.
    Error,
}

/// Writes a line.
pub fn log(level: Level, message: impl AsRef<str>) {
    #[cfg(target_arch = "wasm32")]
    crate::glue::log(level, message.as_ref());
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::print_log(level, message.as_ref());
}

/// Writes a line for who wrote the plugin.
pub fn debug(message: impl AsRef<str>) {
    log(Level::Debug, message);
}

/// Writes a line worth knowing.
pub fn info(message: impl AsRef<str>) {
    log(Level::Info, message);
}

/// Writes a line on something odd.
pub fn warn(message: impl AsRef<str>) {
    log(Level::Warn, message);
}

/// Writes a line on something that went wrong.
pub fn error(message: impl AsRef<str>) {
    log(Level::Error, message);
}
