//! One family of inputs a file: what is decided on them, and how their entries are folded.

pub(crate) mod call;
pub mod firing;
pub(crate) mod gate_hooks;
pub(crate) mod grants;
pub(crate) mod hook;
pub(crate) mod http;
pub(crate) mod inbox;
pub(crate) mod life;
pub(crate) mod logs;
pub(crate) mod model;
pub(crate) mod record;
pub mod room;
pub(crate) mod settings;
pub(crate) mod step;
pub(crate) mod turn;
pub(crate) mod workspace;

/// What folding a fact gives: what is wrong with it, if it cannot be.
pub(crate) type Applied = Result<(), &'static str>;
