//! Grants: what a component may use. Deny is the absence of a grant.

use serde::{Deserialize, Serialize};

/// What a component may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// Directories it sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FsGrant>,
}

/// A directory that a guest sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsGrant {
    /// The absolute path the guest sees it at.
    pub mount: String,
    /// What stands behind it.
    pub source: FsSource,
    /// What it may do there.
    pub access: Access,
}

/// What stands behind a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FsSource {
    /// The session's workspace.
    Workspace,
}

/// What a guest may do in a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Read.
    #[serde(rename = "ro")]
    ReadOnly,
    /// Read and change.
    #[serde(rename = "rw")]
    ReadWrite,
}

impl Grants {
    /// Whether anything outside of the instance can be changed with them.
    pub fn can_write(&self) -> bool {
        self.fs.iter().any(|grant| grant.access == Access::ReadWrite)
    }
}
