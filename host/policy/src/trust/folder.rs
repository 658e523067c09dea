//! Which data folders this machine knows: each holds a random id and the trust key's voucher for it. The voucher is in
//! the folder, so that a folder that is moved, or restored from a backup, stays known.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rewake_core::ids::Digest;
use rewake_toml::Error;

use super::{FOLDER, Key, TrustKey, is_equal, write, wrong};

/// The file in a data folder with its id and the voucher.
pub const FOLDER_FILE: &str = "folder.id";
/// Bytes of the file at most.
const FILE_BYTES_MAX: u64 = 256;
/// Bytes of an id.
const ID_BYTES: usize = 16;

impl TrustKey {
    /// Whether this machine knows a data folder.
    ///
    /// # Errors
    /// As [`TrustKey::read`].
    pub fn knows(&self, data: &Path) -> Result<bool, Error> {
        let Some((id, mac)) = read(data) else { return Ok(false) };
        let key = self.read()?;
        Ok(key.is_some_and(|key| is_equal(&key.folder(&id), &mac)))
    }

    /// Has this machine know a data folder from now on.
    ///
    /// # Errors
    /// As [`TrustKey::read_or_make`]; or the folder cannot be written.
    pub fn know(&self, data: &Path) -> Result<(), Error> {
        let file = data.join(FOLDER_FILE);
        let unwritable = |error: std::io::Error| {
            let help = "make the folder writable, or name the rules with --config";
            wrong(&file, format!("the data folder's id cannot be written: {error}"), help.into())
        };
        let key = self.read_or_make()?;
        let mut id = [0; ID_BYTES];
        getrandom::fill(&mut id).map_err(|error| unwritable(std::io::Error::other(error)))?;
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("{id} {}\n", key.folder(&id));
        write(&file, text.as_bytes(), true).map_err(unwritable)
    }
}

impl Key {
    fn folder(&self, id: &str) -> Digest {
        self.mac(FOLDER, &[id.as_bytes()])
    }
}

/// A folder's id and the voucher for it; none, if it has no id that can be one.
fn read(data: &Path) -> Option<(String, Digest)> {
    let mut text = String::new();
    File::open(data.join(FOLDER_FILE)).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    let (id, mac) = text.trim_end().split_once(' ')?;
    Some((id.to_owned(), Digest::from_hex(mac)?))
}
