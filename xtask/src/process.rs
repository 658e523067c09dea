//! Running other programs: failures that say which command failed and how to run it again.
//!
//! Knows no command of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;

/// How often a command with a time limit is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Runs a command whose output the person sees.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| not_started(command, &error.to_string()))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("a command failed ({status}). To run it again:\n  {}", shown(command)))
}

/// Runs a command whose output the person sees, for its exit code; 1, if a signal ended it.
pub(crate) fn code(command: &mut Command) -> Result<i32> {
    let status = command.status().map_err(|error| not_started(command, &error.to_string()))?;
    Ok(status.code().unwrap_or(1))
}

/// Runs a command for its standard output; its standard error is shown only when it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| not_started(command, &error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("a command failed ({}): {}\n{}", output.status, shown(command), said.trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("the output of {} is not UTF-8", shown(command)))
}

/// What a cargo build made of one target.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Artifact {
    /// Of the package.
    pub(crate) manifest: PathBuf,
    pub(crate) target: String,
    pub(crate) is_example: bool,
    pub(crate) is_cdylib: bool,
    pub(crate) files: Vec<PathBuf>,
}

/// Runs a cargo build and returns what it made; its progress and diagnostics the person sees.
pub(crate) fn artifacts(command: &mut Command) -> Result<Vec<Artifact>> {
    let again = shown(command);
    command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_started(command, &error.to_string()))?;
    let output = child.stdout.take().ok_or("cargo has no standard output")?;
    let mut made = Vec::new();
    for line in BufReader::new(output).lines() {
        made.extend(artifact(&line.map_err(|error| format!("reading what cargo says: {error}"))?));
    }
    let status = child.wait().map_err(|error| format!("waiting for cargo: {error}"))?;
    if status.success() {
        return Ok(made);
    }
    Err(format!("a build failed ({status}). To run it again:\n  {again}"))
}

/// Reads one of cargo's messages; other messages, and what build programs print between them, are none.
fn artifact(line: &str) -> Option<Artifact> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let target = &message["target"];
    let holds =
        |list: &Value, word: &str| list.as_array().is_some_and(|list| list.iter().any(|item| item == word));
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
    Some(Artifact {
        manifest: PathBuf::from(message["manifest_path"].as_str()?),
        target: target["name"].as_str()?.to_owned(),
        is_example: holds(&target["kind"], "example"),
        is_cdylib: holds(&target["crate_types"], "cdylib"),
        files: files.collect(),
    })
}

/// Whether a command can be run and succeeds, in silence.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// As [`succeeds`], but a command that takes longer than `limit` is ended and counts as failed.
pub(crate) fn succeeds_within(command: &mut Command, limit: Duration) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < end => std::thread::sleep(POLL),
            _ => {
                // A child that has ended meanwhile cannot be killed, and need not be.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

fn not_started(command: &Command, error: &str) -> String {
    format!("cannot start `{}`: {error}. Is it installed and in PATH?\n  {}", name(command), shown(command))
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

/// The command as a shell takes it, with the variables set for it and the folder it runs in.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = Vec::new();
    if let Some(folder) = command.get_current_dir() {
        words.push(format!("cd {} &&", quoted(folder.as_os_str())));
    }
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", key.to_string_lossy(), quoted(value)));
        }
    }
    words.push(quoted(OsStr::new(&name(command))));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        let mut command = Command::new("/opt/rust/bin/cargo");
        command.args(["doc", "it's"]).env("RUSTDOCFLAGS", "-D warnings").current_dir("/a b");
        assert_eq!(shown(&command), r"cd '/a b' && RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s'");
    }

    #[test]
    fn what_cargo_made_is_read() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/w/g/Cargo.toml","target":{"kind":["example"],
            "crate_types":["cdylib"],"name":"probe"},"filenames":["/t/probe.wasm"]}"#;
        let expected = Artifact {
            manifest: PathBuf::from("/w/g/Cargo.toml"),
            target: "probe".to_owned(),
            is_example: true,
            is_cdylib: true,
            files: vec![PathBuf::from("/t/probe.wasm")],
        };
        assert_eq!(artifact(line), Some(expected));
        let library =
            artifact(&line.replace("example", "cdylib").replace("probe.wasm", "probe.rlib")).unwrap();
        assert!(!library.is_example && library.is_cdylib);
        assert_eq!(artifact(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(artifact("said by a build program"), None);
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert!(error.contains("exit status: 3") && error.contains("sh -c 'exit 3'"), "{error}");
        let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.contains("cannot start `no-such-program-anywhere`"), "{error}");
        let error = output(Command::new("sh").args(["-c", "echo why >&2; exit 1"])).unwrap_err();
        assert!(error.ends_with("why"), "{error}");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let limit = Duration::from_millis(100);
        let started = Instant::now();
        assert!(!succeeds_within(Command::new("sleep").arg("60"), limit));
        assert!(started.elapsed() < Duration::from_secs(30));
        assert!(succeeds_within(&mut Command::new("true"), Duration::from_secs(30)));
        assert!(!succeeds_within(&mut Command::new("false"), Duration::from_secs(30)));
    }
}
