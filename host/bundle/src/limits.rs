//! How large a bundle and its parts may be. Knows only numbers.

/// Bytes of `bundle.toml`.
pub(crate) const MANIFEST_BYTES_MAX: u64 = 256 * 1024;
/// Bytes of `bundle.lock`: it holds the schemas of all tools.
pub(crate) const LOCK_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Bytes of an instructions file or a script.
pub const TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of one component. Python's, the largest measured, are about 18 MB.
pub const COMPONENT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of a file that guests read.
pub(crate) const DATA_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Files that guests read, of one bundle.
pub(crate) const DATA_FILES_MAX: usize = 10_000;
/// Bytes of all files of a bundle together, since they are held in memory at once.
pub(crate) const BUNDLE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Components of one bundle.
pub(crate) const COMPONENTS_MAX: usize = 64;
/// Bundles of one session.
pub(crate) const BUNDLES_MAX: usize = 64;
/// Linear memory that a component can ask for, in bytes: what a 32-bit address reaches.
pub(super) const MEMORY_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes of the path of a mount.
pub(super) const MOUNT_BYTES_MAX: usize = 256;
/// Characters of a tool's name.
pub(super) const TOOL_NAME_CHARS_MAX: usize = 64;
/// The longest timeout that can be written, in milliseconds: a day.
pub(super) const TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;
