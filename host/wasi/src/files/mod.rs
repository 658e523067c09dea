//! `wasi:filesystem` as every guest sees it: our own, over directories that are opened by capability.
//!
//! It knows how a call becomes a [`FileUse`], which [`WasiHost`] answers, or has performed here. It does not know what
//! is recorded, or which mounts are granted.
//! `disk.rs` performs, on threads that may wait (`performing.rs`); `volume.rs` counts what a directory holds,
//! `tree.rs` how deep it goes; `descriptor.rs` and `streams.rs` are the interfaces.

mod descriptor;
mod disk;
mod performing;
mod slots;
mod streams;
mod tree;
mod volume;

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use rewake_wire::entry::{FileAnswer, FileOp};
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime::{Result, bail, format_err};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi_io::bindings::wasi::io::streams as wasi_streams;

use crate::WasiData;
use crate::host::WasiHost;
use crate::pace::Pace;
use disk::Node;
use performing::Performing;
use streams::FileStream;
#[cfg(test)]
pub(crate) use streams::{FUNCTIONS as STREAMS, INTERFACE as STREAMS_INTERFACE};
pub use tree::DEPTH_MAX;
pub use volume::{Quota, Volume};

/// Files and streams of files that one instance may have open.
const OPEN_MAX: usize = 384;
/// Bytes of a path.
const PATH_BYTES_MAX: usize = 4096;
/// Bytes of names in the listings that one instance has not read to their ends.
const NAMES_BYTES_MAX: usize = 32 << 20;

/// Whether something may be changed by it, however it is asked for; opening is for who opens to say.
fn changes(op: FileOp) -> bool {
    match op {
        FileOp::Write
        | FileOp::SetSize
        | FileOp::SetTimes
        | FileOp::CreateDirectory
        | FileOp::RemoveDirectory
        | FileOp::Rename
        | FileOp::Unlink
        | FileOp::Symlink
        | FileOp::Link => true,
        FileOp::Open
        | FileOp::Stat
        | FileOp::StatAt
        | FileOp::Read
        | FileOp::ReadDirectory
        | FileOp::ReadLink
        | FileOp::Hash
        | FileOp::HashAt
        | FileOp::IsSame
        | FileOp::Sync => false,
    }
}

/// One use of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// What is done.
    pub op: FileOp,
    /// The path as the guest sees it, from its mount on.
    pub path: String,
    /// The other path of a rename, the text of a link; else empty.
    pub to: String,
    /// What else the call says: flags, offset and length.
    pub detail: String,
    /// The bytes that are written.
    pub content: Bytes,
}

/// Every error code, to find one by its name.
const CODES: [ErrorCode; 37] = [
    ErrorCode::Access,
    ErrorCode::WouldBlock,
    ErrorCode::Already,
    ErrorCode::BadDescriptor,
    ErrorCode::Busy,
    ErrorCode::Deadlock,
    ErrorCode::Quota,
    ErrorCode::Exist,
    ErrorCode::FileTooLarge,
    ErrorCode::IllegalByteSequence,
    ErrorCode::InProgress,
    ErrorCode::Interrupted,
    ErrorCode::Invalid,
    ErrorCode::Io,
    ErrorCode::IsDirectory,
    ErrorCode::Loop,
    ErrorCode::TooManyLinks,
    ErrorCode::MessageSize,
    ErrorCode::NameTooLong,
    ErrorCode::NoDevice,
    ErrorCode::NoEntry,
    ErrorCode::NoLock,
    ErrorCode::InsufficientMemory,
    ErrorCode::InsufficientSpace,
    ErrorCode::NotDirectory,
    ErrorCode::NotEmpty,
    ErrorCode::NotRecoverable,
    ErrorCode::Unsupported,
    ErrorCode::NoTty,
    ErrorCode::NoSuchDevice,
    ErrorCode::Overflow,
    ErrorCode::NotPermitted,
    ErrorCode::Pipe,
    ErrorCode::ReadOnly,
    ErrorCode::InvalidSeek,
    ErrorCode::TextFileBusy,
    ErrorCode::CrossDevice,
];

/// A host directory under a guest's name.
#[derive(Clone, Debug)]
pub struct Mount {
    /// The directory on the host, and what it may hold. It is opened when it is first used.
    pub volume: Arc<Volume>,
    /// The name the guest sees, such as `/workspace`.
    pub name: String,
    /// What the guest may do in it.
    pub access: Access,
}

/// What a guest may do in a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read files and list directories.
    Read,
    /// Also make, change and remove them.
    Write,
}

/// What an instance has open, and what is being done for it.
pub struct Opened {
    mounts: Vec<Mount>,
    streams: HashMap<u32, FileStream>,
    count: usize,
    /// Bytes of names that its listings hold.
    names_bytes: usize,
    performing: Performing,
}

impl Opened {
    /// Nothing yet, below these mounts. `while_busy` is kept until nothing is done with files any more that the
    /// instance began; with `in_place` files are used then and there, not on threads that may wait.
    ///
    /// # Errors
    /// Two mounts of the same name.
    pub fn new(
        mounts: Vec<Mount>,
        while_busy: Option<Arc<dyn Any + Send + Sync>>,
        in_place: bool,
    ) -> Result<Opened> {
        check(&mounts)?;
        let performing = Performing::new(while_busy, in_place);
        Ok(Opened { mounts, streams: HashMap::new(), count: 0, names_bytes: 0, performing })
    }

