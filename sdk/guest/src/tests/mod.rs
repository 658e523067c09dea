//! The SDK as an author meets it, natively.

mod contract;
mod entries;
mod harness;
mod tools;
mod workspace;
