//! Uses of files between the bindings' shapes and the journal's, and what is kept of a call's.
//!
//! It knows shapes. What is performed is the bindings', what is granted `mounts.rs`.

mod audit;

use rewake_bindings as bindings;
use rewake_core::fact::{FileAnswer, FileKind, FileObserved, FileOp};
use rewake_wire::Base64;

pub(crate) use audit::Auditor;

/// A use, as a step's observation.
pub fn observed_in(asked: &bindings::FileUse, answer: &bindings::FileAnswer) -> FileObserved {
    FileObserved {
        op: op_in(asked.op),
        path: asked.path.clone(),
        to: asked.to.clone(),
        detail: asked.detail.clone(),
        answer: answer_in(asked.op, answer),
    }
}

/// A file operation, as entries name it.
pub fn op_in(op: bindings::FileOp) -> FileOp {
    match op {
        bindings::FileOp::Open => FileOp::Open,
        bindings::FileOp::Stat => FileOp::Stat,
        bindings::FileOp::StatAt => FileOp::StatAt,
        bindings::FileOp::Read => FileOp::Read,
        bindings::FileOp::ReadDirectory => FileOp::ReadDirectory,
        bindings::FileOp::ReadLink => FileOp::ReadLink,
        bindings::FileOp::Hash => FileOp::Hash,
        bindings::FileOp::HashAt => FileOp::HashAt,
        bindings::FileOp::IsSame => FileOp::IsSame,
        bindings::FileOp::Write => FileOp::Write,
        bindings::FileOp::SetSize => FileOp::SetSize,
        bindings::FileOp::SetTimes => FileOp::SetTimes,
        bindings::FileOp::Sync => FileOp::Sync,
        bindings::FileOp::CreateDirectory => FileOp::CreateDirectory,
        bindings::FileOp::RemoveDirectory => FileOp::RemoveDirectory,
        bindings::FileOp::Rename => FileOp::Rename,
        bindings::FileOp::Unlink => FileOp::Unlink,
        bindings::FileOp::Symlink => FileOp::Symlink,
        bindings::FileOp::Link => FileOp::Link,
    }
}

fn answer_in(op: bindings::FileOp, answer: &bindings::FileAnswer) -> FileAnswer {
    match answer.clone() {
        bindings::FileAnswer::Done => FileAnswer::Done,
        bindings::FileAnswer::Opened { directory } => FileAnswer::Opened(directory),
        bindings::FileAnswer::Stat(stat) => FileAnswer::Stat {
            kind: kind_in(stat.kind),
            links: stat.links,
            size: stat.size,
            times: stat.times,
        },
        // Text stays readable in the journal; what was read is read back as bytes either way.
        bindings::FileAnswer::Bytes(bytes) => match (op, String::from_utf8(bytes)) {
            (bindings::FileOp::Read, Ok(text)) => FileAnswer::Text(text),
            (_, Ok(text)) => FileAnswer::Bytes(Base64(text.into_bytes())),
            (_, Err(error)) => FileAnswer::Bytes(Base64(error.into_bytes())),
        },
        bindings::FileAnswer::Written(count) => FileAnswer::Written(count),
        bindings::FileAnswer::Names(names) => {
            FileAnswer::Names(names.into_iter().map(|(kind, name)| (kind_in(kind), name)).collect())
        }
        bindings::FileAnswer::Text(text) => FileAnswer::Text(text),
        bindings::FileAnswer::Hash(hash) => FileAnswer::Hash(hash),
        bindings::FileAnswer::IsSame(is_same) => FileAnswer::IsSame(is_same),
        bindings::FileAnswer::Failed(code) => FileAnswer::Failed(code),
    }
}

/// A recorded answer, as the guest gets it.
pub fn answer_out(op: FileOp, answer: FileAnswer) -> bindings::FileAnswer {
    match answer {
        FileAnswer::Done => bindings::FileAnswer::Done,
        FileAnswer::Opened(directory) => bindings::FileAnswer::Opened { directory },
        FileAnswer::Stat { kind, links, size, times } => {
            bindings::FileAnswer::Stat(bindings::FileStat { kind: kind_out(kind), links, size, times })
        }
        FileAnswer::Text(text) if op == FileOp::Read => bindings::FileAnswer::Bytes(text.into_bytes()),
        FileAnswer::Text(text) => bindings::FileAnswer::Text(text),
        FileAnswer::Bytes(Base64(bytes)) => bindings::FileAnswer::Bytes(bytes),
        FileAnswer::Written(count) => bindings::FileAnswer::Written(count),
        FileAnswer::Names(names) => bindings::FileAnswer::Names(
            names.into_iter().map(|(kind, name)| (kind_out(kind), name)).collect(),
        ),
        FileAnswer::Hash(hash) => bindings::FileAnswer::Hash(hash),
        FileAnswer::IsSame(is_same) => bindings::FileAnswer::IsSame(is_same),
        FileAnswer::Failed(code) => bindings::FileAnswer::Failed(code),
    }
}

fn kind_in(kind: bindings::FileKind) -> FileKind {
    match kind {
        bindings::FileKind::File => FileKind::File,
        bindings::FileKind::Directory => FileKind::Directory,
        bindings::FileKind::Symlink => FileKind::Symlink,
        bindings::FileKind::Other => FileKind::Other,
    }
}

fn kind_out(kind: FileKind) -> bindings::FileKind {
    match kind {
        FileKind::File => bindings::FileKind::File,
        FileKind::Directory => bindings::FileKind::Directory,
        FileKind::Symlink => bindings::FileKind::Symlink,
        FileKind::Other => bindings::FileKind::Other,
    }
}
