//! `bundle pack`: one file for one bundle, laid where it is wanted. What is in the file is the runtime's.

use std::io;
use std::path::{Path, PathBuf};

use rewake_bundle::{Bundle, PACKED_SUFFIX};
use rewake_core::ids::Digest;
use thiserror::Error;

use crate::lay::lay;

/// What was packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The file.
    pub file: PathBuf,
    /// Bytes of it.
    pub bytes: u64,
    /// Files in it.
    pub files: usize,
    /// The bundle's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The bundle's digest.
    pub digest: Digest,
}

/// Why a bundle was not packed.
#[derive(Debug, Error)]
pub enum PackError {
    /// It is not as it must be, or was not built.
    #[error(transparent)]
    Bundle(#[from] rewake_toml::Error),
    /// Nobody would know the file for what it is.
    #[error("{}: a packed bundle's name ends with .{PACKED_SUFFIX}; name it so", file.display())]
    Name {
        /// The name that was asked for.
        file: PathBuf,
    },
    /// It cannot be written.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Packs the bundle in `folder` into `file`; without one, into the current folder, under its name and version.
///
/// # Errors
/// If the bundle is not as its lock says, or the file cannot be written. It is then as it was.
pub fn pack(folder: &Path, file: Option<&Path>) -> Result<Packed, PackError> {
    let bundle = Bundle::load(folder)?;
    let file = file.map_or_else(|| PathBuf::from(rewake_bundle::file_name(&bundle)), Path::to_owned);
    if file.extension().is_none_or(|suffix| suffix != PACKED_SUFFIX) {
        return Err(PackError::Name { file });
    }
    let bytes = rewake_bundle::pack(&bundle)?;
    // A bare name has an empty parent, which is the current folder.
    let place = if file.parent() == Some(Path::new("")) { Path::new(".").join(&file) } else { file.clone() };
    lay(&place, &bytes).map_err(|source| PackError::Io { file: file.clone(), source })?;
    Ok(Packed {
        file,
        bytes: bytes.len() as u64,
        files: bundle.files().count(),
        name: bundle.name().as_str().to_owned(),
        version: bundle.manifest().version.to_string(),
        digest: bundle.digest(),
    })
}
