//! The world that the suites run in: bundles made of the test guests, hosts over throw-away data folders,
//! stores that break off or read badly where they are told to, and what a session's journal says in short.

pub mod bundles;
pub mod chooser;
pub mod forge;
pub mod hostile;
pub mod journal;
pub mod play;
pub mod played;
pub mod preload;
pub mod program;
pub mod running;
pub mod server;
pub mod tamper;
pub mod terminal;
pub mod tmux;
pub mod world;

pub use rewake_store::CutStore;
pub use running::Running;
pub use world::{Outcome, World};
