//! The audit list of files that a tool or a hook used during one call (journal.md R8). Paths are a guest's; no path
//! of a host is here.

use rewake_wire::entry::FileOp;
use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// What a tool or a hook did with files during one call, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAudit {
    /// The uses; what was done to the same file in a row is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<FileUsed>,
    /// Uses that are over the limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

/// One line of an audit list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUsed {
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
    pub digest: Option<Digest>,
    /// Why it was refused, or failed: a code of `wasi:filesystem/types.error-code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl FileAudit {
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
