//! `cargo xtask test`: every check and test of the repository, cheap ones first, tests last.
//!
//! Knows the order and why; what each check demands is its own business.

use std::process::Command;
use std::time::Instant;

use crate::workspace::Workspace;
use crate::{Result, console, process, setup};

/// What of the suite to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Leave out clippy, documentation and licences.
    quick: bool,
    /// Names of tests; where there are any, only those tests run.
    filter: Vec<String>,
}

impl Options {
    /// Reads what stands after `cargo xtask test`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            match argument {
                "--quick" => options.quick = true,
                "--" => {
                    options.filter = arguments.map(|&name| name.to_owned()).collect();
                    break;
                }
                other => {
                    return Err(format!(
                        "cargo xtask test has no option `{other}`: give names of tests after `--`"
                    ));
                }
            }
        }
        Ok(options)
    }

    fn is_whole(&self) -> bool {
        !self.quick && self.filter.is_empty()
    }
}

/// Runs the suite and ends at the first failure.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let started = Instant::now();
    if options.filter.is_empty() {
        step("formatting", &mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    }
    if options.is_whole() {
        licences(workspace)?;
    }
    setup::everything(workspace)?;
    if options.is_whole() {
        // Both check without generating code and share what they learn of the dependencies.
        step(
            "clippy (the first time: about 4 minutes)",
            &mut workspace.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        )?;
        let mut documentation = workspace.cargo(&["doc", "--no-deps", "--workspace"]);
        step("documentation", documentation.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    if options.filter.is_empty() {
        step("examples in the documentation", &mut workspace.cargo(&["test", "--doc", "--workspace"]))?;
    }
    let mut tests = tests(workspace, &options.filter);
    if !process::succeeds(Command::new("tmux").arg("-V")) {
        console::note(
            "tmux is not installed: the talk at a terminal is not tried in it, only at a terminal of the test's own. \
             To have it: apt-get install tmux",
        );
        tests.env("REWAKE_TEST_NO_TMUX", "1");
    }
    step("tests", &mut tests)?;
    console::note(&format!("all passed in {} s", started.elapsed().as_secs()));
    Ok(())
}

fn step(heading: &str, command: &mut Command) -> Result {
    console::heading(heading);
    process::run(command)
}

/// With nextest where it is installed: it runs the tests of all binaries at once.
fn tests(workspace: &Workspace, filter: &[String]) -> Command {
    let mut command = if process::succeeds(&mut workspace.cargo(&["nextest", "--version"])) {
        workspace.cargo(&["nextest", "run", "--workspace"])
    } else {
        workspace.cargo(&["test", "--workspace", "--lib", "--bins", "--tests"])
    };
    if !filter.is_empty() {
        command.arg("--").args(filter);
    }
    command
}

fn licences(workspace: &Workspace) -> Result {
    if process::succeeds(&mut workspace.cargo(&["deny", "--version"])) {
        let mut command = workspace.cargo(&["deny", "--workspace", "check", "bans", "licenses", "sources"]);
        return step("licences, sources and bans of the dependencies", &mut command);
    }
    console::heading("licences, sources and bans of the dependencies: skipped");
    console::note("cargo-deny is not installed; to have it: cargo install --locked cargo-deny");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        assert_eq!(Options::parse(&["--quick"]).unwrap(), Options { quick: true, filter: Vec::new() });
        let filtered = Options::parse(&["--", "replay", "--exact"]).unwrap();
        assert_eq!(
            filtered,
            Options { quick: false, filter: vec!["replay".to_owned(), "--exact".to_owned()] }
        );
        assert!(!filtered.is_whole() && Options::default().is_whole());
        assert!(Options::parse(&["replay"]).unwrap_err().contains("`replay`"));
    }
}
