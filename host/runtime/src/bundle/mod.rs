//! Bundles: the manifest, the components it names, and the digests that pin them.
//!
//! Knows what an author packs and checks all of it; every byte is untrusted. Does not compile or
//! run components, and grants nothing: what is asked for is decided on elsewhere.
//!
//! Start with [`Bundle`] (one bundle) and [`Gathering`] (a bundle and those it uses).

mod asks;
mod component;
mod digest;
mod error;
mod files;
mod gather;
pub(crate) mod limits;
mod load;
mod locator;
mod lock;
mod manifest;
mod matcher;
mod names;
mod pack;
pub mod reader;
mod script;
mod set;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use asks::method;
pub use asks::{Asks, FsAsk, FsSource, HostPattern, HttpAsk, Secret};
pub use component::{CONTRACT, Inspected, inspect};
pub use error::{Error, Invalid, Place, Problem, SourceText, nearest, quote, quote_all};
pub use gather::{Catalogue, Gathering};
pub use limits::{
    BUNDLE_BYTES_MAX, BUNDLES_MAX, COMPONENT_BYTES_MAX, COMPONENTS_MAX, DATA_BYTES_MAX, DATA_FILES_MAX,
    LOCK_BYTES_MAX, MANIFEST_BYTES_MAX, TEXT_BYTES_MAX,
};
pub use load::{Bundle, Component};
pub use locator::Locator;
pub use lock::{LOCK_FILE, ListedTool, Lock, LockedComponent, LockedUse};
pub use manifest::{
    API, Agent, ConfigKey, ConfigType, Declared, HOOK_TIMEOUT_DEFAULT, Instructions, Limits, MANIFEST_FILE,
    Manifest, On, SCHEMA,
};
pub use matcher::{GrantKind, Matcher};
pub use names::{DataFiles, Name, Use};
pub(crate) use names::{component_name, duration, size_bytes};
pub use pack::{PACKED_SUFFIX, file_name, pack, require_lock, unpack};
pub use rewake_core::fact::{HookEvent, PluginKind, TriedOn};
pub use script::{Reply, Script, ScriptedUse};
pub use set::BundleSet;
pub use tools::{Chosen, Offer, ToolPick, select};
