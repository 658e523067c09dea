//! Bundles: the manifest, the components it names, and the digests that pin them.
//!
//! Knows what an author packs and checks all of it; every byte is untrusted. Does not compile or
//! run components, and grants nothing: what is asked for is decided on elsewhere.
//!
//! Start with [`Bundle`] (one bundle) and [`Gathering`] (a bundle and those it uses).

mod asks;
mod component;
mod digest;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gather;
pub(crate) mod limits;
mod load;
mod locator;
mod lock;
mod manifest;
mod matcher;
mod names;
mod pack;
mod script;
mod set;
#[cfg(test)]
mod tests;
mod tools;

pub use asks::{Asks, FsAsk, HttpAsk, ModelAsk, Secret, fs_source, host, method, model_name};
pub use component::{Inspected, inspect};
pub use gather::{Catalogue, Gathering};
pub use limits::{COMPONENT_BYTES_MAX, TEXT_BYTES_MAX};
pub use load::{Bundle, Component};
pub use locator::Locator;
pub use lock::{LOCK_FILE, ListedTool, Lock, LockedComponent, LockedUse};
pub use manifest::{
    API, Agent, ConfigKey, ConfigType, Declared, Instructions, Limits, MANIFEST_FILE, Manifest, On,
};
pub use matcher::{GrantKind, Matcher};
pub use names::{DataFiles, Name, Use, component_name, duration, size_bytes};
pub use pack::{PACKED_SUFFIX, file_name, pack, require_lock, unpack};
pub use rewake_core::fact::{HookEvent, PluginKind, TriedOn};
pub use script::{Reply, Script, ScriptedUse};
pub use set::BundleSet;
pub use tools::{Chosen, Offer, ToolPick, select};
