//! A directory behind mounts: what it may hold, and what it holds. One for each directory, shared by every
//! instance that sees it, so that tools that run side by side count together.
//!
//! It counts inodes and their sizes; it opens nothing and knows no guest.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// What a directory may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of its files, holes included.
    pub bytes_max: u64,
    /// Files, directories and links.
    pub files_max: u64,
}

/// A directory of the host, and what it holds.
pub struct Volume {
    /// None: whatever is to be done there is denied.
    directory: Option<PathBuf>,
    quota: Option<Quota>,
    state: Mutex<State>,
    /// Dropped with the volume, and after all that is open in it.
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

/// Device and inode.
pub(super) type Inode = (u64, u64);

#[derive(Debug, Default)]
struct State {
    /// Measured when something is first to be changed; none: without a quota nothing is counted.
    held: Option<Held>,
    /// Files that instances have open: what is removed while it is open frees its room when it is closed.
    open: HashMap<Inode, u32>,
}

/// Sizes are absolute, by inode: whatever order changes are noted in, nothing is freed twice.
#[derive(Debug, Default)]
struct Held {
    sizes: HashMap<Inode, u64>,
    bytes: u64,
}

/// A volume while something in it is changed: nobody else changes it meanwhile.
pub(super) struct Changing<'a> {
    quota: Option<Quota>,
    state: MutexGuard<'a, State>,
}

impl Volume {
    /// A directory, with a quota or without.
    #[must_use]
    pub fn new(directory: PathBuf, quota: Option<Quota>) -> Volume {
        Volume { directory: Some(directory), quota, state: Mutex::default(), _guard: None }
    }

    /// A directory that is there as long as `guard` is.
    #[must_use]
    pub fn guarded(directory: PathBuf, quota: Quota, guard: Box<dyn Any + Send + Sync>) -> Volume {
        Volume { _guard: Some(guard), ..Volume::new(directory, Some(quota)) }
    }

    /// A directory that was granted and is not any more: its mount stays, and every use is denied.
    #[must_use]
    pub fn denied() -> Volume {
        Volume { directory: None, quota: None, state: Mutex::default(), _guard: None }
    }

    /// The directory.
    ///
    /// # Errors
    /// If it is denied.
    pub(super) fn directory(&self) -> Result<&Path, ErrorCode> {
        self.directory.as_deref().ok_or(ErrorCode::NotPermitted)
    }

    /// Begins a change. The first one measures the directory.
    ///
    /// # Errors
    /// If it is denied, or cannot be measured.
    pub(super) fn change(&self) -> Result<Changing<'_>, ErrorCode> {
        let directory = self.directory()?;
        let mut state = self.lock();
        if self.quota.is_some() && state.held.is_none() {
            state.held = Some(measure(directory)?);
        }
        Ok(Changing { quota: self.quota, state })
    }

    /// A file is open in an instance.
    pub(super) fn opened(&self, inode: Inode) {
        *self.lock().open.entry(inode).or_default() += 1;
    }

    /// A file is closed; `is_removed` if it has no name any more.
    pub(super) fn closed(&self, inode: Inode, is_removed: bool) {
        let mut state = self.lock();
        let left = state.open.get(&inode).map_or(0, |count| count - 1);
        if left > 0 {
            state.open.insert(inode, left);
            return;
        }
        state.open.remove(&inode);
        if is_removed && let Some(held) = &mut state.held {
            held.remove(inode);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Volume")
            .field("directory", &self.directory)
            .field("quota", &self.quota)
            .finish_non_exhaustive()
    }
}

impl Changing<'_> {
    /// Whether one more name fits.
    pub(super) fn room_for_one(&self) -> Result<(), ErrorCode> {
        match (self.quota, &self.state.held) {
            (Some(quota), Some(held)) if held.sizes.len() as u64 >= quota.files_max => Err(ErrorCode::Quota),
            _ => Ok(()),
        }
    }

    /// Whether a file may have this size.
    pub(super) fn room_for(&self, inode: Inode, size: u64) -> Result<(), ErrorCode> {
        let (Some(quota), Some(held)) = (self.quota, &self.state.held) else { return Ok(()) };
        let before = held.sizes.get(&inode).copied().unwrap_or(0);
        let total = held.bytes.saturating_sub(before).saturating_add(size);
        if size > before && total > quota.bytes_max { Err(ErrorCode::Quota) } else { Ok(()) }
    }

    /// Whether not one byte more fits.
    pub(super) fn is_full(&self) -> bool {
        match (self.quota, &self.state.held) {
            (Some(quota), Some(held)) => held.bytes >= quota.bytes_max,
            _ => false,
        }
    }

    /// A file has this size now.
    pub(super) fn note(&mut self, inode: Inode, size: u64) {
        if let Some(held) = &mut self.state.held {
            held.remove(inode);
            held.sizes.insert(inode, size);
            held.bytes = held.bytes.saturating_add(size);
        }
    }

    /// A file's last name is gone.
    pub(super) fn removed(&mut self, inode: Inode) {
        let state = &mut *self.state;
        if !state.open.contains_key(&inode)
            && let Some(held) = &mut state.held
        {
            held.remove(inode);
        }
    }
}

impl Held {
    fn remove(&mut self, inode: Inode) {
        if let Some(size) = self.sizes.remove(&inode) {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}

/// Counts what is there; follows no link.
fn measure(directory: &Path) -> io::Result<Held> {
    let mut held = Held::default();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            let size = if metadata.is_file() { metadata.len() } else { 0 };
            held.bytes += held.sizes.insert((metadata.dev(), metadata.ino()), size).map_or(size, |_| 0);
        }
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(bytes_max: u64, files_max: u64) -> (tempfile::TempDir, Volume) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/a"), "12345").unwrap();
        let volume = Volume::new(dir.path().to_owned(), Some(Quota { bytes_max, files_max }));
        (dir, volume)
    }

    #[test]
    fn what_is_there_counts() {
        let (_dir, volume) = volume(6, 3);
        let mut changing = volume.change().unwrap();
        assert!(changing.room_for_one().is_ok());
        assert!(changing.room_for((0, 1), 1).is_ok());
        assert!(changing.room_for((0, 1), 2).is_err());
        changing.note((0, 1), 1);
        assert!(changing.room_for_one().is_err());
        assert!(changing.is_full());
        changing.removed((0, 1));
        assert!(changing.room_for_one().is_ok() && !changing.is_full());
    }

    #[test]
    fn an_open_file_frees_its_room_when_it_is_closed() {
        let (_dir, volume) = volume(10, 10);
        volume.opened((0, 1));
        volume.opened((0, 1));
        let mut changing = volume.change().unwrap();
        changing.note((0, 1), 5);
        changing.removed((0, 1));
        drop(changing);
        volume.closed((0, 1), true);
        assert!(volume.change().unwrap().is_full());
        volume.closed((0, 1), true);
        assert!(!volume.change().unwrap().is_full());
    }
}
