//! Performing: what a use does to the directories of the host. Paths are resolved below an open directory
//! and never lead out of it, by whatever links.
//!
//! It knows files. It does not know whether what it does is recorded.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, IoSlice};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{
    Dir, File, FileExt as _, FileType, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _,
    Permissions, PermissionsExt as _,
};
use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use rewake_wire::entry::{FileAnswer, FileKind, FileStat};

use super::Live;
use super::slots::Slot;
use super::tree::{self, DEPTH_MAX, Inode, inode};
use super::volume::{Changing, Volume};
use crate::clocks::CLOCK_RESOLUTION_NS;

/// Bytes of one read.
pub(super) const READ_BYTES_MAX: u64 = 64 * 1024;

/// Bytes that a name in a listing takes beside its own, about.
pub(super) const NAME_BYTES: usize = 32;

pub(super) type Performed<T> = Result<T, ErrorCode>;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct How {
    pub(super) follow: bool,
    pub(super) create: bool,
    pub(super) directory: bool,
    pub(super) exclusive: bool,
    pub(super) truncate: bool,
    pub(super) read: bool,
    pub(super) write: bool,
}

/// What stands behind a guest's descriptor. One that was answered from a record is opened by its path when
/// it is first really used.
pub(super) struct Node {
    pub(super) volume: Arc<Volume>,
    pub(super) writable: bool,
    /// The mount's name.
    pub(super) mount: String,
    /// Its path in the mount; empty: the mount itself.
    pub(super) path: String,
    pub(super) how: How,
    directory: OnceLock<bool>,
    handle: OnceLock<Handle>,
}

enum Handle {
    Directory(Dir, Slot),
    File(File, Inode, Slot),
}

impl Node {
    pub(super) fn root(volume: Arc<Volume>, mount: String, writable: bool) -> Node {
        let how = How { directory: true, read: true, follow: true, ..How::default() };
        let directory = OnceLock::from(true);
        Node { volume, writable, mount, path: String::new(), how, directory, handle: OnceLock::new() }
    }

    /// What is to be opened below this one.
    pub(super) fn below(&self, path: &str, how: How) -> Node {
        Node {
            volume: self.volume.clone(),
            writable: self.writable,
            mount: self.mount.clone(),
            path: if self.path.is_empty() { path.to_owned() } else { format!("{}/{path}", self.path) },
            how,
            directory: OnceLock::new(),
            handle: OnceLock::new(),
        }
    }

    /// The path that the guest knows it by.
    pub(super) fn name(&self) -> String {
        if self.path.is_empty() { self.mount.clone() } else { format!("{}/{}", self.mount, self.path) }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.directory.get().copied().unwrap_or(false)
    }

    pub(super) fn set_directory(&self, directory: bool) {
        // What it is does not change; the first to say is right.
        let _ = self.directory.set(directory);
    }

