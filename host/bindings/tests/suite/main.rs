//! The linkers and the Store's data, tried on components written by hand in WebAssembly text.
//!
//! What real guests do is tried in the workspace's own tests; here every byte of the guest is in
//! view, so that a failure is a failure of this crate.

mod ambient;
mod calls;
mod confinement;
mod guest;
mod link;
mod recorder;
