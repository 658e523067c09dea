//! The SDK as an author meets it, natively.

mod contract;
#[cfg(feature = "entries")]
mod entries;
mod harness;
mod tools;
mod workspace;
