//! Compiled components, kept in a private folder outside of the data folder. A file is used only if a key
//! of this machine vouches for its every byte; whatever is wrong with one means compiling again.
//!
//! Knows files. What is compiled when is decided in `components.rs`.

#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rewake_core::ids::Digest;
use rustix::fs::OFlags;
use tracing::warn;
use wasmtime::component::Component;

use crate::engine::{Engines, Mode, compatibility};

const MAGIC: &[u8; 8] = b"rewakec2";
/// The key of this machine.
const KEY: &str = "key";
/// Held by the process that compiles.
const TURN: &str = "turn";
/// Files of bundles, laid out for guests; not this module's.
const BUNDLES: &str = "bundles";
/// Bytes of all compiled components together; beyond that those go that were not used for longest.
const FOLDER_BYTES_MAX: u64 = 4 << 30;
/// How often a turn is asked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The folder of compiled components.
#[derive(Debug)]
pub(crate) struct ComponentCache {
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    /// Held open, and every file reached through it: whatever its path names later, this is the folder that
    /// was checked.
    folder: File,
    key: [u8; 32],
    bytes_max: u64,
}

impl ComponentCache {
    /// Opens the cache, and makes folder and key where there are none. A folder that cannot be used
    /// costs time, not work: components are then compiled whenever they are needed.
    pub(crate) fn open(folder: &Path) -> ComponentCache {
        match Place::open(folder, FOLDER_BYTES_MAX) {
            Ok(place) => ComponentCache { place: Some(place) },
            Err(error) => {
                warn!(folder = %folder.display(), %error, "compiled components are not kept");
                ComponentCache { place: None }
            }
        }
    }

    /// Waits until no other process that uses this folder compiles, and keeps them from it until the answer is
    /// dropped. Blocks. One that holds its turn for longer than `wait_max` is not waited for: turns spare a
    /// machine, and nothing is wrong without them.
    pub(crate) fn turn(&self, wait_max: Duration) -> Option<File> {
        let place = self.place.as_ref()?;
        let turn = place.turn(wait_max);
        turn.inspect_err(|error| warn!(%error, "other processes may compile at the same time")).ok()
    }

    /// The compiled component, and the engine it is for, if a good one is kept.
    pub(crate) fn get(&self, engines: &Engines, digest: Digest) -> Option<(Component, Mode)> {
        let place = self.place.as_ref()?;
        [Mode::Plain, Mode::Concurrent].into_iter().find_map(|mode| {
            let compiled = place.read(digest, mode)?;
            let code = compiled.get(HEAD_BYTES..)?;
            let component = engines.load(mode, code);
            component.inspect_err(|error| warn!(%error, "a kept component did not load")).ok().zip(Some(mode))
        })
    }

    /// Keeps a compiled component. Failing to is not an error: it is compiled again next time.
    pub(crate) fn put(&self, digest: Digest, mode: Mode, compiled: &[u8]) {
        let Some(place) = &self.place else { return };
        if let Err(error) = place.write(digest, mode, compiled) {
            warn!(%error, "a compiled component is not kept");
        }
    }
}

/// What stands before the machine code: magic, and what vouches for it.
const HEAD_BYTES: usize = MAGIC.len() + 32;

