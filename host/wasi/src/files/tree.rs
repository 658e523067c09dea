//! The shape of a tree of directories: what is in it, and how deep it goes. Walks from one open directory to
//! the next, so that no path is too long for it, and follows no link.
//!
//! It looks; it changes nothing.

use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use rustix::fs::{Mode, OFlags, openat};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::disk::Performed;
use super::volume::Held;

/// Directories inside each other below a mount. Whoever cleans up, measures or copies a tree may hold each
/// of them open at once.
pub const DEPTH_MAX: usize = 128;

/// Device and inode.
pub(super) type Inode = (u64, u64);

pub(super) fn inode(metadata: &Metadata) -> Inode {
    (metadata.dev(), metadata.ino())
}

/// How many directories lead from `root` to `dir`.
///
/// # Errors
/// If they are too many.
pub(super) fn depth(dir: &Dir, root: Inode) -> Performed<usize> {
    let mut at = dir.try_clone()?;
    for depth in 0..=DEPTH_MAX {
        if inode(&at.dir_metadata()?) == root {
            return Ok(depth);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let up = openat(&at, "..", flags, Mode::empty()).map_err(std::io::Error::from)?;
        at = Dir::from_std_file(up.into());
    }
    Err(ErrorCode::NameTooLong)
}

/// Checks that in `dir` at most so many directories are inside each other.
///
/// # Errors
/// If there are more.
pub(super) fn within(dir: &Dir, levels: usize) -> Performed<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let left = levels.checked_sub(1).ok_or(ErrorCode::NameTooLong)?;
            within(&entry.open_dir()?, left)?;
        }
    }
    Ok(())
}

/// Counts what is there.
///
/// # Errors
/// If it cannot be read, or goes too deep.
pub(super) fn measure(directory: &Path) -> Performed<Held> {
    let mut held = Held::default();
    count(&Dir::open_ambient_dir(directory, ambient_authority())?, &mut held, DEPTH_MAX)?;
    Ok(held)
}

fn count(dir: &Dir, held: &mut Held, levels: usize) -> Performed<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        held.note(inode(&metadata), if metadata.is_file() { metadata.len() } else { 0 });
        if metadata.is_dir() {
            let left = levels.checked_sub(1).ok_or(ErrorCode::NameTooLong)?;
            count(&entry.open_dir()?, held, left)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_a_depth() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("file"), "123").unwrap();
        std::os::unix::fs::symlink("/", path.join("link")).unwrap();
        let open = |path: &Path| Dir::open_ambient_dir(path, ambient_authority()).unwrap();
        let (root, deep) = (open(dir.path()), open(&path));
        let top = inode(&root.dir_metadata().unwrap());
        assert_eq!((depth(&root, top), depth(&deep, top)), (Ok(0), Ok(3)));
        assert_eq!(depth(&root, (0, 0)), Err(ErrorCode::NameTooLong), "it went on past the root");
        assert_eq!((within(&root, 3), within(&root, 2)), (Ok(()), Err(ErrorCode::NameTooLong)));
        assert!(measure(dir.path()).is_ok());
    }
}
