//! `wasi:io/streams`, so that what goes through a file's stream is a use of the file like any other. All
//! other streams are wasmtime-wasi's.
//!
//! A file's stream is always ready: what is asked of it is done then and there, however long it takes. A
//! read or write that must not wait by its own words therefore waits all the same; its guest gives way to
//! others meanwhile.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, FsError, FsResult, InputStream, OutputStream, Pollable,
    StreamError, StreamResult,
};
use wasmtime_wasi_io::bindings::wasi::io::streams::{self, HostInputStream, HostOutputStream};

use rewake_wire::entry::FileOp;

use super::disk::{Node, READ_BYTES_MAX};
use super::{FileUse, Files};
use crate::WasiData;

/// The interface, in the version that wasmtime-wasi links; a test holds the two together.
pub(crate) const INTERFACE: &str = "wasi:io/streams@0.2.12";
/// Its functions that cannot wait, which are replaced by some that can.
#[cfg(test)]
pub(crate) const FUNCTIONS: [&str; 5] = [READ, SKIP, WRITE, WRITE_ZEROES, SPLICE];
const READ: &str = "[method]input-stream.read";
const SKIP: &str = "[method]input-stream.skip";
const WRITE: &str = "[method]output-stream.write";
const WRITE_ZEROES: &str = "[method]output-stream.write-zeroes";
const SPLICE: &str = "[method]output-stream.splice";
/// Bytes that one write takes.
const WRITE_BYTES_MAX: u64 = 64 * 1024;
/// Bytes that the blocking forms take (`wasi:io/streams`).
const BLOCKING_BYTES_MAX: u64 = 4096;

/// Where a stream is in its file.
#[derive(Clone)]
pub(super) struct FileStream {
    pub(super) node: Arc<Node>,
    /// None: it appends.
    pub(super) offset: Option<u64>,
}

/// Why a file's stream failed; `filesystem-error-code` tells the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure(pub(super) ErrorCode);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.message())
    }
}

impl std::error::Error for Failure {}

/// What stands in the table for a file's stream: something that can be polled. [`Files`] intercepts all
/// else.
struct Ready;

#[wasmtime_wasi::async_trait]
impl Pollable for Ready {
    async fn ready(&mut self) {}
}

impl InputStream for Ready {
    fn read(&mut self, _: usize) -> StreamResult<Bytes> {
        Err(StreamError::Closed)
    }
}

impl OutputStream for Ready {
    fn write(&mut self, _: Bytes) -> StreamResult<()> {
        Err(StreamError::Closed)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Err(StreamError::Closed)
    }
}

fn failed(error: FsError) -> StreamError {
    match error.downcast() {
        Ok(code) => StreamError::LastOperationFailed(Failure(code).into()),
        Err(trap) => StreamError::Trap(trap),
    }
}

