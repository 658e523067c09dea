//! Uses of files between the bindings' shapes and the journal's, and what is kept of a call's.
//!
//! It knows shapes. What is performed is the bindings', what is granted `mounts.rs`.

mod audit;

use rewake_core::fact::{FileAnswer, FileKind, FileObserved, FileOp};
use rewake_wasi as wasi;
use rewake_wire::Base64;

pub(crate) use audit::Auditor;

/// A use, as a step's observation.
pub fn observed_in(asked: &wasi::FileUse, answer: &wasi::FileAnswer) -> FileObserved {
    FileObserved {
        op: op_in(asked.op),
        path: asked.path.clone(),
        to: asked.to.clone(),
        detail: asked.detail.clone(),
        answer: answer_in(asked.op, answer),
    }
}

/// A file operation, as entries name it.
pub fn op_in(op: wasi::FileOp) -> FileOp {
    match op {
        wasi::FileOp::Open => FileOp::Open,
        wasi::FileOp::Stat => FileOp::Stat,
        wasi::FileOp::StatAt => FileOp::StatAt,
        wasi::FileOp::Read => FileOp::Read,
        wasi::FileOp::ReadDirectory => FileOp::ReadDirectory,
        wasi::FileOp::ReadLink => FileOp::ReadLink,
        wasi::FileOp::Hash => FileOp::Hash,
        wasi::FileOp::HashAt => FileOp::HashAt,
        wasi::FileOp::IsSame => FileOp::IsSame,
        wasi::FileOp::Write => FileOp::Write,
        wasi::FileOp::SetSize => FileOp::SetSize,
        wasi::FileOp::SetTimes => FileOp::SetTimes,
        wasi::FileOp::Sync => FileOp::Sync,
        wasi::FileOp::CreateDirectory => FileOp::CreateDirectory,
        wasi::FileOp::RemoveDirectory => FileOp::RemoveDirectory,
        wasi::FileOp::Rename => FileOp::Rename,
        wasi::FileOp::Unlink => FileOp::Unlink,
        wasi::FileOp::Symlink => FileOp::Symlink,
        wasi::FileOp::Link => FileOp::Link,
    }
}

fn answer_in(op: wasi::FileOp, answer: &wasi::FileAnswer) -> FileAnswer {
    match answer.clone() {
        wasi::FileAnswer::Done => FileAnswer::Done,
        wasi::FileAnswer::Opened { directory } => FileAnswer::Opened(directory),
        wasi::FileAnswer::Stat(stat) => FileAnswer::Stat {
            kind: kind_in(stat.kind),
            links: stat.links,
            size: stat.size,
            times: stat.times,
        },
        // Text stays readable in the journal; what was read is read back as bytes either way.
        wasi::FileAnswer::Bytes(bytes) => match (op, String::from_utf8(bytes)) {
            (wasi::FileOp::Read, Ok(text)) => FileAnswer::Text(text),
            (_, Ok(text)) => FileAnswer::Bytes(Base64(text.into_bytes())),
            (_, Err(error)) => FileAnswer::Bytes(Base64(error.into_bytes())),
        },
        wasi::FileAnswer::Written(count) => FileAnswer::Written(count),
        wasi::FileAnswer::Names(names) => {
            FileAnswer::Names(names.into_iter().map(|(kind, name)| (kind_in(kind), name)).collect())
        }
        wasi::FileAnswer::Text(text) => FileAnswer::Text(text),
        wasi::FileAnswer::Hash(hash) => FileAnswer::Hash(hash),
        wasi::FileAnswer::IsSame(is_same) => FileAnswer::IsSame(is_same),
        wasi::FileAnswer::Failed(code) => FileAnswer::Failed(code),
    }
}

/// A recorded answer, as the guest gets it.
pub fn answer_out(op: FileOp, answer: FileAnswer) -> wasi::FileAnswer {
    match answer {
        FileAnswer::Done => wasi::FileAnswer::Done,
        FileAnswer::Opened(directory) => wasi::FileAnswer::Opened { directory },
        FileAnswer::Stat { kind, links, size, times } => {
            wasi::FileAnswer::Stat(wasi::FileStat { kind: kind_out(kind), links, size, times })
        }
        FileAnswer::Text(text) if op == FileOp::Read => wasi::FileAnswer::Bytes(text.into_bytes()),
        FileAnswer::Text(text) => wasi::FileAnswer::Text(text),
        FileAnswer::Bytes(Base64(bytes)) => wasi::FileAnswer::Bytes(bytes),
        FileAnswer::Written(count) => wasi::FileAnswer::Written(count),
        FileAnswer::Names(names) => {
            wasi::FileAnswer::Names(names.into_iter().map(|(kind, name)| (kind_out(kind), name)).collect())
        }
        FileAnswer::Hash(hash) => wasi::FileAnswer::Hash(hash),
        FileAnswer::IsSame(is_same) => wasi::FileAnswer::IsSame(is_same),
        FileAnswer::Failed(code) => wasi::FileAnswer::Failed(code),
    }
}

fn kind_in(kind: wasi::FileKind) -> FileKind {
    match kind {
        wasi::FileKind::File => FileKind::File,
        wasi::FileKind::Directory => FileKind::Directory,
        wasi::FileKind::Symlink => FileKind::Symlink,
        wasi::FileKind::Other => FileKind::Other,
    }
}

fn kind_out(kind: FileKind) -> wasi::FileKind {
    match kind {
        FileKind::File => wasi::FileKind::File,
        FileKind::Directory => wasi::FileKind::Directory,
        FileKind::Symlink => wasi::FileKind::Symlink,
        FileKind::Other => wasi::FileKind::Other,
    }
}
