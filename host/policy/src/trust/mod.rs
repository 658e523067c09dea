//! The trust key of this machine. It vouches for approvals and for data folders, because whatever is in a data folder
//! may come from elsewhere (ADR 18). It protects against foreign data, not against other programs of the same user.

mod folder;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rewake_core::ids::{Digest, SessionId};
use rewake_toml::Error;

pub use folder::FOLDER_FILE;

/// The key's file in the folder of this program's state.
pub const KEY_FILE: &str = "trust.key";
/// The environment variable that names another file.
pub const KEY_VARIABLE: &str = "REWAKE_TRUST";
/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// What group and others may do with a file.
const OTHERS: u32 = 0o077;
/// What the key vouches for. Neither is the beginning of the other.
const APPROVAL: &str = "rewake approval v1";
const FOLDER: &str = "rewake folder v1";

/// Where the trust key is. Nothing is read or made before it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustKey {
    /// None: this user has no home folder.
    file: Option<PathBuf>,
    /// An operator named it, perhaps for several machines: it is never made here.
    is_named: bool,
}

/// The bytes of a key. They are never shown.
pub struct Key([u8; KEY_BYTES]);

/// An approval of what one bundle of a session is granted.
#[derive(Clone, Copy, Debug)]
pub struct Approved<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The hash of the entry that pins the grants.
    pub entry: &'a Digest,
    /// The bundle.
    pub bundle: &'a Digest,
    /// What is granted, as the entry writes it.
    pub grants: &'a [u8],
    /// Who approved; empty: the operator's rules.
    pub by: &'a str,
}

impl TrustKey {
    /// The key in a folder of this program's state, which is made at its first use.
    pub fn in_state(folder: Option<&Path>) -> TrustKey {
        TrustKey { file: folder.map(|folder| folder.join(KEY_FILE)), is_named: false }
    }

    /// A key that an operator names. It must be there.
    pub fn named(file: &Path) -> TrustKey {
        TrustKey { file: Some(file.to_owned()), is_named: true }
    }

    /// The key that is named outside of the rules; else the one that the rules name; else this one.
    #[must_use]
    pub fn or(self, in_rules: Option<&Path>) -> TrustKey {
        match in_rules {
            Some(file) if !self.is_named => TrustKey::named(file),
            _ => self,
        }
    }

    /// Its file.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Reads the key; none, if it was never made.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is not 32 bytes long.
    pub fn read(&self) -> Result<Option<Key>, Error> {
        let Some(path) = &self.file else { return Ok(None) };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound && !self.is_named => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let help =
                    format!("make it with `(umask 077; head -c 32 /dev/urandom > {})`", path.display());
                return Err(wrong(path, "there is no trust key here".into(), help));
            }
            Err(error) => return Err(unreadable(path, &error)),
        };
        let found = file.metadata().map_err(|error| unreadable(path, &error))?;
        let shown = path.display();
        if !found.is_file() {
            return Err(wrong(path, "the trust key is not a regular file".into(), name_another()));
        }
        let own = rustix::process::geteuid().as_raw();
        if found.uid() != own && found.uid() != 0 {
            let help = format!("`chown` it to the user that runs rewake, or {}", name_another());
            return Err(wrong(path, "the trust key belongs to another user".into(), help));
        }
        if found.mode() & OTHERS != 0 {
            let message =
                format!("the trust key has the mode {:o}, so others can use it", found.mode() & 0o777);
            return Err(wrong(path, message, format!("if no one else has read it: `chmod 600 {shown}`")));
        }
        let mut bytes = Vec::new();
        let read = file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(path, &error))?;
        let key = <[u8; KEY_BYTES]>::try_from(bytes).map_err(|_| {
            let message = format!("the trust key is not {KEY_BYTES} bytes long");
            let help = "restore it from a copy, or remove it: approvals and rules are then confirmed again";
            wrong(path, message, help.into())
        })?;
        Ok(Some(Key(key)))
    }

    /// Reads the key, or makes it.
    ///
    /// # Errors
    /// As [`TrustKey::read`]; or it cannot be made.
    pub fn read_or_make(&self) -> Result<Key, Error> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        let Some(path) = &self.file else {
            let message = "there is no home folder for the trust key".to_owned();
            return Err(Error::whole_file(KEY_FILE, message, Some(name_another())));
        };
        make(path)
            .map_err(|error| wrong(path, format!("the trust key cannot be made: {error}"), name_another()))?;
        // Another process may have made it first.
        let gone = || wrong(path, "the trust key is gone again".into(), name_another());
        self.read()?.ok_or_else(gone)
    }
}

impl Key {
    /// Vouches for an approval.
    pub fn vouch(&self, approved: &Approved<'_>) -> Digest {
        self.mac(
            APPROVAL,
            &[
                approved.session.as_str().as_bytes(),
                &approved.entry.0,
                &approved.bundle.0,
                approved.grants,
                approved.by.as_bytes(),
            ],
        )
    }

    /// Whether this key vouched for an approval.
    pub fn has_vouched(&self, approved: &Approved<'_>, mac: &Digest) -> bool {
        is_equal(&self.vouch(approved), mac)
    }

    fn mac(&self, domain: &str, parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(domain.as_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(*hasher.finalize().as_bytes())
    }
}

/// In a time that does not depend on the bytes.
fn is_equal(one: &Digest, other: &Digest) -> bool {
    blake3::Hash::from_bytes(one.0) == blake3::Hash::from_bytes(other.0)
}

/// Makes the file whole or not at all; one that is there stays.
fn make(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    match write(path, &key, false) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Writes a file, whole or not at all, with the mode 0600.
fn write(path: &Path, bytes: &[u8], replaces: bool) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(".new.").tempfile_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    let done = if replaces { new.persist(path) } else { new.persist_noclobber(path) };
    done.map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

fn wrong(path: &Path, message: String, help: String) -> Error {
    Error::whole_file(path.display().to_string(), message, Some(help))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    wrong(path, format!("the trust key cannot be read: {error}"), name_another())
}

fn name_another() -> String {
    format!("name another file with {KEY_VARIABLE}")
}
