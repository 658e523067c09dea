//! `cargo xtask`: set-up and checks of this repository, in one program that needs nothing but Rust.
//!
//! This file knows the subcommands and their options; each has its module.

mod bench;
mod bundles;
mod checks;
mod console;
mod debian;
mod demo;
mod fuzz;
mod golden;
mod guests;
mod process;
mod setup;
mod wasi_target;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use workspace::Workspace;

const USAGE: &str = "\
Set-up and checks of this repository.

  cargo xtask demo                 set-up and build, then an agent that is killed twice and finishes
  cargo xtask wasi-target          put the wasm32-wasip2 standard library into the Rust toolchain
  cargo xtask guests               build every plugin, example and test guest as a component
  cargo xtask build                guests, then the `rewake` program
  cargo xtask docs                 write docs/wit.md from the plugin contract
  cargo xtask golden               write the golden files again (tests/golden/README.md)
  cargo xtask lines                print the lines of each crate, without tests, and its largest cycle of modules
  cargo xtask test                 set-up, then every check and test
  cargo xtask test --quick         without clippy and the documentation
  cargo xtask test -- FILTER…      only the tests whose names match, after set-up
  cargo xtask fuzz                 run each fuzz target for 10 seconds; [--seconds N] [TARGET…]
  cargo xtask bench [OPTIONS]      set-up, then measure this machine (docs/benchmarks.md); --help says how";

/// What went wrong and what to do, for the person at the terminal.
type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap_or("?")).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result {
    match arguments {
        [] | ["help" | "-h" | "--help"] => {
            console::line(USAGE);
            Ok(())
        }
        ["wasi-target"] => wasi_target::ensure(),
        // Lays the library into any folder by the Debian path, to try that path without hiding a
        // toolchain's own copy.
        ["wasi-target", "--debian-into", folder] => wasi_target::from_debian_into(&PathBuf::from(folder)),
        ["guests"] => setup::guests(&Workspace::find()?),
        ["build"] => {
            let program = setup::rewake(&Workspace::find()?)?;
            console::line(&program.display().to_string());
            Ok(())
        }
        ["docs"] => setup::docs(&Workspace::find()?),
        ["golden"] => golden::run(&Workspace::find()?),
        ["lines"] => setup::lines(&Workspace::find()?),
        ["demo"] => demo::run(&Workspace::find()?),
        ["bench", options @ ..] => bench::run(&Workspace::find()?, options),
        ["fuzz", options @ ..] => fuzz::run(&Workspace::find()?, &fuzz::Options::parse(options)?),
        ["test", options @ ..] => checks::run(&Workspace::find()?, &checks::Options::parse(options)?),
        _ => Err(format!("`cargo xtask {}` is not a command.\n\n{USAGE}", arguments.join(" "))),
    }
}