    fn handle(&self) -> Performed<&Handle> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        let slot = Slot::take()?;
        let root = self.root_directory()?;
        let handle = if self.path.is_empty() {
            Handle::Directory(root, slot)
        } else {
            let how = How { create: false, exclusive: false, truncate: false, ..self.how };
            self.opened(open(&root, &self.path, how)?, slot)?
        };
        Ok(self.handle.get_or_init(|| handle))
    }

    fn root_directory(&self) -> Performed<Dir> {
        Ok(Dir::open_ambient_dir(self.volume.directory()?, ambient_authority())?)
    }

    fn dir(&self) -> Performed<&Dir> {
        match self.handle()? {
            Handle::Directory(dir, _) => Ok(dir),
            Handle::File(..) => Err(ErrorCode::NotDirectory),
        }
    }

    fn file(&self) -> Performed<(&File, Inode)> {
        match self.handle()? {
            Handle::File(file, inode, _) => Ok((file, *inode)),
            Handle::Directory(..) => Err(ErrorCode::IsDirectory),
        }
    }

    fn opened(&self, file: File, slot: Slot) -> Performed<Handle> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Ok(Handle::Directory(Dir::from_std_file(file.into_std()), slot));
        }
        if self.how.directory {
            return Err(ErrorCode::NotDirectory);
        }
        // Something else has taken its place since it was looked at.
        if !metadata.is_file() {
            return Err(ErrorCode::NotPermitted);
        }
        let inode = inode(&metadata);
        self.volume.opened(inode);
        Ok(Handle::File(file, inode, slot))
    }

    fn changing(&self) -> Performed<Changing<'_>> {
        if self.writable { self.volume.change() } else { Err(ErrorCode::ReadOnly) }
    }

    /// Opens `new`, whose path from here is `path`.
    pub(super) fn open(&self, path: &str, new: &Node) -> Live {
        let how = new.how;
        if how.directory && (how.create || how.exclusive || how.truncate) {
            return Err(ErrorCode::Invalid);
        }
        let dir = self.dir()?;
        let slot = Slot::take()?;
        let file = if how.create || how.truncate || how.write {
            let changing = self.changing()?;
            if how.create && dir.metadata(path).is_err() {
                changing.room_for_one()?;
            }
            let file = open(dir, path, how)?;
            let metadata = file.metadata()?;
            if metadata.is_file() {
                changing.note(inode(&metadata), metadata.len());
            }
            file
        } else {
            open(dir, path, how)?
        };
        let handle = new.opened(file, slot)?;
        let directory = matches!(handle, Handle::Directory(..));
        // A new node is nobody else's yet.
        let _ = new.handle.set(handle);
        Ok(FileAnswer::Opened(directory))
    }

    pub(super) fn stat(&self) -> Live {
        let metadata = match self.handle()? {
            Handle::Directory(dir, _) => dir.dir_metadata()?,
            Handle::File(file, ..) => file.metadata()?,
        };
        Ok(FileAnswer::Stat(stat(&metadata)))
    }

    pub(super) fn stat_at(&self, path: &str, follow: bool) -> Live {
        Ok(FileAnswer::Stat(stat(&metadata_at(self.dir()?, path, follow)?)))
    }

    pub(super) fn hash(&self) -> Live {
        Ok(FileAnswer::Hash(hash(self.inode()?)))
    }

    pub(super) fn hash_at(&self, path: &str, follow: bool) -> Live {
        Ok(FileAnswer::Hash(hash(inode(&metadata_at(self.dir()?, path, follow)?))))
    }

    pub(super) fn is_same(&self, other: &Node) -> Live {
        Ok(FileAnswer::IsSame(self.inode()? == other.inode()?))
    }

    fn inode(&self) -> Performed<Inode> {
        match self.handle()? {
            Handle::Directory(dir, _) => Ok(inode(&dir.dir_metadata()?)),
            Handle::File(_, inode, _) => Ok(*inode),
        }
    }

    pub(super) fn read(&self, offset: u64, length: u64) -> Live {
        let (file, _) = self.file()?;
        if !self.how.read {
            return Err(ErrorCode::BadDescriptor);
        }
        let mut bytes = vec![0; usize::try_from(length.min(READ_BYTES_MAX)).unwrap_or(0)];
        let count = loop {
            match file.read_at(&mut bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        bytes.truncate(count);
        Ok(FileAnswer::read(bytes))
    }

    /// Writes at an offset, or at the end.
    pub(super) fn write(&self, offset: Option<u64>, bytes: &[u8]) -> Live {
        if !self.how.write {
            return Err(ErrorCode::BadDescriptor);
        }
        let (file, inode) = self.file()?;
        let changing = self.changing()?;
        let size = file.metadata()?.len();
        let end = offset.unwrap_or(size).checked_add(bytes.len() as u64).ok_or(ErrorCode::FileTooLarge)?;
        if !bytes.is_empty() {
            changing.room_for(inode, size.max(end))?;
        }
        let written = match offset {
            Some(offset) => file.write_all_at(bytes, offset),
            None => append(file, bytes),
        };
        changing.note(inode, file.metadata()?.len());
        written?;
        Ok(FileAnswer::Written(bytes.len() as u64))
    }

    /// How many bytes a write may have at an offset, or at the end.
    ///
    /// # Errors
    /// If not one.
    pub(super) fn room(&self, offset: Option<u64>) -> Performed<u64> {
        let (_, inode) = self.file()?;
        match self.volume.room(inode, offset) {
            0 => Err(ErrorCode::Quota),
            room => Ok(room),
        }
    }

    pub(super) fn set_size(&self, size: u64) -> Live {
        if !self.how.write {
            return Err(ErrorCode::BadDescriptor);
        }
        let (file, inode) = self.file()?;
        let changing = self.changing()?;
        changing.room_for(inode, size)?;
        file.set_len(size)?;
        changing.note(inode, file.metadata()?.len());
        Ok(FileAnswer::Done)
    }

    pub(super) fn set_times(&self, times: std::fs::FileTimes) -> Live {
        let (file, _) = self.file()?;
        let _changing = self.changing()?;
        file.try_clone()?.into_std().set_times(times)?;
        Ok(FileAnswer::Done)
    }

    pub(super) fn set_times_at(&self, path: &str, follow: bool, times: std::fs::FileTimes) -> Live {
        let dir = self.dir()?;
        let _changing = self.changing()?;
        let how = How { follow, read: true, ..How::default() };
        open(dir, path, how)?.into_std().set_times(times)?;
        Ok(FileAnswer::Done)
    }

    pub(super) fn sync(&self) -> Live {
        if let Handle::File(file, ..) = self.handle()? {
            file.sync_all()?;
        }
        Ok(FileAnswer::Done)
    }

    /// The names here, as long as they take no more than so many bytes together. A guest's names are text:
    /// what has another sort of name it can neither see nor use.
    pub(super) fn list(&self, bytes_max: usize) -> Live {
        let mut names = Vec::new();
        let mut bytes = 0;
        for entry in self.dir()?.entries()? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            bytes += NAME_BYTES + name.len();
            if bytes > bytes_max {
                return Err(ErrorCode::InsufficientMemory);
            }
            names.push((kind(entry.file_type()?), name));
        }
        names.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
        Ok(FileAnswer::Names(names))
    }

    pub(super) fn read_link(&self, path: &str) -> Live {
        let text = self.dir()?.read_link(path)?;
        Ok(FileAnswer::Text(text.into_os_string().into_string().map_err(|_| ErrorCode::IllegalByteSequence)?))
    }

    pub(super) fn create_directory(&self, path: &str) -> Live {
        let dir = self.dir()?;
        let changing = self.changing()?;
        changing.room_for_one()?;
        if self.depth_of(dir, path)? > DEPTH_MAX {
            return Err(ErrorCode::NameTooLong);
        }
        dir.create_dir(path)?;
        changing.note(inode(&dir.symlink_metadata(path)?), 0);
        Ok(FileAnswer::Done)
    }

    pub(super) fn symlink(&self, text: &str, path: &str) -> Live {
        let dir = self.dir()?;
        let changing = self.changing()?;
        changing.room_for_one()?;
        dir.symlink(text, path)?;
        changing.note(inode(&dir.symlink_metadata(path)?), 0);
        Ok(FileAnswer::Done)
    }

    pub(super) fn remove_directory(&self, path: &str) -> Live {
        let dir = self.dir()?;
        let changing = self.changing()?;
        let before = dir.symlink_metadata(path)?;
        dir.remove_dir(path)?;
        changing.removed(inode(&before));
        Ok(FileAnswer::Done)
    }

    pub(super) fn unlink(&self, path: &str) -> Live {
        let dir = self.dir()?;
        let changing = self.changing()?;
        let before = dir.symlink_metadata(path)?;
        dir.remove_file(path)?;
        if before.nlink() <= 1 {
            changing.removed(inode(&before));
        }
        Ok(FileAnswer::Done)
    }

    pub(super) fn rename(&self, path: &str, to: &Node, to_path: &str) -> Live {
        if !Arc::ptr_eq(&self.volume, &to.volume) || self.mount != to.mount {
            return Err(ErrorCode::CrossDevice);
        }
        let (from_dir, to_dir) = (self.dir()?, to.dir()?);
        let changing = self.changing()?;
        let moved = from_dir.symlink_metadata(path.trim_end_matches('/'))?;
        if !moved.is_dir() && (path.ends_with('/') || to_path.ends_with('/')) {
            return Err(ErrorCode::NotDirectory);
        }
        if moved.is_dir() {
            let left = DEPTH_MAX.checked_sub(to.depth_of(to_dir, to_path)?).ok_or(ErrorCode::NameTooLong)?;
            tree::within(&from_dir.open_dir(path)?, left)?;
        }
        let replaced = to_dir.symlink_metadata(to_path).ok();
        if let Some(replaced) = &replaced
            && replaced.is_file()
            && moved.is_file()
            && rights(replaced) != rights(&moved)
        {
            // Guests can neither see nor set rights: a file that takes another's place takes over its rights.
            let _ = from_dir.set_permissions(path, Permissions::from_mode(rights(replaced)));
        }
        from_dir.rename(path, to_dir, to_path)?;
        if let Some(replaced) = replaced
            && inode(&replaced) != inode(&moved)
            && (replaced.is_dir() || replaced.nlink() <= 1)
        {
            changing.removed(inode(&replaced));
        }
        Ok(FileAnswer::Done)
    }

    /// How many directories a directory at `path` is, or would be, inside the mount's own. Names say
    /// nothing of it: they may lead through links.
    fn depth_of(&self, dir: &Dir, path: &str) -> Performed<usize> {
        let parent = match path.trim_end_matches('/').rsplit_once('/') {
            None => ".",
            Some(("", _)) => return Err(ErrorCode::NotPermitted),
            Some((parent, _)) => parent,
        };
        let root = self.root_directory()?.dir_metadata()?;
        Ok(tree::depth(&dir.open_dir(parent)?, inode(&root))? + 1)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(Handle::File(file, inode, _)) = self.handle.get() {
            let is_removed = file.metadata().is_ok_and(|metadata| metadata.nlink() == 0);
            self.volume.closed(*inode, is_removed);
        }
    }
}

