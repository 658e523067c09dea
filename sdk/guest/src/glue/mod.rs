//! Between the author's types and the contract's: only in a component.
//!
//! Knows both sides and translates. Decides nothing: what can be decided without a host is in
//! modules that are tested natively.

mod export;
mod import;
mod shapes;

pub use export::{Slot, call_tool, handle_hook, list_tools, load_harness, save_harness, step_harness};
pub(crate) use import::{fetch, log, session};
