//! What an operator allows: `rewake.toml`, the grants that it leaves of what bundles ask for, and approvals.
//!
//! Start with [`config::Rules`] and [`grants`]. Opens no directory for a guest and sends no request.

pub mod approval;
pub mod config;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod grants;
pub mod limits;
pub mod trust;