    /// Waits for what is still being performed although nobody waits for it any more, and tells of it. What
    /// has not begun is withdrawn.
    pub async fn settle(&mut self, imports: &mut dyn WasiHost) -> Result<()> {
        if let Some((asked, performed)) = self.performing.settled().await? {
            imports.file_settled(&asked, &answer_of(performed))?;
        }
        Ok(())
    }

    /// Whether anything can be changed through a mount.
    pub fn can_write(&self) -> bool {
        self.mounts.iter().any(|mount| mount.access == Access::Write)
    }
}

/// What the interfaces need of a Store's data.
pub struct Files<'a> {
    /// Answers, or is told.
    pub imports: &'a mut dyn WasiHost,
    /// The instance's handles.
    pub table: &'a mut ResourceTable,
    /// Its files.
    pub opened: &'a mut Opened,
    /// Its pace.
    pub pace: &'a mut Pace,
}

impl HasData for Files<'static> {
    type Data<'a> = Files<'a>;
}

/// Puts our files in the place of WASI's; the linker must allow shadowing.
pub(crate) fn shadow<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    types::add_to_linker::<T, Files<'static>>(linker, T::files)?;
    preopens::add_to_linker::<T, Files<'static>>(linker, T::files)?;
    wasi_streams::add_to_linker::<T, Files<'static>>(linker, T::files)?;
    streams::shadow(linker)
}

type Fd = Resource<Descriptor>;
type Live = std::result::Result<FileAnswer, ErrorCode>;

impl Files<'_> {
    fn node(&self, fd: &Fd) -> Result<Arc<Node>> {
        Ok(self.table.get(&Resource::<Arc<Node>>::new_borrow(fd.rep()))?.clone())
    }

    /// Gives a node a handle of the guest's. The table knows it as what it is, the guest as a descriptor.
    fn push(&mut self, node: Arc<Node>) -> Result<Fd> {
        let handle = self.table.push(node)?;
        self.opened.count += 1;
        Ok(Resource::new_own(handle.rep()))
    }

    /// Refuses a handle beyond the bound: WASI has no code for it that is closer than this one.
    fn room(&self) -> FsResult<()> {
        if self.opened.count < OPEN_MAX { Ok(()) } else { Err(ErrorCode::InsufficientMemory.into()) }
    }

    /// One use: answered by the imports, or performed.
    async fn ask(
        &mut self,
        asked: FileUse,
        live: impl FnOnce() -> Live + Send + 'static,
    ) -> FsResult<FileAnswer> {
        let may_change = changes(asked.op);
        self.ask_whether(asked, may_change, live).await
    }

    async fn ask_whether(
        &mut self,
        asked: FileUse,
        may_change: bool,
        live: impl FnOnce() -> Live + Send + 'static,
    ) -> FsResult<FileAnswer> {
        self.pace.keep().await;
        let performing = &mut self.opened.performing;
        let live = async { Ok(answer_of(performing.perform(asked.clone(), live).await?)) };
        taken(self.imports.use_file(&asked, may_change, Box::pin(live)).await.map_err(FsError::trap)?)
    }

    /// The same of what is known without a look at the disk: nothing is waited for.
    fn ask_known(&mut self, asked: &FileUse, known: Live) -> FsResult<FileAnswer> {
        let known = Box::pin(async { Ok(answer_of(known)) });
        match self.imports.use_file(asked, false, known).now_or_never() {
            Some(answer) => taken(answer.map_err(FsError::trap)?),
            None => Err(FsError::trap(format_err!("what is known of a file was waited for"))),
        }
    }
}

fn answer_of(performed: Live) -> FileAnswer {
    performed.unwrap_or_else(|code| FileAnswer::Failed(code.name().to_owned()))
}

fn taken(answer: FileAnswer) -> FsResult<FileAnswer> {
    let FileAnswer::Failed(name) = answer else { return Ok(answer) };
    match CODES.iter().find(|code| code.name() == name) {
        Some(code) => Err((*code).into()),
        None => Err(FsError::trap(format_err!("there is no error code {name:?} of files"))),
    }
}

/// A recorded answer of another shape than the question's.
fn misfit<T>(op: FileOp, answer: &FileAnswer) -> FsResult<T> {
    Err(FsError::trap(format_err!("the answer to {op:?} cannot be {answer:?}")))
}

/// `done`, or a trap.
fn done(op: FileOp, answer: &FileAnswer) -> FsResult<()> {
    if *answer == FileAnswer::Done { Ok(()) } else { misfit(op, answer) }
}

/// A path that is not too long to be kept.
fn bounded(path: String) -> FsResult<String> {
    if path.len() > PATH_BYTES_MAX { Err(ErrorCode::NameTooLong.into()) } else { Ok(path) }
}

/// Mounts at the same place would shadow each other.
///
/// # Errors
/// If two have the same name.
fn check(mounts: &[Mount]) -> Result<()> {
    for (at, mount) in mounts.iter().enumerate() {
        if mounts[..at].iter().any(|other| other.name == mount.name) {
            bail!("two mounts are named {}", mount.name);
        }
    }
    Ok(())
}
