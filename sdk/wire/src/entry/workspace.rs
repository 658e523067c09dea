//! What people bring into a session's workspace.

use serde::{Deserialize, Serialize};

use crate::Sender;

/// `workspace.imported`: files were brought into the workspace, between two turns. It is written before they
/// are in place: a host that finds it and not them puts them there before it loads the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceImported<D> {
    /// Who brought them.
    pub by: Sender,
    /// Files, folders and links that came.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// What did not come along: links that lead out, sockets and the like.
    pub left_out: u64,
    /// Whether what the workspace held before is gone; else it stays where nothing came in its place.
    pub replaced: bool,
    /// Of all that the workspace holds with them.
    pub tree: D,
}
