//! A directory behind mounts: what it may hold, and what it holds. One for each directory, shared by every
//! instance that sees it, so that tools that run side by side count together.
//!
//! It counts inodes and their sizes; it changes nothing and knows no guest.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::tree::{self, Inode};

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
    /// Held while something in it is changed, and so for as long as a disk takes.
    turn: Mutex<()>,
    /// Held for a moment.
    state: Mutex<State>,
    /// Dropped with the volume, and after all that is open in it.
    guard: Option<Box<dyn Any + Send + Sync>>,
}

#[derive(Debug, Default)]
struct State {
    /// Measured when something is first to be changed; none: without a quota nothing is counted.
    held: Option<Held>,
    /// Files that instances have open: what is removed while it is open frees its room when it is closed.
    open: HashMap<Inode, u32>,
}

/// Sizes are absolute, by inode: whatever order changes are noted in, nothing is freed twice.
#[derive(Debug, Default)]
pub(super) struct Held {
    sizes: HashMap<Inode, u64>,
    bytes: u64,
}

/// A volume while something in it is changed: nobody else changes it meanwhile.
pub(super) struct Changing<'a> {
    volume: &'a Volume,
    _turn: MutexGuard<'a, ()>,
}

impl Volume {
    /// A directory, with a quota or without.
    #[must_use]
    pub fn new(directory: PathBuf, quota: Option<Quota>) -> Volume {
        Volume { directory: Some(directory), quota, ..Volume::denied() }
    }

    /// A directory that is there as long as `guard` is.
    #[must_use]
    pub fn guarded(directory: PathBuf, quota: Quota, guard: Box<dyn Any + Send + Sync>) -> Volume {
        Volume { guard: Some(guard), ..Volume::new(directory, Some(quota)) }
    }

    /// Whether something goes with it: dropping it then takes as long as that takes.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// A directory that was granted and is not any more: its mount stays, and every use is denied.
    #[must_use]
    pub fn denied() -> Volume {
        Volume { directory: None, quota: None, turn: Mutex::default(), state: Mutex::default(), guard: None }
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
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.quota.is_some() && self.lock().held.is_none() {
            let held = tree::measure(directory)?;
            self.lock().held = Some(held);
        }
        Ok(Changing { volume: self, _turn: turn })
    }

    /// How many bytes a write to a file may have at an offset, or at its end.
    pub(super) fn room(&self, inode: Inode, offset: Option<u64>) -> u64 {
        let state = self.lock();
        let (Some(quota), Some(held)) = (self.quota, &state.held) else { return u64::MAX };
        let size = held.size(inode);
        let free = quota.bytes_max.saturating_sub(held.bytes);
        size.saturating_add(free).saturating_sub(offset.unwrap_or(size))
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
        match (self.volume.quota, &self.volume.lock().held) {
            (Some(quota), Some(held)) if held.sizes.len() as u64 >= quota.files_max => Err(ErrorCode::Quota),
            _ => Ok(()),
        }
    }

    /// Whether a file may have this size.
    pub(super) fn room_for(&self, inode: Inode, size: u64) -> Result<(), ErrorCode> {
        let state = self.volume.lock();
        let (Some(quota), Some(held)) = (self.volume.quota, &state.held) else { return Ok(()) };
        let before = held.size(inode);
        let total = held.bytes.saturating_sub(before).saturating_add(size);
        if size > before && total > quota.bytes_max { Err(ErrorCode::Quota) } else { Ok(()) }
    }

    /// A file has this size now.
    pub(super) fn note(&self, inode: Inode, size: u64) {
        if let Some(held) = &mut self.volume.lock().held {
            held.note(inode, size);
        }
    }

    /// A file's last name is gone.
    pub(super) fn removed(&self, inode: Inode) {
        let state = &mut *self.volume.lock();
        if !state.open.contains_key(&inode)
            && let Some(held) = &mut state.held
        {
            held.remove(inode);
        }
    }
}

impl Held {
    /// A file has this size, whatever it had before.
    pub(super) fn note(&mut self, inode: Inode, size: u64) {
        self.remove(inode);
        self.sizes.insert(inode, size);
        self.bytes = self.bytes.saturating_add(size);
    }

    fn size(&self, inode: Inode) -> u64 {
        self.sizes.get(&inode).copied().unwrap_or(0)
    }

    fn remove(&mut self, inode: Inode) {
        if let Some(size) = self.sizes.remove(&inode) {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        let changing = volume.change().unwrap();
        assert!(changing.room_for_one().is_ok());
        assert!(changing.room_for((0, 1), 1).is_ok());
        assert!(changing.room_for((0, 1), 2).is_err());
        changing.note((0, 1), 1);
        assert!(changing.room_for_one().is_err());
        assert_eq!(volume.room((0, 1), None), 0);
        changing.removed((0, 1));
        assert!(changing.room_for_one().is_ok());
        assert_eq!(volume.room((0, 1), None), 1);
    }

    /// What is there already can be written over in a full volume; holes count.
    #[test]
    fn room_is_of_a_place_in_a_file() {
        let (_dir, volume) = volume(15, 10);
        volume.change().unwrap().note((0, 1), 7);
        assert_eq!(
            [None, Some(0), Some(7), Some(9), Some(10)].map(|at| volume.room((0, 1), at)),
            [3, 10, 3, 1, 0]
        );
        volume.change().unwrap().note((0, 1), 10);
        assert_eq!([None, Some(4), Some(20)].map(|at| volume.room((0, 1), at)), [0, 6, 0]);
    }

    #[test]
    fn an_open_file_frees_its_room_when_it_is_closed() {
        let (_dir, volume) = volume(10, 10);
        volume.opened((0, 1));
        volume.opened((0, 1));
        let changing = volume.change().unwrap();
        changing.note((0, 1), 5);
        changing.removed((0, 1));
        // Files are closed while something else is being changed.
        volume.closed((0, 1), true);
        assert_eq!(volume.room((0, 2), None), 0);
        volume.closed((0, 1), true);
        assert_eq!(volume.room((0, 2), None), 5);
    }
}
