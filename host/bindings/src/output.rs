//! What a guest writes to stdout and stderr, up to a limit.
//!
//! It keeps bytes. It does not know where they go; they are diagnostics, never content.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// A write is taken in pieces of at most so many bytes; always the same, so that a guest cannot
/// tell one host from another by it.
const WRITE_BYTES_MAX: usize = 64 * 1024;

/// What a guest has written since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Text of stdout; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Text of stderr, likewise.
    pub stderr: String,
    /// Bytes beyond the limit, which were not kept.
    pub dropped_bytes: u64,
}

#[derive(Clone, Copy)]
enum Source {
    Stdout,
    Stderr,
}

#[derive(Default)]
struct Kept {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    dropped_bytes: u64,
}

/// Both streams of one guest, with one limit.
#[derive(Clone)]
pub(crate) struct Capture {
    bytes_max: usize,
    kept: Arc<Mutex<Kept>>,
}

impl Capture {
    pub(crate) fn new(bytes_max: usize) -> Capture {
        Capture { bytes_max, kept: Arc::default() }
    }

    pub(crate) fn stdout(&self) -> Pipe {
        Pipe { source: Source::Stdout, capture: self.clone() }
    }

    pub(crate) fn stderr(&self) -> Pipe {
        Pipe { source: Source::Stderr, capture: self.clone() }
    }

    /// Takes what was written; the limit starts again.
    pub(crate) fn take(&self) -> Output {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        Output {
            stdout: String::from_utf8_lossy(&kept.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&kept.stderr).into_owned(),
            dropped_bytes: kept.dropped_bytes,
        }
    }

    fn write(&self, source: Source, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.bytes_max - (kept.stdout.len() + kept.stderr.len()).min(self.bytes_max);
        let (keep, drop) = bytes.split_at(room.min(bytes.len()));
        match source {
            Source::Stdout => kept.stdout.extend_from_slice(keep),
            Source::Stderr => kept.stderr.extend_from_slice(keep),
        }
        kept.dropped_bytes += drop.len() as u64;
    }
}

/// One of the two streams. It is always ready and never fails, so nothing about it is recorded.
#[derive(Clone)]
pub(crate) struct Pipe {
    source: Source,
    capture: Capture,
}

impl IsTerminal for Pipe {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Pipe {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Pipe {
    async fn ready(&mut self) {}
}

impl OutputStream for Pipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.capture.write(self.source, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.capture.write(self.source, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
