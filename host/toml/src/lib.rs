//! Reads TOML files that people write, and reports every problem with its place, the nearest known name and a help line.
//!
//! Start with [`parse`] and [`Document`]. Does not know what any file means.

mod error;
mod reader;

pub use error::{Error, Invalid, Place, Problem, SourceText, nearest, quote, quote_all};
pub use reader::*;
