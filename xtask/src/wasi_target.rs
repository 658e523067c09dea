//! `cargo xtask wasi-target`: the standard library that components are compiled against.
//!
//! Knows the ways to get it and their order, cheapest first; once it is there, everything works
//! offline. The Debian way itself is in `debian`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::{Result, console, debian, process};

/// The target of every component.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// rustup waits long for a network that is not there.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// The Rust toolchain that cargo uses here.
pub(crate) struct Toolchain {
    sysroot: PathBuf,
    /// As in `1.95.0`.
    pub(crate) version: String,
}

impl Toolchain {
    fn find() -> Result<Toolchain> {
        let sysroot = process::output(rustc().args(["--print", "sysroot"]))?;
        let version = process::output(rustc().arg("--version"))?;
        let number = version.split(' ').nth(1).ok_or_else(|| format!("rustc gives no version: {version}"))?;
        Ok(Toolchain { sysroot: PathBuf::from(sysroot.trim_end()), version: number.to_owned() })
    }

    fn target_folder(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(TARGET).join("lib")
    }

    /// Where cargo looks for the source of the standard library.
    pub(crate) fn library_source(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust/library")
    }
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Makes a plain `cargo build --target wasm32-wasip2` work.
///
/// # Errors
/// When no way leads to the library; tells why each did not and what to install by hand.
pub(crate) fn ensure() -> Result {
    let toolchain = Toolchain::find()?;
    let folder = toolchain.target_folder();
    if has_library(&folder) {
        console::note(&format!("{TARGET} is in the toolchain"));
        return Ok(());
    }
    let by_rustup = by_rustup(&folder);
    let Err(no_rustup) = by_rustup else {
        console::note(&format!("{TARGET}: added by rustup"));
        return Ok(());
    };
    console::note(&format!("{no_rustup}; trying Debian's packages (about 2 minutes)"));
    let Err(no_debian) = debian::install(&toolchain, &folder).and_then(|()| complete(&folder)) else {
        console::note(&format!("{TARGET}: built from Debian's packages"));
        return Ok(());
    };
    Err(format!(
        "the standard library for {TARGET} is not in {} and cannot be put there:\n\
         - {no_rustup}\n- {no_debian}\n\
         Install it by hand, for Rust {} exactly: with `rustup target add {TARGET}`, or with the package of \
         your distribution that holds it; then run the command again.",
        folder.display(),
        toolchain.version
    ))
}

/// The Debian way alone, into any folder.
pub(crate) fn from_debian_into(folder: &Path) -> Result {
    debian::install(&Toolchain::find()?, folder)?;
    complete(folder)?;
    console::note(&format!("{TARGET}: built from Debian's packages into {}", folder.display()));
    Ok(())
}

fn by_rustup(folder: &Path) -> Result {
    if !process::succeeds(Command::new("rustup").arg("--version")) {
        return Err("rustup is not installed".to_owned());
    }
    let mut add = Command::new("rustup");
    if !process::succeeds_within(add.args(["target", "add", TARGET]), RUSTUP_LIMIT) {
        return Err(format!("`rustup target add {TARGET}` failed"));
    }
    complete(folder)
        .map_err(|_| format!("`rustup target add {TARGET}` put it into another toolchain than rustc's"))
}

fn complete(folder: &Path) -> Result {
    if has_library(folder) { Ok(()) } else { Err(format!("no libstd in {}", folder.display())) }
}

fn has_library(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| is_library(&entry.path(), "std")))
}

/// Whether a file is the compiled crate of this name: `libNAME-HASH.rlib`.
pub(crate) fn is_library(path: &Path, name: &str) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.strip_prefix("lib")
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with('-'))
        && file.ends_with(".rlib")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_its_file() {
        assert!(is_library(Path::new("lib/libstd-0123.rlib"), "std"));
        for other in ["libstd_detect-0123.rlib", "libstd-0123.rmeta", "libcore-0123.rlib", "std-0123.rlib"] {
            assert!(!is_library(Path::new(other), "std"), "{other}");
        }
    }

    #[test]
    fn a_folder_is_complete_with_its_library() {
        let folder = tempfile::tempdir().unwrap();
        assert!(complete(&folder.path().join("none")).is_err());
        fs::write(folder.path().join("libcore-1.rlib"), "").unwrap();
        assert!(complete(folder.path()).is_err());
        fs::write(folder.path().join("libstd-1.rlib"), "").unwrap();
        assert_eq!(complete(folder.path()), Ok(()));
    }

    #[test]
    fn the_toolchain_tells_its_version() {
        let toolchain = Toolchain::find().unwrap();
        assert_eq!(toolchain.version.split('.').count(), 3, "{}", toolchain.version);
        assert!(toolchain.target_folder().starts_with(&toolchain.sysroot));
    }
}
