//! Compiled components, kept in a private folder outside of the data folder. A file is used only if a key
//! of this machine vouches for its every byte; whatever is wrong with one means compiling again.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rewake_core::ids::Digest;
use tracing::warn;
use wasmtime::component::Component;

use crate::engine::{Engines, Mode};

const MAGIC: &[u8; 8] = b"rewakec1";
/// Bytes of a compiled component that are read back.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The folder of compiled components.
#[derive(Debug)]
pub(crate) struct ComponentCache {
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    key: [u8; 32],
}

impl ComponentCache {
    /// Opens the cache, and makes folder and key where there are none. A folder that cannot be used
    /// costs time, not work: components are then compiled whenever they are needed.
    pub(crate) fn open(folder: &Path) -> ComponentCache {
        match open(folder) {
            Ok(place) => ComponentCache { place: Some(place) },
            Err(error) => {
                warn!(folder = %folder.display(), %error, "compiled components are not kept");
                ComponentCache { place: None }
            }
        }
    }

    /// The compiled component, and the engine it is for, if a good one is kept.
    pub(crate) fn get(&self, engines: &Engines, digest: Digest) -> Option<(Component, Mode)> {
        [Mode::Plain, Mode::Concurrent]
            .into_iter()
            .find_map(|mode| self.read(engines, digest, mode).map(|component| (component, mode)))
    }

    fn read(&self, engines: &Engines, digest: Digest, mode: Mode) -> Option<Component> {
        let place = self.place.as_ref()?;
        let path = place.folder.join(file_name(digest, mode));
        let size = fs::metadata(&path).ok()?.len();
        if size > FILE_BYTES_MAX {
            return None;
        }
        let bytes = fs::read(&path).ok()?;
        let runtime = engines.get(mode).ok()?;
        let compiled = bytes.strip_prefix(MAGIC).filter(|rest| rest.len() > 32)?;
        let (mac, compiled) = compiled.split_at(32);
        let expected = place.mac(digest, mode, &compatibility(&runtime.engine), compiled);
        if blake3::Hash::from_slice(mac).ok()? != expected {
            // Also what a newer wasmtime or another processor looks like; not worth a word.
            return None;
        }
        engines.load(mode, compiled).inspect_err(|error| warn!(%error, "a kept component did not load")).ok()
    }

    /// Keeps a compiled component. Failing to is not an error: it is compiled again next time.
    pub(crate) fn put(&self, engines: &Engines, digest: Digest, mode: Mode, compiled: &[u8]) {
        let Some(place) = &self.place else { return };
        let kept = engines.get(mode).map_err(std::io::Error::other).and_then(|runtime| {
            let mac = place.mac(digest, mode, &compatibility(&runtime.engine), compiled);
            place.write(&file_name(digest, mode), mac.as_bytes(), compiled)
        });
        if let Err(error) = kept {
            warn!(%error, "a compiled component is not kept");
        }
    }
}

impl Place {
    fn mac(&self, digest: Digest, mode: Mode, compatibility: &[u8], compiled: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in [digest.0.as_slice(), &[mode as u8], compatibility, compiled] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }

    /// Written beside and renamed: a reader sees all of it or nothing.
    fn write(&self, name: &str, mac: &[u8; 32], compiled: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(MAGIC)?;
        file.write_all(mac)?;
        file.write_all(compiled)?;
        file.persist(self.folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    }
}

fn open(folder: &Path) -> std::io::Result<Place> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let was_open_to_others = !is_private(folder, fs::FileType::is_dir)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    let path = folder.join("key");
    if was_open_to_others {
        // Whoever could write here could have put a key of their own, and files that it vouches for.
        for found in fs::read_dir(folder)?.flatten() {
            fs::remove_file(found.path())?;
        }
    } else if let Ok(true) = is_private(&path, fs::FileType::is_file)
        && let Ok(key) = <[u8; 32]>::try_from(fs::read(&path)?.as_slice())
    {
        return Ok(Place { folder: folder.to_owned(), key });
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    let mut file =
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o600)).tempfile_in(folder)?;
    file.write_all(&key)?;
    // Two processes that make one at the same time keep the later: the other's files are made again.
    file.persist(&path).map_err(|error| error.error)?;
    Ok(Place { folder: folder.to_owned(), key })
}

/// Whether something is what it should be (not a link to it), this user's own, and nobody else's to open.
///
/// # Errors
/// If it is not there, or another user's: that is not ours to mend.
fn is_private(path: &Path, is_kind: impl Fn(&fs::FileType) -> bool) -> std::io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::other(format!("{} belongs to another user", path.display())));
    }
    Ok(is_kind(&found.file_type()) && found.mode() & 0o077 == 0)
}

fn file_name(digest: Digest, mode: Mode) -> String {
    let mode = match mode {
        Mode::Plain => "plain",
        Mode::Concurrent => "concurrent",
    };
    format!("{digest}.{mode}")
}

fn compatibility(engine: &wasmtime::Engine) -> Vec<u8> {
    use std::hash::{Hash as _, Hasher};
    struct Bytes(Vec<u8>);
    impl Hasher for Bytes {
        fn write(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut bytes = Bytes(Vec::new());
    engine.precompile_compatibility_hash().hash(&mut bytes);
    bytes.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(folder: &Path) -> [u8; 32] {
        open(folder).unwrap().key
    }

    #[test]
    fn a_key_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        assert_eq!(key_of(&cache), key_of(&cache));
    }

    #[test]
    fn a_key_that_others_could_have_put_there_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        fs::create_dir(&cache).unwrap();
        fs::write(cache.join("key"), [7; 32]).unwrap();
        fs::write(cache.join("planted.plain"), "x").unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
        assert_ne!(key_of(&cache), [7; 32]);
        assert!(!cache.join("planted.plain").exists());

        // A private folder in which the key alone can be read by others.
        fs::write(cache.join("key"), [7; 32]).unwrap();
        fs::set_permissions(cache.join("key"), fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(key_of(&cache), [7; 32]);
        // A link instead of a key.
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, [7; 32]).unwrap();
        fs::remove_file(cache.join("key")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, cache.join("key")).unwrap();
        assert_ne!(key_of(&cache), [7; 32]);
        assert_eq!(fs::read(&elsewhere).unwrap(), [7; 32], "the link was followed");
    }
}