impl Files<'_> {
    pub(super) fn push_input(&mut self, stream: FileStream) -> FsResult<Resource<DynInputStream>> {
        let boxed: DynInputStream = Box::new(Ready);
        let handle = self.table.push(boxed)?;
        self.keep(handle.rep(), stream);
        Ok(handle)
    }

    pub(super) fn push_output(&mut self, stream: FileStream) -> FsResult<Resource<DynOutputStream>> {
        let boxed: DynOutputStream = Box::new(Ready);
        let handle = self.table.push(boxed)?;
        self.keep(handle.rep(), stream);
        Ok(handle)
    }

    fn keep(&mut self, rep: u32, stream: FileStream) {
        self.opened.streams.insert(rep, stream);
        self.opened.count += 1;
    }

    fn forget(&mut self, rep: u32) {
        if self.opened.streams.remove(&rep).is_some() {
            self.opened.count -= 1;
        }
    }

    fn file(&self, rep: u32) -> Option<FileStream> {
        self.opened.streams.get(&rep).cloned()
    }

    fn advance(&mut self, rep: u32, by: usize) {
        if let Some(FileStream { offset: Some(offset), .. }) = self.opened.streams.get_mut(&rep) {
            *offset += by as u64;
        }
    }

    async fn read_file(&mut self, rep: u32, stream: FileStream, length: u64) -> StreamResult<Vec<u8>> {
        let length = length.min(READ_BYTES_MAX);
        if length == 0 {
            return Ok(Vec::new());
        }
        let offset = stream.offset.unwrap_or(0);
        let asked = FileUse {
            op: FileOp::Read,
            path: stream.node.name(),
            to: String::new(),
            detail: format!("{offset}+{length}"),
            content: Bytes::new(),
        };
        match self.ask(asked, move || stream.node.read(offset, length)).await.map_err(failed)?.into_bytes() {
            Ok(bytes) if bytes.is_empty() => Err(StreamError::Closed),
            Ok(bytes) => {
                self.advance(rep, bytes.len());
                Ok(bytes)
            }
            Err(other) => super::misfit(FileOp::Read, &other).map_err(failed),
        }
    }

    async fn write_file(&mut self, rep: u32, stream: FileStream, content: Bytes) -> StreamResult<()> {
        if content.is_empty() {
            return Ok(());
        }
        let asked = write_of(&stream, content.clone());
        let length = content.len();
        self.ask(asked, move || stream.node.write(stream.offset, &content)).await.map_err(failed)?;
        self.advance(rep, length);
        Ok(())
    }

    /// What a write may have: as much as fits, so that a file is filled to the last byte of its quota before
    /// anything fails.
    fn writable(&mut self, stream: &FileStream) -> StreamResult<u64> {
        match stream.node.room(stream.offset) {
            Ok(room) => Ok(room.min(WRITE_BYTES_MAX)),
            Err(code) => {
                self.ask_known(&write_of(stream, Bytes::new()), Err(code)).map_err(failed)?;
                Ok(0)
            }
        }
    }

    async fn read_now(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<Vec<u8>> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), file, length).await,
            None => HostInputStream::read(self.table, stream, length),
        }
    }

    async fn skip_now(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), file, length).await.map(|bytes| bytes.len() as u64),
            None => HostInputStream::skip(self.table, stream, length),
        }
    }

    async fn write_now(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(bytes.len() as u64, WRITE_BYTES_MAX)?;
                self.write_file(stream.rep(), file, bytes.into()).await
            }
            None => HostOutputStream::write(self.table, stream, bytes),
        }
    }

    async fn write_zeroes_now(&mut self, stream: Resource<DynOutputStream>, length: u64) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(length, WRITE_BYTES_MAX)?;
                self.write_file(stream.rep(), file, zeroes(length)).await
            }
            None => HostOutputStream::write_zeroes(self.table, stream, length),
        }
    }

    async fn splice_now(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        let room = self.check_write(Resource::new_borrow(to.rep()))?.min(length);
        let bytes = self.read_now(from, room).await?;
        let count = bytes.len() as u64;
        if count > 0 {
            self.write_now(to, bytes).await?;
        }
        Ok(count)
    }
}

fn write_of(stream: &FileStream, content: Bytes) -> FileUse {
    FileUse {
        op: FileOp::Write,
        path: stream.node.name(),
        to: String::new(),
        detail: stream.offset.map_or_else(|| "append".to_owned(), |offset| offset.to_string()),
        content,
    }
}

