//! One file for one bundle: a plain tar of exactly what the bundle's digest covers. The same bundle gives the
//! same bytes.
//!
//! Knows the form. Reading is of untrusted bytes: it hands out names and bytes, and anyone who makes a bundle of
//! them checks everything else.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use tar::{Archive, Builder, EntryType, Header};

use super::limits::{BUNDLE_BYTES_MAX, COMPONENT_BYTES_MAX, COMPONENTS_MAX, DATA_FILES_MAX, LOCK_BYTES_MAX};
use super::load::Bundle;
use super::lock::LOCK_FILE;
use super::names::file_path;
use rewake_toml::{Error, Invalid, quote};

/// How the name of a packed bundle ends.
pub const PACKED_SUFFIX: &str = "rewake";
/// Files of one bundle: its components, data, manifest, lock, instructions and script.
const FILES_MAX: usize = COMPONENTS_MAX + DATA_FILES_MAX + 4;
/// Bytes of a packed bundle: its files, and a header and padding for each.
const PACKED_BYTES_MAX: u64 = BUNDLE_BYTES_MAX + LOCK_BYTES_MAX + (FILES_MAX as u64 + 2) * 1024;

/// The name of a bundle's packed file: `word-tools-0.1.0.rewake`.
pub fn file_name(bundle: &Bundle) -> String {
    let name = bundle.name().as_str();
    let short = name.split_once('/').map_or(name, |(_, short)| short);
    format!("{short}-{}.{PACKED_SUFFIX}", bundle.manifest().version)
}

/// Packs a bundle.
///
/// # Errors
/// If it has no lock: what is packed is what was built. If a path does not fit the form.
pub fn pack(bundle: &Bundle) -> Result<Vec<u8>, Error> {
    require_lock(bundle)?;
    let mut tar = Builder::new(Vec::new());
    for (path, bytes) in bundle.files() {
        let appended = header(path, bytes.len()).and_then(|header| tar.append(&header, bytes));
        appended.map_err(|error| {
            let message = format!("{} cannot be packed: {error}", quote(path));
            let help = Some("give it a shorter path".to_owned());
            Error::whole_file(bundle.manifest().source().name(), message, help)
        })?;
    }
    tar.into_inner()
        .map_err(|error| Error::whole_file(bundle.manifest().source().name(), error.to_string(), None))
}

/// Refuses a bundle without a lock.
///
/// # Errors
/// With how to get one.
pub fn require_lock(bundle: &Bundle) -> Result<(), Error> {
    match bundle.lock() {
        Some(_) => Ok(()),
        None => Err(Error::whole_file(
            bundle.manifest().source().name(),
            format!("the bundle has no {LOCK_FILE}"),
            Some(
                "run `rewake bundle build`, which writes it; what is packed or installed is what was built"
                    .to_owned(),
            ),
        )),
    }
}

fn header(path: &str, bytes: usize) -> std::io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(path)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    Ok(header)
}

/// Reads a packed bundle's file.
///
/// # Errors
/// If it cannot be read, is not what [`pack`] makes, or its bundle is not as it must be.
pub(super) fn load(file: &Path) -> Result<Bundle, Error> {
    let shown = file.display().to_string();
    let refuse = |message: String| {
        Error::whole_file(
            shown.as_str(),
            message,
            Some("name a file that `rewake bundle pack` made".to_owned()),
        )
    };
    let bytes = read(file).map_err(&refuse)?;
    let files = unpack(&bytes).map_err(|invalid| refuse(invalid.message))?;
    let bundle = Bundle::from_kept(&shown, files)?;
    require_lock(&bundle)?;
    Ok(bundle)
}

fn read(file: &Path) -> Result<Bytes, String> {
    let unreadable = |error: std::io::Error| format!("the packed bundle cannot be read: {error}");
    // A named pipe must not make its reader wait for ever.
    if !std::fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err("is not a regular file".into());
    }
    let file = std::fs::File::open(file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(PACKED_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > PACKED_BYTES_MAX {
        return Err(format!("is larger than {PACKED_BYTES_MAX} bytes"));
    }
    Ok(bytes.into())
}

/// The files in a packed bundle. Only regular files, each once, in order, with plain relative paths.
///
/// # Errors
/// With the first thing that is not as [`pack`] makes it.
pub fn unpack(bytes: &[u8]) -> Result<BTreeMap<String, Bytes>, Invalid> {
    let broken = |error: std::io::Error| Invalid::new(format!("is not a packed bundle: {error}"));
    let mut files: BTreeMap<String, Bytes> = BTreeMap::new();
    let mut archive = Archive::new(bytes);
    let mut end = 0;
    // Raw: no extension of the form is heeded, so that a name or a size is what stands in the header.
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        let path = plain_path(&entry.path_bytes())?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(Invalid::new(format!("holds {}, which is not a regular file", quote(&path))));
        }
        if files.last_key_value().is_some_and(|(last, _)| *last >= path) {
            return Err(Invalid::new(format!("holds {} twice, or out of order", quote(&path))));
        }
        if files.len() == FILES_MAX {
            return Err(Invalid::new(format!("holds more than {FILES_MAX} files")));
        }
        let bytes_max = COMPONENT_BYTES_MAX;
        if entry.size() > bytes_max {
            return Err(Invalid::new(format!(
                "holds {}, which is larger than {bytes_max} bytes",
                quote(&path)
            )));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(broken)?;
        if content.len() as u64 != entry.size() {
            return Err(Invalid::new(format!("is cut off within {}", quote(&path))));
        }
        end = entry.raw_file_position().saturating_add(entry.size());
        files.insert(path, content.into());
    }
    let after = usize::try_from(end).ok().and_then(|end| bytes.get(end..)).unwrap_or_default();
    if after.iter().any(|byte| *byte != 0) {
        return Err(Invalid::new("has other bytes after its last file"));
    }
    if files.is_empty() {
        return Err(Invalid::new("is empty"));
    }
    Ok(files)
}

fn plain_path(bytes: &[u8]) -> Result<String, Invalid> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Invalid::new("holds a path that is no UTF-8 text"));
    };
    match file_path(text) {
        Ok(path) if path == text => Ok(path),
        Ok(_) => Err(Invalid::new(format!("holds the path {}, which is not written plainly", quote(text)))),
        Err(invalid) => Err(Invalid::new(format!("holds a path that cannot be: {}", invalid.message))),
    }
}
