//! `wasi:io/streams`, so that what goes through a file's stream is a use of the file like any other. All
//! other streams are wasmtime-wasi's.
//!
//! A file's stream is always ready: it reads and writes at once.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, FsError, FsResult, InputStream, OutputStream, Pollable,
    StreamError, StreamResult,
};
use wasmtime_wasi_io::bindings::wasi::io::streams::{self, HostInputStream, HostOutputStream};

use super::disk::{Node, READ_BYTES_MAX};
use super::{FileAnswer, FileOp, FileUse, Files};

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

    fn read_file(&mut self, rep: u32, stream: &FileStream, length: u64) -> StreamResult<Vec<u8>> {
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
        match self.ask_now(asked, || stream.node.read(offset, length)).map_err(failed)? {
            FileAnswer::Bytes(bytes) if bytes.is_empty() => Err(StreamError::Closed),
            FileAnswer::Bytes(bytes) => {
                self.advance(rep, bytes.len());
                Ok(bytes)
            }
            other => super::misfit(FileOp::Read, &other).map_err(failed),
        }
    }

    fn write_file(&mut self, rep: u32, stream: &FileStream, content: Bytes) -> StreamResult<()> {
        if content.is_empty() {
            return Ok(());
        }
        let asked = FileUse {
            op: FileOp::Write,
            path: stream.node.name(),
            to: String::new(),
            detail: stream.offset.map_or_else(|| "append".to_owned(), |offset| offset.to_string()),
            content: content.clone(),
        };
        self.ask_now(asked, || stream.node.write(stream.offset, &content)).map_err(failed)?;
        self.advance(rep, content.len());
        Ok(())
    }
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

    fn read(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<Vec<u8>> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), &file, length),
            None => HostInputStream::read(self.table, stream, length),
        }
    }

    async fn blocking_read(
        &mut self,
        stream: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<Vec<u8>> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), &file, length),
            None => HostInputStream::blocking_read(self.table, stream, length).await,
        }
    }

    fn skip(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), &file, length).map(|bytes| bytes.len() as u64),
            None => HostInputStream::skip(self.table, stream, length),
        }
    }

    async fn blocking_skip(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        match self.file(stream.rep()) {
            Some(file) => self.read_file(stream.rep(), &file, length).map(|bytes| bytes.len() as u64),
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
            Some(_) => Ok(WRITE_BYTES_MAX),
            None => HostOutputStream::check_write(self.table, stream),
        }
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(bytes.len() as u64, WRITE_BYTES_MAX)?;
                self.write_file(stream.rep(), &file, bytes.into())
            }
            None => HostOutputStream::write(self.table, stream, bytes),
        }
    }

    async fn blocking_write_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(bytes.len() as u64, BLOCKING_BYTES_MAX)?;
                self.write_file(stream.rep(), &file, bytes.into())
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
                self.write_file(stream.rep(), &file, zeroes(length))
            }
            None => HostOutputStream::blocking_write_zeroes_and_flush(self.table, stream, length).await,
        }
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, length: u64) -> StreamResult<()> {
        match self.file(stream.rep()) {
            Some(file) => {
                within(length, WRITE_BYTES_MAX)?;
                self.write_file(stream.rep(), &file, zeroes(length))
            }
            None => HostOutputStream::write_zeroes(self.table, stream, length),
        }
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
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        let room = self.check_write(Resource::new_borrow(to.rep()))?.min(length);
        let bytes = HostInputStream::read(self, from, room)?;
        let count = bytes.len() as u64;
        if count > 0 {
            HostOutputStream::write(self, to, bytes)?;
        }
        Ok(count)
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
