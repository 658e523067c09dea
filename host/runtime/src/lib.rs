//! Runs sessions: guests in wasmtime, their imports, and the driver that orders
//! decide, append, apply, effects. Knows no HTTP and no terminal.

pub mod bundle;
pub mod providers;