impl Place {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Place> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let folder =
            File::options().read(true).custom_flags(OFlags::DIRECTORY.bits().cast_signed()).open(path)?;
        let found = folder.metadata()?;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        let mut place = Place { folder, key: [0; 32], bytes_max };
        place.key = if is_private(&found) { place.kept_key()? } else { place.take_over(&found)? };
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd())).join(name)
    }

    /// The key that is there, or a new one.
    fn kept_key(&self) -> io::Result<[u8; 32]> {
        match self.read_key() {
            Some(key) => Ok(key),
            None => self.new_key(),
        }
    }

    /// A key that nobody else can have written or read.
    fn read_key(&self) -> Option<[u8; 32]> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file =
            File::options().read(true).custom_flags(flags.bits().cast_signed()).open(self.path(KEY)).ok()?;
        let found = file.metadata().ok()?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw() && is_private(&found);
        if !found.is_file() || !is_ours || found.len() != 32 {
            return None;
        }
        let mut key = [0; 32];
        io::Read::read_exact(&mut &file, &mut key).ok()?;
        Some(key)
    }

    fn new_key(&self) -> io::Result<[u8; 32]> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let private = fs::Permissions::from_mode(0o600);
        let mut file = tempfile::Builder::new().permissions(private).tempfile_in(self.path(""))?;
        file.write_all(&key)?;
        match file.persist_noclobber(self.path(KEY)) {
            Ok(_) => Ok(key),
            // Another process was as quick; or it is one that cannot be trusted.
            Err(error) => match self.read_key() {
                Some(key) => Ok(key),
                None => error.file.persist(self.path(KEY)).map(|_| key).map_err(|error| error.error),
            },
        }
    }

    /// Makes a folder that others could have written to private. Whatever they could have put there, a key
    /// of their own and files that it vouches for, goes. One that holds anything else is not taken: it is
    /// somebody's, and its mode is their choice.
    fn take_over(&self, found: &fs::Metadata) -> io::Result<[u8; 32]> {
        let refuse = |why: String| {
            io::Error::other(format!(
                "it is open to others and {why}; name a folder of its own, or `chmod 700` it"
            ))
        };
        if found.mode() & 0o1000 != 0 {
            return Err(refuse("shared by everybody".into()));
        }
        let mut ours = Vec::new();
        for entry in fs::read_dir(self.path(""))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            match name.as_str() {
                KEY | TURN => ours.push(name),
                BUNDLES => {}
                name if is_compiled(name) => ours.push(name.to_owned()),
                other => return Err(refuse(format!("holds {other:?}"))),
            }
        }
        self.folder.set_permissions(fs::Permissions::from_mode(0o700))?;
        let taken =
            ours.iter().try_for_each(|name| fs::remove_file(self.path(name))).and_then(|()| self.new_key());
        if taken.is_err() {
            // What is left of it must not look private the next time.
            self.folder.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777))?;
        }
        taken
    }

    fn turn(&self, wait_max: Duration) -> io::Result<File> {
        let turn =
            File::options().create(true).write(true).truncate(false).mode(0o600).open(self.path(TURN))?;
        let until = Instant::now() + wait_max;
        loop {
            match turn.try_lock() {
                Ok(()) => return Ok(turn),
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(POLL_INTERVAL),
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn mac(&self, digest: Digest, mode: Mode, compiled: &[u8]) -> io::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let engine = compatibility(mode).map_err(io::Error::other)?;
        for part in [digest.0.as_slice(), &[mode as u8], &engine.0, compiled] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Ok(hasher.finalize())
    }

    /// A file that is whole and vouched for, with its head.
    fn read(&self, digest: Digest, mode: Mode) -> Option<Vec<u8>> {
        let file = File::open(self.path(&file_name(digest, mode)?)).ok()?;
        let size = file.metadata().ok()?.len();
        if size > FOLDER_BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        io::Read::read_to_end(&mut io::Read::take(&file, FOLDER_BYTES_MAX), &mut bytes).ok()?;
        let rest = bytes.strip_prefix(MAGIC).filter(|rest| rest.len() > 32)?;
        let (mac, compiled) = rest.split_at(32);
        if blake3::Hash::from_slice(mac).ok()? != self.mac(digest, mode, compiled).ok()? {
            return None;
        }
        // Tells when it was used last; without it it goes a little too early.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Written beside and renamed: a reader sees all of it or nothing.
    fn write(&self, digest: Digest, mode: Mode, compiled: &[u8]) -> io::Result<()> {
        let name = file_name(digest, mode).ok_or_else(|| io::Error::other("the engine has no name"))?;
        let mut file = tempfile::NamedTempFile::new_in(self.path(""))?;
        file.write_all(MAGIC)?;
        file.write_all(self.mac(digest, mode, compiled)?.as_bytes())?;
        file.write_all(compiled)?;
        file.persist(self.path(&name)).map_err(|error| error.error)?;
        self.sweep(&name)
    }

    /// Removes what was not used for longest, and what a process that died left half written, if all
    /// together is too much.
    fn sweep(&self, newest: &str) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(self.path(""))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Ok(found) = entry.metadata()
                && (is_compiled(&name) && name != newest)
            {
                kept.push((found.modified().unwrap_or(SystemTime::UNIX_EPOCH), found.len(), name));
            }
        }
        kept.sort_unstable();
        let newest = fs::metadata(self.path(newest)).map_or(0, |found| found.len());
        let mut total = newest + kept.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
        for (_, bytes, name) in kept {
            if total <= self.bytes_max {
                break;
            }
            fs::remove_file(self.path(&name))?;
            total -= bytes;
        }
        Ok(())
    }
}

/// Whether nobody but its owner can open it.
fn is_private(found: &fs::Metadata) -> bool {
    found.mode() & 0o077 == 0
}

/// The engine's own name is in it: two versions of a host that share a folder keep one each.
fn file_name(digest: Digest, mode: Mode) -> Option<String> {
    let engine = compatibility(mode).ok()?.to_hex();
    Some(format!("{digest}.{}.{}", mode.name(), &engine[..16]))
}

/// Whether it is a name of this module's, or of one that is being written.
fn is_compiled(name: &str) -> bool {
    let is_digest = |text: &str| Digest::from_hex(text).is_some();
    let ends = |rest: &str| [Mode::Plain, Mode::Concurrent].iter().any(|mode| rest.starts_with(mode.name()));
    name.starts_with(".tmp")
        || name.split_once('.').is_some_and(|(digest, rest)| is_digest(digest) && ends(rest))
}
