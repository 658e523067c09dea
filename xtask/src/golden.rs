//! `cargo xtask golden`: has the tests that read golden files write them again, and tidy list them.

use crate::workspace::Workspace;
use crate::{Result, console, process, setup};

/// The tests that read golden files: a package and one of its targets. Tidy's list comes last.
const READERS: [(&str, &[&str]); 4] = [
    ("rewake-core", &["--test", "laws"]),
    ("rewake-assistant", &["--lib"]),
    ("rewake-tests", &["--test", "e2e"]),
    ("rewake-tests", &["--test", "tidy"]),
];

/// Builds the guests that a golden store's sessions run, and writes every golden file.
pub(crate) fn run(workspace: &Workspace) -> Result {
    setup::guests(workspace)?;
    console::heading("golden files");
    for (package, target) in READERS {
        let mut command = workspace.cargo(&["test", "--quiet", "--package", package]);
        process::run(command.args(target).arg("golden").env("UPDATE_GOLDEN", "1"))?;
    }
    console::note("look at what `git diff --stat` says; a commit that changes a golden file says why");
    Ok(())
}
