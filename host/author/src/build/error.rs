//! Why a bundle is not built: what was wrong, in which component, and what to do. Finds nothing itself.

use rewake_runtime::{HostError, PlanError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use thiserror::Error;

/// Why a bundle is not built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The bundle is not as it must be.
    #[error(transparent)]
    Bundle(#[from] rewake_toml::Error),
    /// A component is not what it says, or does not do what it must.
    #[error(transparent)]
    Component(#[from] PlanError),
    /// A bundle that it uses is not to be had.
    #[error(transparent)]
    Used(#[from] HostError),
    /// Something that the build needs is not on this machine.
    #[error("component `{component}`: {what}\n  = help: {help}")]
    Toolchain {
        /// The component.
        component: String,
        /// What is missing.
        what: String,
        /// How to get it.
        help: String,
    },
    /// A command failed.
    #[error("component `{component}`: its build failed ({status}): {command}{}", hint(*status))]
    Command {
        /// The component.
        component: String,
        /// Its `build`.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// A command did not make what it should.
    #[error("component `{component}`: {what}\n  = help: {help}")]
    Artifact {
        /// The component.
        component: String,
        /// What is wrong.
        what: String,
        /// What to do.
        help: String,
    },
    /// The machine does not do it.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was read, written or run.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl BuildError {
    pub(crate) fn io(path: &Path, source: io::Error) -> BuildError {
        BuildError::Io { path: path.to_owned(), source }
    }
}

/// What the shell's own exit codes mean.
fn hint(status: ExitStatus) -> &'static str {
    match status.code() {
        Some(127) => "\n  = help: the shell found no such program: install it, or correct `build`",
        Some(126) => "\n  = help: the shell may not run that program: make it executable, or correct `build`",
        _ => "",
    }
}
