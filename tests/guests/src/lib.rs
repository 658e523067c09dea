//! What several test guests share. Each guest is one file in `src/bin`, built as a component:
//! `cargo build --profile guest --target wasm32-wasip2 -p rewake-test-guests --examples`.
//!
//! Knows how guests behave, well and badly. Does not know what a host must make of it: the suites
//! in `tests` do.

pub mod digest;
pub mod fetching;
pub mod fileops;
pub mod script;
pub mod snoop;
pub mod time;
pub mod versioned;
