//! What a build with cargo needs of the machine, and what it is told. Knows Rust's toolchain; other
//! languages' tools say themselves what they lack.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rewake_bundle::Declared;
use tokio::process::Command;

use super::error::BuildError;

/// The target of components.
const TARGET: &str = "wasm32-wasip2";
/// Cargo's variable of further compiler flags for that target; they join those of `.cargo/config.toml`.
const FLAGS: &str = "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS";

/// Looks whether what the components' commands name is there.
pub(super) async fn check(folder: &Path, components: &[Declared]) -> Result<(), BuildError> {
    let with_cargo = |component: &&Declared| component.build.as_deref().is_some_and(is_cargo);
    let Some(first) = components.iter().find(with_cargo) else { return Ok(()) };
    let missing = |component: &Declared, what: String, help: &str| BuildError::Toolchain {
        component: component.name.get_ref().clone(),
        what,
        help: help.to_owned(),
    };
    if !runs(folder, "cargo", &["--version"]).await {
        let what = "it is built with cargo, and there is none".to_owned();
        let help = "install Rust, for example with rustup (https://rustup.rs), and see that cargo is on PATH";
        return Err(missing(first, what, help));
    }
    let for_target = |component: &&Declared| component.build.as_deref().is_some_and(|it| it.contains(TARGET));
    if let Some(component) = components.iter().find(for_target)
        && !has_target(folder).await
    {
        let what = format!("it is built for {TARGET}, and this Rust has no standard library for that");
        let help = "run `rustup target add wasm32-wasip2`; for a Rust that rustup did not install, `cargo \
                    xtask wasi-target` in Rewake's repository can lay the library into it";
        return Err(missing(component, what, help));
    }
    Ok(())
}

/// Whether a command is cargo's, perhaps after variables and other commands.
fn is_cargo(command: &str) -> bool {
    command.split(|c: char| c.is_whitespace() || c == ';' || c == '&').any(|word| word == "cargo")
}

async fn runs(folder: &Path, program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}

/// Asked of the compiler in the bundle's folder, where a rust-toolchain.toml may name another one. A compiler
/// that cannot be asked is cargo's to complain of.
async fn has_target(folder: &Path) -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    command.args(["--print", "target-libdir", "--target", TARGET]).current_dir(folder).stdin(Stdio::null());
    let Ok(output) = command.stderr(Stdio::null()).output().await else { return true };
    if !output.status.success() {
        return true;
    }
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let Ok(mut entries) = std::fs::read_dir(folder) else { return false };
    entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")))
}

/// What cargo is told beside the author's command: to leave this machine's paths out of components, so that
/// they do not tell who built them, and are the same wherever they are built.
pub(super) fn environment() -> Option<(&'static str, OsString)> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")))?;
    let remap = format!("--remap-path-prefix={}=/cargo", home.to_str()?);
    // Flags are parted by blanks, so a path with one cannot be said.
    if remap.contains(char::is_whitespace) {
        return None;
    }
    let flags = match env::var(FLAGS) {
        Ok(own) => format!("{own} {remap}"),
        Err(_) => remap,
    };
    Some((FLAGS, flags.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_seen_in_a_command() {
        for command in ["cargo build", "cd a && cargo build", "A=1 cargo build", "true;cargo build"] {
            assert!(is_cargo(command), "{command}");
        }
        for command in ["npm run build", "make", "./cargo.sh", "python cargo_like.py"] {
            assert!(!is_cargo(command), "{command}");
        }
    }

    #[test]
    fn this_machines_paths_are_left_out() {
        let (name, flags) = environment().unwrap();
        assert_eq!(name, FLAGS);
        assert!(
            flags.to_string_lossy().contains("--remap-path-prefix=")
                && flags.to_string_lossy().contains("=/cargo")
        );
    }
}
