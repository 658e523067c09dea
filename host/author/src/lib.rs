//! What an author of bundles is helped with: making one, building, checking, testing and packing it. Knows
//! folders, manifests and the sandbox; prints nothing and asks nobody: that is the command line's.

pub mod build;
pub mod call;
pub mod check;
mod lay;
pub mod new;
pub mod pack;
pub mod sdk;
pub mod suite;
