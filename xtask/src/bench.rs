//! `cargo xtask bench`: builds what the benchmarks need, in release, and runs them. What is measured, and how, is
//! `tests/bench`'s.

use crate::workspace::Workspace;
use crate::{Result, console, process, setup};

/// The benchmarks' package and program.
const PACKAGE: &str = "rewake-bench";

/// Builds the guests and the program, and runs it with these arguments.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result {
    setup::guests(workspace)?;
    console::heading("benchmarks, in release (the first time: about 8 minutes on two cores)");
    process::run(&mut workspace.cargo(&["build", "--release", "--package", PACKAGE]))?;
    console::heading("measuring: let nothing else run");
    let program = workspace.target.join("release").join(PACKAGE);
    let mut command = std::process::Command::new(program.with_extension(std::env::consts::EXE_EXTENSION));
    for (option, folder) in
        [("--guests", "guests"), ("--cache", "bench-components"), ("--data", "bench-data")]
    {
        command.arg(option).arg(workspace.target.join(folder));
    }
    // Its exit code says more than that it failed.
    match process::code(command.args(arguments))? {
        0 => Ok(()),
        code => std::process::exit(code),
    }
}
