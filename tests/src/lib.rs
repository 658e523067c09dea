//! The world that the suites run in: bundles made of the test guests, hosts over throw-away data folders,
//! a store that breaks off where it is told to, and what a session's journal says in short.

pub mod bundles;
pub mod cut;
pub mod journal;
pub mod world;

pub use cut::CutStore;
pub use world::{Outcome, World};