fn open(dir: &Dir, path: &str, how: How) -> Performed<File> {
    // Pipes, sockets and devices of the host are not files of a guest, and to open one is to use it.
    match metadata_at(dir, path, how.follow) {
        Ok(found) if found.is_symlink() => return Err(ErrorCode::Loop),
        Ok(found) if !found.is_file() && !found.is_dir() => return Err(ErrorCode::NotPermitted),
        _ => {}
    }
    let follow = if how.follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    // In case that one takes its place now: anyone who opens a pipe would wait for its other end.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | follow;
    let write = how.write || how.create || how.truncate;
    let mut options = OpenOptions::new();
    options
        .read(how.read || !how.write)
        .write(write)
        .create(how.create && !how.exclusive)
        .create_new(how.create && how.exclusive)
        .truncate(how.truncate)
        .custom_flags(flags.bits().cast_signed());
    Ok(dir.open_with(path, &options)?)
}

/// Writes at the end, wherever that is by then: others may append to a host's file too.
fn append(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match pwritev2(file, &[IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // Not every file system knows how.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                let end = file.metadata()?.len();
                return file.write_all_at(bytes, end);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn metadata_at(dir: &Dir, path: &str, follow: bool) -> Performed<Metadata> {
    Ok(if follow { dir.metadata(path)? } else { dir.symlink_metadata(path)? })
}

/// Who may read, write and run it; nothing that lends a user's or a group's rights to anyone who runs it.
fn rights(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o777
}

/// The same on every run of this build; guests use it to tell files apart, nothing else.
fn hash(inode: Inode) -> u64 {
    let mut hasher = DefaultHasher::new();
    inode.hash(&mut hasher);
    hasher.finish()
}

fn kind(kind: FileType) -> FileKind {
    if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::File
    } else if kind.is_symlink() {
        FileKind::Symlink
    } else {
        FileKind::Other
    }
}

/// Times are told as coarsely as clocks are: else a file would be one.
fn stat(metadata: &Metadata) -> FileStat {
    let coarse = |ns: u32| ns - ns % CLOCK_RESOLUTION_NS;
    let time = |time: io::Result<cap_std::time::SystemTime>| {
        let since = time.ok()?.into_std().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some((since.as_secs(), coarse(since.subsec_nanos())))
    };
    let changed = u64::try_from(metadata.ctime()).ok();
    let changed = changed.zip(u32::try_from(metadata.ctime_nsec()).ok().map(coarse));
    FileStat {
        kind: kind(metadata.file_type()),
        links: metadata.nlink(),
        size: metadata.len(),
        times: [time(metadata.accessed()), time(metadata.modified()), changed],
    }
}
