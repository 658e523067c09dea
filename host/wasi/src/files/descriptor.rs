//! `wasi:filesystem/types` and `preopens`: each function as a use, asked and told.
//!
//! What follows from earlier answers alone, such as a descriptor's flags, is answered without asking.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, HostDescriptor,
    HostDirectoryEntryStream, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

use rewake_wire::entry::{FileAnswer, FileKind, FileOp, FileStat};

use super::Access;
use super::disk::{How, NAME_BYTES, Node, READ_BYTES_MAX};
use super::streams::{Failure, FileStream};
use super::{Fd, FileUse, Files, Live, NAMES_BYTES_MAX, bounded, done, misfit};

/// The names of a directory that are not read yet.
struct Names {
    left: VecDeque<(FileKind, String)>,
    /// What all of them took.
    bytes: usize,
}

impl Files<'_> {
    /// A use of an open file itself.
    fn on(&self, fd: &Fd, op: FileOp, detail: String) -> FsResult<(Arc<Node>, FileUse)> {
        let node = self.node(fd).map_err(FsError::trap)?;
        let asked = FileUse { op, path: node.name(), to: String::new(), detail, content: Bytes::new() };
        Ok((node, asked))
    }

    /// A use of something below an open directory.
    fn at(&self, fd: &Fd, op: FileOp, path: &str, detail: &str) -> FsResult<(Arc<Node>, FileUse)> {
        let node = self.node(fd).map_err(FsError::trap)?;
        let path = bounded(format!("{}/{path}", node.name()))?;
        let (to, detail) = (String::new(), detail.to_owned());
        Ok((node, FileUse { op, path, to, detail, content: Bytes::new() }))
    }

    async fn change_at(
        &mut self,
        fd: &Fd,
        op: FileOp,
        path: String,
        live: impl FnOnce(&Node, &str) -> Live + Send + 'static,
    ) -> FsResult<()> {
        let (node, asked) = self.at(fd, op, &path, "")?;
        let answer = self.ask(asked, move || live(&node, &path)).await?;
        done(op, &answer)
    }

    fn stream(&mut self, fd: &Fd, offset: Option<u64>) -> FsResult<FileStream> {
        self.room()?;
        let node = self.node(fd).map_err(FsError::trap)?;
        if node.is_directory() {
            return Err(ErrorCode::IsDirectory.into());
        }
        Ok(FileStream { node, offset })
    }

    fn writer(&mut self, fd: &Fd, offset: Option<u64>) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.stream(fd, offset)?;
        if !stream.node.how.write {
            return Err(ErrorCode::BadDescriptor.into());
        }
        // What fails in a stream reaches a program as an input/output error; here it is told why.
        if let Err(code) = stream.node.room(offset) {
            let (_, asked) = self.on(fd, FileOp::Write, String::new())?;
            self.ask_known(&asked, Err(code))?;
        }
        self.push_output(stream)
    }
}

fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

fn follow_word(flags: PathFlags) -> &'static str {
    if follows(flags) { "follow" } else { "" }
}

