//! `rewake bundle call`: one call of a tool in the sandbox, outside of any session, in a copy of a folder or in the
//! folder itself.

use std::path::{Path, PathBuf};

use rewake_bundle::Bundle;
use rewake_policy::grants::Asked;
use rewake_runtime::host::standalone::{Called, StandaloneGrants};
use rewake_runtime::{Host, HostError};
use rewake_sandbox::workspace::{self, Copied, WorkspaceError};
use rewake_toml::Invalid;
use tempfile::TempDir;
use thiserror::Error;

/// What a call's workspace is.
#[derive(Clone, Debug, Default)]
pub enum Place {
    /// Empty, and gone afterwards.
    #[default]
    Empty,
    /// A copy of this folder, gone afterwards.
    Copy(PathBuf),
    /// This folder itself.
    InPlace(PathBuf),
}

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its input: JSON text.
    pub input: String,
    /// What the bundle is granted, where the operator's rules do not name it.
    pub grants: StandaloneGrants,
    /// What it works on.
    pub place: Place,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How it ended, what it said and took.
    pub called: Called,
    /// What the bundle's components ask for, and what of it is granted.
    pub asked: Vec<Asked>,
    /// What was copied into the workspace.
    pub copied: Copied,
}

/// Why the call was not made.
#[derive(Debug, Error)]
pub enum CallError {
    /// The host says no.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The folder cannot be copied.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// There is no such tool.
    #[error("{0}")]
    NoTool(Invalid),
    /// There is no room for the copy.
    #[error("a folder for the call's workspace: {0}")]
    Room(std::io::Error),
}

/// Makes the call.
///
/// # Errors
/// If it cannot be made. That the tool fails is no error: the answer says it.
pub async fn call(host: &Host, bundle: &Bundle, call: &Call) -> Result<Answer, CallError> {
    let (folder, copied, kept) = workspace(&call.place)?;
    let standalone = host.standalone(bundle, &call.grants, &folder).await?;
    let tool = standalone.tool(&call.tool).map_err(CallError::NoTool)?.name.clone();
    let called = standalone.call(&tool, &call.input).await;
    let asked = standalone.asked().to_vec();
    drop(kept);
    Ok(Answer { called, asked, copied })
}

fn workspace(place: &Place) -> Result<(PathBuf, Copied, Option<TempDir>), CallError> {
    let made = || tempfile::Builder::new().prefix("rewake-call-").tempdir().map_err(CallError::Room);
    match place {
        Place::InPlace(folder) => {
            let is_folder = Path::is_dir(folder);
            let folder = folder.clone();
            if is_folder {
                Ok((folder, Copied::default(), None))
            } else {
                Err(WorkspaceError::NoFolder(folder).into())
            }
        }
        Place::Empty => {
            let made = made()?;
            Ok((made.path().to_owned(), Copied::default(), Some(made)))
        }
        Place::Copy(from) => {
            let made = made()?;
            let copied = workspace::copy_in(from, made.path(), workspace::usual_quota())?;
            Ok((made.path().to_owned(), copied, Some(made)))
        }
    }
}
