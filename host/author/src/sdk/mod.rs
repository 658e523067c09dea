//! The Rust SDK as it lies in an author's bundle: in `.rewake/`, which git ignores, and which a build
//! restores. Knows which files there are and how they are laid; what is built with them is the author's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::lay::lay;

mod files {
    include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));
}

/// The folder in a bundle that holds what `rewake bundle` makes for its builds.
pub const FOLDER: &str = ".rewake";
/// What a Cargo.toml that uses the SDK has in it.
const USES: &str = ".rewake/sdk";
/// How deep below the bundle's folder a Cargo.toml is looked for: its own, and those of its components.
const DEPTH_MAX: usize = 3;

/// The dependencies of the SDK, locked as they were tested, in the form of a Cargo.lock.
pub(crate) fn lock() -> &'static str {
    files::LOCK
}

/// Whether a bundle is built with the SDK.
pub(crate) fn is_used(bundle: &Path) -> bool {
    bundle.join(FOLDER).is_dir() || manifests(bundle, DEPTH_MAX).iter().any(|path| uses(path))
}

fn uses(manifest: &Path) -> bool {
    fs::read_to_string(manifest).is_ok_and(|text| text.contains(USES))
}

fn manifests(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = vec![folder.join("Cargo.toml")];
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let is_ours = !name.to_string_lossy().starts_with('.') && name != "target" && name != "node_modules";
        if depth > 1 && is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(manifests(&entry.path(), depth - 1));
        }
    }
    found
}

/// Lays the SDK into a bundle's folder, as this program has it. Files that are as they must be are left
/// alone, so that nothing is built again for them; others that an earlier version had there go.
///
/// # Errors
/// If a file cannot be written.
pub fn restore(bundle: &Path) -> io::Result<()> {
    let folder = bundle.join(FOLDER);
    for (path, text) in files::FILES {
        lay(&folder.join(path), text.as_bytes())?;
    }
    for part in ["sdk", "wit"] {
        sweep(&folder.join(part), &folder)?;
    }
    Ok(())
}

/// Takes away what is none of the SDK's files.
fn sweep(folder: &Path, base: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            sweep(&path, base)?;
            continue;
        }
        let name = path.strip_prefix(base).ok().and_then(Path::to_str);
        if !files::FILES.iter().any(|(file, _)| Some(*file) == name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
