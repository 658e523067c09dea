//! What a loss of power takes: the writes to the rules' files since each was last synced. Kept only where a rule
//! may need it. Knows writes at a place (`pwrite`), which is what SQLite makes; not what is appended by `write`.

use std::fs::{File, OpenOptions};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd as _, RawFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A write that can be canceled.
struct Done {
    path: PathBuf,
    at: u64,
    /// What was there.
    before: Vec<u8>,
    /// How long the file was.
    length: u64,
}

static SINCE: Mutex<Vec<Done>> = Mutex::new(Vec::new());

/// Keeps what a write is going to replace.
pub(crate) fn before(file: RawFd, path: &Path, at: u64, count: usize) {
    if !crate::rules::take_back() {
        return;
    }
    // SAFETY: the program has it open, and is in the middle of a call on it. It is not closed here: that would let
    // go of the locks that the program has on the file, as closing another handle of it would.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(file) });
    let length = file.metadata().map_or(0, |data| data.len());
    let mut before = vec![0; count];
    let read = file.read_at(&mut before, at).unwrap_or(0);
    before.truncate(read);
    let done = Done { path: path.to_owned(), at, before, length };
    SINCE.lock().unwrap_or_else(PoisonError::into_inner).push(done);
}

/// The file's writes are on the disk.
pub(crate) fn synced(path: &Path) {
    SINCE.lock().unwrap_or_else(PoisonError::into_inner).retain(|done| done.path != path);
}

/// Cancels what was written and not synced: all of it, or, of so many parts, what comes after the first.
pub(crate) fn lose(parts: usize) {
    // Not held any more: what is written below is a write to such a file as well.
    let mut since = std::mem::take(&mut *SINCE.lock().unwrap_or_else(PoisonError::into_inner));
    let kept = since.len().checked_div(parts).unwrap_or(0);
    for done in since.drain(kept..).rev() {
        // What cannot be canceled makes the test's world another than it says: then nothing goes on.
        let file = OpenOptions::new().write(true).open(&done.path).expect("a file that was written");
        file.write_all_at(&done.before, done.at).expect("taken back");
        file.set_len(done.length).expect("taken back");
    }
}