/// Puts functions that can wait in the place of those of the interface that cannot, as wasmtime-wasi-io
/// declares them.
pub(super) fn shadow<T: WasiData>(linker: &mut Linker<T>) -> Result<()> {
    type In = Resource<DynInputStream>;
    type Out = Resource<DynOutputStream>;
    let mut streams = linker.instance(INTERFACE)?;
    streams.func_wrap_async(READ, |store, (stream, length): (In, u64)| {
        Box::new(answered(store, async move |files: &mut Files<'_>| files.read_now(stream, length).await))
    })?;
    streams.func_wrap_async(SKIP, |store, (stream, length): (In, u64)| {
        Box::new(answered(store, async move |files: &mut Files<'_>| files.skip_now(stream, length).await))
    })?;
    streams.func_wrap_async(WRITE, |store, (stream, bytes): (Out, Vec<u8>)| {
        Box::new(answered(store, async move |files: &mut Files<'_>| files.write_now(stream, bytes).await))
    })?;
    streams.func_wrap_async(WRITE_ZEROES, |store, (stream, length): (Out, u64)| {
        Box::new(answered(store, async move |files: &mut Files<'_>| {
            files.write_zeroes_now(stream, length).await
        }))
    })?;
    streams.func_wrap_async(SPLICE, |store, (to, from, length): (Out, In, u64)| {
        Box::new(answered(store, async move |files: &mut Files<'_>| files.splice_now(to, from, length).await))
    })
}

/// Answers a call of a function that can wait.
async fn answered<D: WasiData, T: 'static>(
    mut store: StoreContextMut<'_, D>,
    call: impl AsyncFnOnce(&mut Files<'_>) -> StreamResult<T>,
) -> Result<(std::result::Result<T, streams::StreamError>,)> {
    let mut files = store.data_mut().files();
    files.pace.keep().await;
    match call(&mut files).await {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(streams::Host::convert_stream_error(&mut files, error)?),)),
    }
}

/// A function of the interface that [`shadow`] has replaced.
fn not_here<T>() -> StreamResult<T> {
    Err(StreamError::trap("this function of wasi:io/streams is not linked"))
}

/// Refuses a write that is larger than `check-write` allowed.
fn within(length: u64, max: u64) -> StreamResult<()> {
    if length <= max {
        return Ok(());
    }
    Err(StreamError::trap(&format!("a write of {length} bytes; at most {max} may be written at once")))
}

fn zeroes(length: u64) -> Bytes {
    vec![0; usize::try_from(length).unwrap_or(0)].into()
}

impl streams::Host for Files<'_> {
    fn convert_stream_error(&mut self, error: StreamError) -> Result<streams::StreamError> {
        streams::Host::convert_stream_error(self.table, error)
    }
}

impl HostInputStream for Files<'_> {
    async fn drop(&mut self, stream: Resource<DynInputStream>) -> Result<()> {
        self.forget(stream.rep());
        HostInputStream::drop(self.table, stream).await
    }

    fn read(&mut self, _: Resource<DynInputStream>, _: u64) -> StreamResult<Vec<u8>> {
        not_here()
    }

    async fn blocking_read(
        &mut self,
        stream: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<Vec<u8>> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), file, length).await,
            None => HostInputStream::blocking_read(self.table, stream, length).await,
        }
    }

    fn skip(&mut self, _: Resource<DynInputStream>, _: u64) -> StreamResult<u64> {
        not_here()
    }

    async fn blocking_skip(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), file, length).await.map(|bytes| bytes.len() as u64),
            None => HostInputStream::blocking_skip(self.table, stream, length).await,
        }
    }

    fn subscribe(&mut self, stream: Resource<DynInputStream>) -> Result<Resource<DynPollable>> {
        HostInputStream::subscribe(self.table, stream)
    }
}

impl HostOutputStream for Files<'_> {
    async fn drop(&mut self, stream: Resource<DynOutputStream>) -> Result<()> {
        self.forget(stream.rep());
        HostOutputStream::drop(self.table, stream).await
    }

    fn check_write(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        match self.file(stream.rep()) {
            Some(file) => self.writable(&file),
            None => HostOutputStream::check_write(self.table, stream),
        }
    }

    fn write(&mut self, _: Resource<DynOutputStream>, _: Vec<u8>) -> StreamResult<()> {
        not_here()
    }

    async fn blocking_write_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(bytes.len() as u64, BLOCKING_BYTES_MAX)?;
                self.write_file(stream.rep(), file, bytes.into()).await
            }
            None => HostOutputStream::blocking_write_and_flush(self.table, stream, bytes).await,
        }
    }

    async fn blocking_write_zeroes_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        length: u64,
    ) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(length, BLOCKING_BYTES_MAX)?;
                self.write_file(stream.rep(), file, zeroes(length)).await
            }
            None => HostOutputStream::blocking_write_zeroes_and_flush(self.table, stream, length).await,
        }
    }

    fn write_zeroes(&mut self, _: Resource<DynOutputStream>, _: u64) -> StreamResult<()> {
        not_here()
    }

    fn flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(_) => Ok(()),
            None => HostOutputStream::flush(self.table, stream),
        }
    }

    async fn blocking_flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(_) => Ok(()),
            None => HostOutputStream::blocking_flush(self.table, stream).await,
        }
    }

    fn subscribe(&mut self, stream: Resource<DynOutputStream>) -> Result<Resource<DynPollable>> {
        HostOutputStream::subscribe(self.table, stream)
    }

    fn splice(
        &mut self,
        _: Resource<DynOutputStream>,
        _: Resource<DynInputStream>,
        _: u64,
    ) -> StreamResult<u64> {
        not_here()
    }

    async fn blocking_splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        let length = length.min(BLOCKING_BYTES_MAX);
        let bytes = HostInputStream::blocking_read(self, from, length).await?;
        let count = bytes.len() as u64;
        HostOutputStream::blocking_write_and_flush(self, to, bytes).await?;
        Ok(count)
    }
}