fn times(accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<std::fs::FileTimes> {
    let time = |new: NewTimestamp| match new {
        NewTimestamp::NoChange => Ok(None),
        NewTimestamp::Now => Ok(Some(SystemTime::now())),
        NewTimestamp::Timestamp(Datetime { seconds, nanoseconds }) if nanoseconds < 1_000_000_000 => {
            let since = Duration::new(seconds, nanoseconds);
            SystemTime::UNIX_EPOCH.checked_add(since).map(Some).ok_or(ErrorCode::Overflow)
        }
        NewTimestamp::Timestamp(_) => Err(ErrorCode::Invalid),
    };
    let mut times = std::fs::FileTimes::new();
    if let Some(accessed) = time(accessed)? {
        times = times.set_accessed(accessed);
    }
    if let Some(modified) = time(modified)? {
        times = times.set_modified(modified);
    }
    Ok(times)
}

fn stat_out(stat: &FileStat) -> DescriptorStat {
    let time =
        |time: Option<(u64, u32)>| time.map(|(seconds, nanoseconds)| Datetime { seconds, nanoseconds });
    let [accessed, modified, changed] = stat.times;
    DescriptorStat {
        type_: kind_out(stat.kind),
        link_count: stat.links,
        size: stat.size,
        data_access_timestamp: time(accessed),
        data_modification_timestamp: time(modified),
        status_change_timestamp: time(changed),
    }
}

fn kind_out(kind: FileKind) -> DescriptorType {
    match kind {
        FileKind::File => DescriptorType::RegularFile,
        FileKind::Directory => DescriptorType::Directory,
        FileKind::Symlink => DescriptorType::SymbolicLink,
        FileKind::Other => DescriptorType::Unknown,
    }
}

fn hash_out(op: FileOp, answer: &FileAnswer) -> FsResult<MetadataHashValue> {
    match answer {
        FileAnswer::Hash(lower) => Ok(MetadataHashValue { lower: *lower, upper: !*lower }),
        other => misfit(op, other),
    }
}

fn how(path_flags: PathFlags, open: OpenFlags, flags: DescriptorFlags) -> FsResult<How> {
    let synced = DescriptorFlags::FILE_INTEGRITY_SYNC
        | DescriptorFlags::DATA_INTEGRITY_SYNC
        | DescriptorFlags::REQUESTED_WRITE_SYNC;
    if flags.intersects(synced) {
        return Err(ErrorCode::Unsupported.into());
    }
    Ok(How {
        follow: follows(path_flags),
        create: open.contains(OpenFlags::CREATE),
        directory: open.contains(OpenFlags::DIRECTORY),
        exclusive: open.contains(OpenFlags::EXCLUSIVE),
        truncate: open.contains(OpenFlags::TRUNCATE),
        read: flags.contains(DescriptorFlags::READ),
        write: flags.contains(DescriptorFlags::WRITE),
    })
}

fn how_words(how: How) -> String {
    let words = [
        ("follow", how.follow),
        ("create", how.create),
        ("directory", how.directory),
        ("exclusive", how.exclusive),
        ("truncate", how.truncate),
        ("read", how.read),
        ("write", how.write),
    ];
    let words: Vec<&str> = words.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| *word).collect();
    words.join(" ")
}

impl preopens::Host for Files<'_> {
    fn get_directories(&mut self) -> Result<Vec<(Fd, String)>> {
        let mounts = self.opened.mounts.clone();
        let mut directories = Vec::with_capacity(mounts.len());
        for mount in mounts {
            let writable = mount.access == Access::Write;
            let root = Node::root(mount.volume, mount.name.clone(), writable);
            directories.push((self.push(Arc::new(root))?, mount.name));
        }
        Ok(directories)
    }
}

impl types::Host for Files<'_> {
    fn convert_error_code(&mut self, error: FsError) -> Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> Result<Option<ErrorCode>> {
        Ok(self.table.get(&error)?.downcast_ref::<Failure>().map(|failure| failure.0))
    }
}

