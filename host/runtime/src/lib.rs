//! Runs sessions: guests in wasmtime, their imports, and the driver that orders decide, append, apply,
//! effects. Knows no HTTP and no terminal.
//!
//! Start with [`host`], then `driver/mod.rs` and `imports/ambient.rs`.

pub mod approval;
pub mod audit;
pub mod baseline;
pub mod bundle;
mod calls;
pub mod clock;
pub mod compiler;
mod component_cache;
mod components;
pub mod config;
mod context;
mod convert;
mod driver;
pub mod egress;
mod engine;
mod event;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod grants;
mod guest;
mod hooks;
pub mod host;
mod host_calls;
mod imports;
pub mod lease;
pub mod live;
mod load;
mod loaded;
mod logs;
mod mounts;
mod plan;
pub mod providers;
mod record;
pub mod schema;
pub mod sent;
mod side_by_side;
mod slice;
mod spending;
mod step;
mod way_out;
pub mod workbench;
pub mod workspace;

pub use host::{Config, Host, HostError, Import, Made};
pub use loaded::Loaded;
pub use plan::{Approval, NewSession, PlanError};

/// This host's version, as journals and faults name it.
pub const HOST_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The one project that there is without a server.
pub const PROJECT: &str = "default";
