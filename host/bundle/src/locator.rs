//! How a bundle is named on a command line: a folder, a packed file, or one that is installed.
//!
//! Knows the forms and looks at no more than whether a folder is there. Opens nothing.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::load::Bundle;
use super::manifest::MANIFEST_FILE;
use super::names::Name;
use super::pack::PACKED_SUFFIX;
use rewake_toml::{Error, Invalid};

/// Where a bundle is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locator {
    /// A folder with a manifest in it.
    Folder(PathBuf),
    /// A file that `rewake bundle pack` made.
    Packed(PathBuf),
    /// An installed bundle, and the versions that will do.
    Installed(Name, semver::VersionReq),
}

impl Locator {
    /// Reads `./words`, `words-0.1.0.rewake`, `acme/words` or `acme/words@0.1`. What could be a folder and a
    /// name is the folder, if there is one with a manifest.
    ///
    /// # Errors
    /// If it is a name with versions that are none.
    pub fn parse(text: &OsStr) -> Result<Locator, Invalid> {
        let path = Path::new(text);
        let is_rooted = |text: &str| text.starts_with('/') || text.starts_with('.');
        match text.to_str() {
            _ if is_packed(path) => Ok(Locator::Packed(path.to_owned())),
            Some(text) if !is_rooted(text) && !path.join(MANIFEST_FILE).exists() => named(text),
            _ => Ok(Locator::Folder(path.to_owned())),
        }
    }

    /// Reads the bundle in the folder or the file.
    ///
    /// # Errors
    /// If it is not as it must be; or installed: who has the store has that.
    pub fn read(&self) -> Result<Bundle, Error> {
        match self {
            Locator::Folder(path) => Bundle::load(path),
            Locator::Packed(path) => super::pack::load(path),
            Locator::Installed(..) => {
                let message = "an installed bundle is not to be read from a file";
                Err(Error::whole_file(self.to_string(), message, None))
            }
        }
    }

    /// The folder or the file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Locator::Folder(path) | Locator::Packed(path) => Some(path),
            Locator::Installed(..) => None,
        }
    }
}

/// A name with or without versions; what has no form of a name is taken for a folder, which is then found
/// missing.
fn named(text: &str) -> Result<Locator, Invalid> {
    let (name, wanted) = text.split_once('@').unwrap_or((text, "*"));
    let Ok(name) = name.parse::<Name>() else { return Ok(Locator::Folder(text.into())) };
    Ok(Locator::Installed(name, super::names::versions(wanted)?))
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PACKED_SUFFIX)
}

impl Default for Locator {
    /// The current folder.
    fn default() -> Locator {
        Locator::Folder(PathBuf::from("."))
    }
}

/// A path is a folder, or a packed file by its ending.
impl From<PathBuf> for Locator {
    fn from(path: PathBuf) -> Locator {
        if is_packed(&path) { Locator::Packed(path) } else { Locator::Folder(path) }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Locator::Folder(path) | Locator::Packed(path) => path.display().fmt(f),
            Locator::Installed(name, wanted) if *wanted == semver::VersionReq::STAR => name.fmt(f),
            Locator::Installed(name, wanted) => write!(f, "{name}@{wanted}"),
        }
    }
}
