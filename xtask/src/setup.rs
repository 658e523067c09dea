//! What has to be built before anything can be run: the components and the native programs.
//!
//! Only the order and the announcements; how each is made is in its own module.

use std::path::PathBuf;

use crate::workspace::Workspace;
use crate::{Result, console, guests, process, wasi_target};

/// Builds every component and lays each where it is looked for.
pub(crate) fn guests(workspace: &Workspace) -> Result {
    console::heading("wasm32-wasip2: the standard library of the components");
    wasi_target::ensure()?;
    console::heading(
        "guests: plugins, examples and test guests as components (the first time: about 3 minutes)",
    );
    guests::build(workspace)
}

/// Builds the components, then every native target of the workspace in one go; returns the path of
/// the `rewake` binary.
///
/// One selection of packages and targets serves every later step: another one could choose other
/// features of shared dependencies and compile wasmtime a second time.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    guests(workspace)?;
    let announcement = if workspace.target.join("debug/deps").is_dir() {
        "native build"
    } else {
        "native build (the first time: about 8 minutes on two cores, most of it compiling wasmtime once)"
    };
    console::heading(announcement);
    process::run(&mut workspace.cargo(&["build", "--workspace", "--all-targets"]))?;
    Ok(workspace.target.join("debug").join("rewake").with_extension(std::env::consts::EXE_EXTENSION))
}
