//! `cargo xtask fuzz`: builds the targets of tests/fuzz with coverage that libFuzzer can follow, and runs each for some
//! seconds.
//!
//! Needs nothing but stable Rust and a C++ compiler: the flags are those of cargo-fuzz without a sanitizer, which
//! safe code does without. Knows no target: each is a file in tests/fuzz/fuzz_targets.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::Workspace;
use crate::{Result, console, process, workspace};

/// Seconds that each target is run, if nobody says.
const SECONDS: u64 = 10;
/// Seconds that one input may take.
const INPUT_SECONDS_MAX: u64 = 10;
/// Mebibytes that one target may take.
const MEMORY_MIB_MAX: u64 = 2_048;
/// Bytes of an input.
const INPUT_BYTES_MAX: u64 = 64 << 10;
/// Targets that need nothing but the core: they are built in a minute, the others bring wasmtime.
const OF_THE_CORE: [&str; 4] = ["canonical", "journal", "rows", "values"];
/// What libFuzzer looks at: which edges are taken, and what is compared with what.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg",
    "fuzzing",
];

/// What to fuzz, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    seconds: u64,
    /// None: all.
    targets: Vec<String>,
}

impl Options {
    /// Reads what stands after `cargo xtask fuzz`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options { seconds: SECONDS, targets: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            match argument {
                "--seconds" => {
                    let given = arguments.next().and_then(|seconds| seconds.parse().ok());
                    let given = given.filter(|seconds| *seconds > 0);
                    options.seconds =
                        given.ok_or("--seconds wants a whole number of seconds, of 1 at least")?;
                }
                option if option.starts_with('-') => {
                    return Err(format!("cargo xtask fuzz has no option `{option}`, only --seconds N"));
                }
                target => options.targets.push(target.to_owned()),
            }
        }
        Ok(options)
    }
}

/// Builds and runs; ends at the first target that fails.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let folder = workspace.root.join("tests/fuzz");
    let targets = chosen(all(&folder)?, &options.targets)?;
    let built = build(workspace, &folder, &targets)?;
    for target in &targets {
        console::heading(&format!("{target}, for {} s", options.seconds));
        fuzz(workspace, &folder, &built, target, options.seconds)?;
    }
    Ok(())
}

/// The names of all targets.
fn all(folder: &Path) -> Result<Vec<String>> {
    let folder = folder.join("fuzz_targets");
    let listed = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = listed.filter_map(|entry| Some(entry.ok()?.path()));
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// Those that are wanted, of all.
fn chosen(all: Vec<String>, wanted: &[String]) -> Result<Vec<String>> {
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        return Err(format!("there is no fuzz target `{unknown}`; there are {}", all.join(", ")));
    }
    Ok(all.into_iter().filter(|name| wanted.is_empty() || wanted.contains(name)).collect())
}

/// Builds targets, and says where they are.
fn build(workspace: &Workspace, folder: &Path, targets: &[String]) -> Result<PathBuf> {
    let host = host()?;
    let made = workspace.target.join("fuzz");
    let is_small = targets.iter().all(|target| OF_THE_CORE.contains(&target.as_str()));
    console::heading(if is_small {
        "building the fuzz targets"
    } else {
        "building the fuzz targets (the first time: some ten minutes)"
    });
    let mut command = workspace::cargo();
    command.args(["build", "--locked", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    command.args(["--target", &host]).arg("--target-dir").arg(&made);
    if is_small {
        command.arg("--no-default-features");
    }
    for target in targets {
        command.args(["--bin", target]);
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    process::run(&mut command)?;
    Ok(made.join(host).join("debug"))
}

/// The machine's own target: build programs and macros are then built without the flags.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let said = process::output(Command::new(rustc).arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say what its host is")?.to_owned())
}

/// Runs a target. What is new to it is kept beside the build; what breaks it, in tests/fuzz/found.
fn fuzz(workspace: &Workspace, folder: &Path, built: &Path, target: &str, seconds: u64) -> Result {
    let kept = workspace.target.join("fuzz/corpus").join(target);
    let found = folder.join("found").join(target);
    for made in [&kept, &found] {
        std::fs::create_dir_all(made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    let mut command = Command::new(built.join(target));
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
    command.arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));
    command.arg(format!("-max_len={INPUT_BYTES_MAX}"));
    command.arg(format!("-artifact_prefix={}/", found.display()));
    command.args(["-print_final_stats=1", "-verbosity=1"]);
    command.arg(&kept).arg(folder.join("corpus").join(target));
    process::run(&mut command).map_err(|error| {
        format!(
            "{target} broke. The input is in {}; run the same command with that file as the only argument to have it \
             again. Once it is fixed, put the file into tests/fuzz/corpus/{target}, under a name that says what it is: \
             the tests try it from then on.\n{error}",
            found.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(Options::parse(&[]), Ok(Options { seconds: SECONDS, targets: vec![] }));
        let some = Options { seconds: 60, targets: vec!["lock".into(), "rows".into()] };
        assert_eq!(Options::parse(&["lock", "--seconds", "60", "rows"]), Ok(some));
        for wrong in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["--quick"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn targets_are_those_that_there_are() {
        let all = || vec!["lock".to_owned(), "rows".to_owned()];
        assert_eq!(chosen(all(), &[]), Ok(all()));
        assert_eq!(chosen(all(), &["rows".to_owned()]), Ok(vec!["rows".to_owned()]));
        assert!(chosen(all(), &["row".to_owned()]).unwrap_err().contains("lock, rows"));
    }

    /// Each target is a file with a line in the manifest and samples to begin with.
    #[test]
    fn every_target_is_built_and_has_samples() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz");
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let targets = all(&folder).unwrap();
        assert!(OF_THE_CORE.iter().all(|target| targets.iter().any(|known| known == target)));
        for target in targets {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} has no line");
            let samples = std::fs::read_dir(folder.join("corpus").join(&target));
            assert!(samples.is_ok_and(|mut samples| samples.next().is_some()), "{target} has no samples");
        }
    }
}
