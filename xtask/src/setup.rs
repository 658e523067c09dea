//! What has to be built before anything can be run: the components and the native programs.
//!
//! Only the order and the announcements; how each is made is in its own module.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

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

/// Builds the components and the program that runs them; returns the program's path.
pub(crate) fn rewake(workspace: &Workspace) -> Result<PathBuf> {
    guests(workspace)?;
    // Of the whole workspace, so that its dependencies are compiled with the features that the tests have them with.
    native(workspace, &["--workspace", "--bin", "rewake"])?;
    Ok(workspace.target.join("debug").join("rewake").with_extension(std::env::consts::EXE_EXTENSION))
}

/// Builds the components and every native target, tests included.
pub(crate) fn everything(workspace: &Workspace) -> Result {
    guests(workspace)?;
    native(workspace, &["--workspace", "--all-targets"])
}

/// Has the test that compares docs/wit.md with the contract write it: parsing WIT is built once, for tests.
pub(crate) fn docs(workspace: &Workspace) -> Result {
    process::run(tidy(workspace, "the_reference_is_what_the_contract_says").env("REWAKE_DOCS_WRITE", "1"))
}

/// Prints the lines of each crate and its largest cycle of modules, as the test that checks the cycles counts them.
pub(crate) fn lines(workspace: &Workspace) -> Result {
    let table = workspace.target.join("lines.txt");
    let mut command = tidy(workspace, "modules_depend_on_each_other_in_no_large_cycle");
    process::output(command.env("REWAKE_LINES_WRITE", &table))?;
    let table = fs::read_to_string(&table).map_err(|error| format!("{}: {error}", table.display()))?;
    console::line(table.trim_end());
    Ok(())
}

/// One test of tidy, which parses Rust and WIT.
fn tidy(workspace: &Workspace, test: &str) -> Command {
    let mut command = workspace.cargo(&["test", "--quiet", "--package", "rewake-tests", "--test", "tidy"]);
    command.args(["--", "--exact", test]);
    command
}

fn native(workspace: &Workspace, selection: &[&str]) -> Result {
    let compiled = fs::read_dir(workspace.target.join("debug/deps")).is_ok_and(|entries| {
        entries.flatten().any(|entry| wasi_target::is_library(&entry.path(), "wasmtime"))
    });
    console::heading(if compiled {
        "native build"
    } else {
        "native build (the first time: about 6 minutes on two cores, most of it compiling wasmtime once)"
    });
    process::run(workspace.cargo(&["build"]).args(selection))
}
