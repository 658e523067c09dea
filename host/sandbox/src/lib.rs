//! Where guests run: engines, compiled components, one call of a tool or a hook, the folders behind mounts, and the
//! requests that a guest makes. Every instance has exactly its grants.
//!
//! Start with [`guest`] and [`components`]. Does not know the journal: what is recorded of a call is the caller's.

pub mod baseline;
pub mod clock;
pub mod compiler;
mod component_cache;
pub mod components;
pub mod convert;
pub mod engine;
mod file_audit;
pub mod guest;
pub mod host_calls;
pub mod http_client;
pub mod lease_deadline;
pub mod logs;
pub mod mounts;
pub mod workspace;