impl HostDescriptor for Files<'_> {
    async fn advise(&mut self, fd: Fd, _: u64, _: u64, _: Advice) -> FsResult<()> {
        let node = self.node(&fd).map_err(FsError::trap)?;
        if node.is_directory() { Err(ErrorCode::BadDescriptor.into()) } else { Ok(()) }
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.sync(fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        let (node, asked) = self.on(&fd, FileOp::Sync, String::new())?;
        done(FileOp::Sync, &self.ask(asked, move || node.sync()).await?)
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        let node = self.node(&fd).map_err(FsError::trap)?;
        let mut flags = DescriptorFlags::empty();
        for (flag, is_set) in [
            (DescriptorFlags::READ, node.how.read || !node.how.write),
            (DescriptorFlags::WRITE, node.how.write),
            (DescriptorFlags::MUTATE_DIRECTORY, node.is_directory() && node.writable),
        ] {
            if is_set {
                flags |= flag;
            }
        }
        Ok(flags)
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        let is_directory = self.node(&fd).map_err(FsError::trap)?.is_directory();
        Ok(if is_directory { DescriptorType::Directory } else { DescriptorType::RegularFile })
    }

    async fn set_size(&mut self, fd: Fd, size: u64) -> FsResult<()> {
        let (node, asked) = self.on(&fd, FileOp::SetSize, size.to_string())?;
        done(FileOp::SetSize, &self.ask(asked, move || node.set_size(size)).await?)
    }

    async fn set_times(&mut self, fd: Fd, accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<()> {
        let times = times(accessed, modified)?;
        let (node, asked) = self.on(&fd, FileOp::SetTimes, String::new())?;
        done(FileOp::SetTimes, &self.ask(asked, move || node.set_times(times)).await?)
    }

    async fn read(&mut self, fd: Fd, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let length = length.min(READ_BYTES_MAX);
        let (node, asked) = self.on(&fd, FileOp::Read, format!("{offset}+{length}"))?;
        match self.ask(asked, move || node.read(offset, length)).await?.into_bytes() {
            Ok(bytes) => {
                let is_end = bytes.is_empty();
                Ok((bytes, is_end))
            }
            Err(other) => misfit(FileOp::Read, &other),
        }
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        let (node, mut asked) = self.on(&fd, FileOp::Write, offset.to_string())?;
        let content = Bytes::from(bytes);
        asked.content = content.clone();
        match self.ask(asked, move || node.write(Some(offset), &content)).await? {
            FileAnswer::Written(count) => Ok(count),
            other => misfit(FileOp::Write, &other),
        }
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        self.room()?;
        let (node, asked) = self.on(&fd, FileOp::ReadDirectory, String::new())?;
        let bytes_max = NAMES_BYTES_MAX - self.opened.names_bytes.min(NAMES_BYTES_MAX);
        match self.ask(asked, move || node.list(bytes_max)).await? {
            FileAnswer::Names(names) => {
                let bytes = names.iter().map(|(_, name)| NAME_BYTES + name.len()).sum();
                let handle = self.table.push(Names { left: names.into(), bytes })?;
                self.opened.names_bytes += bytes;
                self.opened.count += 1;
                Ok(Resource::new_own(handle.rep()))
            }
            other => misfit(FileOp::ReadDirectory, &other),
        }
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change_at(&fd, FileOp::CreateDirectory, path, Node::create_directory).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        let (node, asked) = self.on(&fd, FileOp::Stat, String::new())?;
        match self.ask(asked, move || node.stat()).await? {
            FileAnswer::Stat(stat) => Ok(stat_out(&stat)),
            other => misfit(FileOp::Stat, &other),
        }
    }

    async fn stat_at(&mut self, fd: Fd, flags: PathFlags, path: String) -> FsResult<DescriptorStat> {
        let (node, asked) = self.at(&fd, FileOp::StatAt, &path, follow_word(flags))?;
        match self.ask(asked, move || node.stat_at(&path, follows(flags))).await? {
            FileAnswer::Stat(stat) => Ok(stat_out(&stat)),
            other => misfit(FileOp::StatAt, &other),
        }
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = times(accessed, modified)?;
        let live = move |node: &Node, path: &str| node.set_times_at(path, follows(flags), times);
        self.change_at(&fd, FileOp::SetTimes, path, live).await
    }

    /// A second name for a file would outlive what is said of the first one; nobody gets one.
    async fn link_at(&mut self, fd: Fd, _: PathFlags, path: String, to: Fd, to_path: String) -> FsResult<()> {
        let (_, mut asked) = self.at(&fd, FileOp::Link, &path, "")?;
        asked.to = self.at(&to, FileOp::Link, &to_path, "")?.1.path;
        done(FileOp::Link, &self.ask(asked, || Err(ErrorCode::NotPermitted)).await?)
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        self.room()?;
        let how = how(path_flags, open_flags, flags)?;
        let (parent, asked) = self.at(&fd, FileOp::Open, &path, &how_words(how))?;
        let node = Arc::new(parent.below(&path, how));
        let new = node.clone();
        let may_change = how.create || how.truncate;
        match self.ask_whether(asked, may_change, move || parent.open(&path, &new)).await? {
            FileAnswer::Opened(directory) => {
                node.set_directory(directory);
                self.push(node).map_err(FsError::trap)
            }
            other => misfit(FileOp::Open, &other),
        }
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        let (node, asked) = self.at(&fd, FileOp::ReadLink, &path, "")?;
        match self.ask(asked, move || node.read_link(&path)).await? {
            FileAnswer::Text(text) => Ok(text),
            other => misfit(FileOp::ReadLink, &other),
        }
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change_at(&fd, FileOp::RemoveDirectory, path, Node::remove_directory).await
    }

    async fn rename_at(&mut self, fd: Fd, path: String, to: Fd, to_path: String) -> FsResult<()> {
        let (node, mut asked) = self.at(&fd, FileOp::Rename, &path, "")?;
        let (to, other) = self.at(&to, FileOp::Rename, &to_path, "")?;
        asked.to = other.path;
        done(FileOp::Rename, &self.ask(asked, move || node.rename(&path, &to, &to_path)).await?)
    }

    async fn symlink_at(&mut self, fd: Fd, text: String, path: String) -> FsResult<()> {
        let (node, mut asked) = self.at(&fd, FileOp::Symlink, &path, "")?;
        asked.to = bounded(text.clone())?;
        done(FileOp::Symlink, &self.ask(asked, move || node.symlink(&text, &path)).await?)
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change_at(&fd, FileOp::Unlink, path, Node::unlink).await
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> Result<bool> {
        let other = self.node(&b)?;
        let (node, mut asked) = self.on(&a, FileOp::IsSame, String::new()).map_err(trap)?;
        asked.to = other.name();
        match self.ask(asked, move || node.is_same(&other)).await {
            Ok(FileAnswer::IsSame(is_same)) => Ok(is_same),
            Ok(answer) => misfit(FileOp::IsSame, &answer).map_err(trap),
            // The function has no error of its own: what cannot be looked at is not the same.
            Err(error) => error.downcast().map(|_| false),
        }
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        let (node, asked) = self.on(&fd, FileOp::Hash, String::new())?;
        hash_out(FileOp::Hash, &self.ask(asked, move || node.hash()).await?)
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let (node, asked) = self.at(&fd, FileOp::HashAt, &path, follow_word(flags))?;
        hash_out(FileOp::HashAt, &self.ask(asked, move || node.hash_at(&path, follows(flags))).await?)
    }

    fn read_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        let stream = self.stream(&fd, Some(offset))?;
        self.push_input(stream)
    }

    fn write_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Some(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, None)
    }

    fn drop(&mut self, fd: Fd) -> Result<()> {
        self.table.delete(Resource::<Arc<Node>>::new_own(fd.rep()))?;
        self.opened.count -= 1;
        Ok(())
    }
}

fn trap(error: FsError) -> wasmtime::Error {
    error.into()
}

impl HostDirectoryEntryStream for Files<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<ReaddirIterator>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let names = self.table.get_mut(&Resource::<Names>::new_borrow(stream.rep()))?;
        Ok(names.left.pop_front().map(|(kind, name)| DirectoryEntry { type_: kind_out(kind), name }))
    }

    fn drop(&mut self, stream: Resource<ReaddirIterator>) -> Result<()> {
        let names = self.table.delete(Resource::<Names>::new_own(stream.rep()))?;
        self.opened.names_bytes -= names.bytes;
        self.opened.count -= 1;
        Ok(())
    }
}
