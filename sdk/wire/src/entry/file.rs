//! Uses of files: what was done, and what came of it (journal.md R8). Paths are a guest's; no path of a host is
//! here.

use serde::{Deserialize, Serialize};

use crate::Base64;

/// What can be done with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOp {
    /// Open something below a directory.
    Open,
    /// Look at an open file.
    Stat,
    /// Look at something below a directory.
    StatAt,
    /// Read.
    Read,
    /// List a directory.
    ReadDirectory,
    /// Read the text of a link.
    ReadLink,
    /// Ask which file it is.
    Hash,
    /// Ask which file something below a directory is.
    HashAt,
    /// Ask whether two are the same.
    IsSame,
    /// Write.
    Write,
    /// Cut or extend.
    SetSize,
    /// Set times.
    SetTimes,
    /// Have it written to the disk.
    Sync,
    /// Make a directory.
    CreateDirectory,
    /// Remove a directory.
    RemoveDirectory,
    /// Rename.
    Rename,
    /// Remove a file or link.
    Unlink,
    /// Make a symbolic link.
    Symlink,
    /// Make a second name for a file.
    Link,
}

impl FileOp {
    /// The name in mismatches and in the count of calls.
    pub fn function(self) -> &'static str {
        match self {
            FileOp::Open => "filesystem.open-at",
            FileOp::Stat => "filesystem.stat",
            FileOp::StatAt => "filesystem.stat-at",
            FileOp::Read => "filesystem.read",
            FileOp::ReadDirectory => "filesystem.read-directory",
            FileOp::ReadLink => "filesystem.readlink-at",
            FileOp::Hash => "filesystem.metadata-hash",
            FileOp::HashAt => "filesystem.metadata-hash-at",
            FileOp::IsSame => "filesystem.is-same-object",
            FileOp::Write => "filesystem.write",
            FileOp::SetSize => "filesystem.set-size",
            FileOp::SetTimes => "filesystem.set-times",
            FileOp::Sync => "filesystem.sync",
            FileOp::CreateDirectory => "filesystem.create-directory-at",
            FileOp::RemoveDirectory => "filesystem.remove-directory-at",
            FileOp::Rename => "filesystem.rename-at",
            FileOp::Unlink => "filesystem.unlink-file-at",
            FileOp::Symlink => "filesystem.symlink-at",
            FileOp::Link => "filesystem.link-at",
        }
    }
}

/// A use of a file, as a step saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileObserved {
    /// What was done.
    pub op: FileOp,
    /// The path, from its mount on.
    pub path: String,
    /// The other path, or the text of a link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// Flags, offset and length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What came of it.
    pub answer: FileAnswer,
}

/// What came of a use of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAnswer {
    /// It is done.
    Done,
    /// It is open: whether as a directory.
    Opened(bool),
    /// What it is.
    Stat(FileStat),
    /// What was read, where it is text; the text of a link.
    Text(String),
    /// What was read.
    Bytes(Base64),
    /// The number of bytes that were written.
    Written(u64),
    /// The names in a directory, sorted.
    Names(Vec<(FileKind, String)>),
    /// A number that tells files apart.
    Hash(u64),
    /// Whether two are the same.
    IsSame(bool),
    /// It failed, with this code of `wasi:filesystem/types.error-code`.
    Failed(String),
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// Its kind.
    pub kind: FileKind,
    /// Names it has.
    pub links: u64,
    /// Bytes.
    pub size: u64,
    /// Seconds and nanoseconds of its last access, modification and change of status.
    pub times: [Option<(u64, u32)>; 3],
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Anything else.
    Other,
}

impl FileAnswer {
    /// What was read from a file. Text stays text, so that a person can read the journal.
    pub fn read(bytes: Vec<u8>) -> FileAnswer {
        match String::from_utf8(bytes) {
            Ok(text) => FileAnswer::Text(text),
            Err(error) => FileAnswer::Bytes(Base64(error.into_bytes())),
        }
    }

    /// The bytes that were read, if this is an answer to a read.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            FileAnswer::Text(text) => Some(text.as_bytes()),
            FileAnswer::Bytes(bytes) => Some(&bytes.0),
            _ => None,
        }
    }

    /// The bytes that were read.
    ///
    /// # Errors
    /// The answer, if it is not one to a read.
    pub fn into_bytes(self) -> Result<Vec<u8>, FileAnswer> {
        match self {
            FileAnswer::Text(text) => Ok(text.into_bytes()),
            FileAnswer::Bytes(bytes) => Ok(bytes.0),
            other => Err(other),
        }
    }
}

impl FileObserved {
    /// About the bytes that it needs in an entry.
    pub fn weight(&self) -> usize {
        let answer = match &self.answer {
            FileAnswer::Text(text) | FileAnswer::Failed(text) => text.len(),
            FileAnswer::Bytes(bytes) => bytes.0.len() / 3 * 4,
            FileAnswer::Names(names) => names.iter().map(|(_, name)| name.len() + 24).sum(),
            FileAnswer::Stat(_) => 160,
            _ => 24,
        };
        64 + self.path.len() + self.to.len() + self.detail.len() + answer
    }
}

/// What a tool or a hook did with files during one call, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAudit<D> {
    /// The uses; what was done to the same file in a row is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<FileUsed<D>>,
    /// Uses that are over the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

/// One line of an audit list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUsed<D> {
    /// What was done.
    pub op: FileOp,
    /// The path, from its mount on.
    pub path: String,
    /// The other path, or the text of a link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// How it was opened; the size that was set.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// How often in a row.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: u64,
    /// Bytes that were read or written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Digest of these bytes, unless they are too many to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<D>,
    /// Why it was refused, or failed: a code of `wasi:filesystem/types.error-code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl<D> FileAudit<D> {
    /// Whether no file was used.
    pub fn is_empty(&self) -> bool {
        self.uses.is_empty() && self.dropped == 0
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_one(value: &u64) -> bool {
    *value == 1
}

fn one() -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_read_come_back_as_they_were() {
        for (bytes, json) in [
            (b"".as_slice(), r#"{"text":""}"#),
            ("aé".as_bytes(), r#"{"text":"aé"}"#),
            (b"\xff", r#"{"bytes":"/w=="}"#),
        ] {
            let answer = FileAnswer::read(bytes.to_vec());
            assert_eq!(serde_json::to_string(&answer).unwrap(), json);
            assert_eq!(answer.bytes(), Some(bytes));
            assert_eq!(answer.into_bytes(), Ok(bytes.to_vec()));
        }
        assert_eq!((FileAnswer::Done.bytes(), FileAnswer::Done.into_bytes()), (None, Err(FileAnswer::Done)));
    }
}
