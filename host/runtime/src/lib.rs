//! Runs sessions: guests in wasmtime, their imports, and the driver that orders decide, append, apply,
//! effects. Knows no HTTP and no terminal.
//!
//! Start with [`host`], then `driver/mod.rs` and `imports/ambient.rs`.

mod budget;
mod calls;
mod context;
mod driver;
mod event;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod hooks;
pub mod host;
mod imports;
mod join_all;
mod journal_query;
pub mod lease;
pub mod live;
mod load;
mod loaded;
mod plan;
mod record;
pub(crate) mod replay_check;
mod step;
pub mod workbench;

pub use host::{Config, Host, HostError, HttpMock, Import, Made};
pub use loaded::Loaded;
pub use plan::{Approval, NewSession, PlanError};

/// This host's version, as journals and faults name it.
pub const HOST_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The one project that there is without a server.
pub const PROJECT: &str = "default";
