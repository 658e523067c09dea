//! Models that a session can be configured with.

pub mod script;
