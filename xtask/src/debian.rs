//! The standard library for components, built from Debian's packages of its source.
//!
//! For machines that reach a Debian mirror and no Rust server. Installs no package: it unpacks two of
//! them into a scratch folder. Knows apt's tools and cargo's `-Zbuild-std`; names no mirror of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wasi_target::{TARGET, Toolchain, is_library};
use crate::{Result, console, process, workspace};

/// Suites that carry newer compilers than the one a machine runs on. Those that a mirror does not have
/// are passed over.
const SUITES: [&str; 5] = ["bookworm-backports", "trixie", "trixie-backports", "forky", "sid"];

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Builds the library for the toolchain's exact version and lays it into `folder`.
///
/// # Errors
/// When this is no Debian, no reachable suite has that version, or the build fails.
pub(crate) fn install(toolchain: &Toolchain, folder: &Path) -> Result {
    if !process::succeeds(Command::new("apt-get").arg("--version")) {
        return Err("this is not Debian: there is no apt-get".to_owned());
    }
    let work = tempfile::tempdir().map_err(|error| format!("cannot make a scratch folder: {error}"))?;
    let apt = Apt::new(work.path())?;
    let unpacked = apt.unpack(&toolchain.version)?;
    let library = unpacked.join(format!("usr/src/rustc-{}/library", toolchain.version));
    console::note(&format!("building the standard library of Rust {}", toolchain.version));
    let built = build(work.path(), toolchain, &library)?;
    lay(&unpacked.join("usr/lib").join(TARGET), &built, folder).map_err(|error| {
        format!("cannot write to {}: {error}. Run this as the owner of the toolchain", folder.display())
    })
}

/// apt with package lists of its own, so that the machine's stay as they are.
struct Apt {
    work: PathBuf,
    options: Vec<String>,
    /// What `apt-get update` complained of; only told when something is missing afterwards.
    complaint: String,
}

impl Apt {
    fn new(work: &Path) -> Result<Apt> {
        let targets = process::output(Command::new("apt-get").args([
            "indextargets",
            "--format",
            "$(ORIGIN)|$(COMPONENT)|$(CREATED_BY)|$(CODENAME)|$(REPO_URI)",
        ]))?;
        let mirror = mirror(&targets).ok_or("apt on this machine has no Debian mirror for `main`")?;
        let signed =
            if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
        let sources: String =
            SUITES.iter().map(|suite| format!("deb {signed}{mirror} {suite} main\n")).collect();
        let failed = |error: std::io::Error| format!("cannot write to {}: {error}", work.display());
        for folder in ["lists/partial", "parts", "unpacked"] {
            fs::create_dir_all(work.join(folder)).map_err(failed)?;
        }
        fs::write(work.join("sources.list"), sources).map_err(failed)?;
        let option =
            |key: &str, path: &str| ["-o".to_owned(), format!("{key}={}", work.join(path).display())];
        let mut options = Vec::new();
        options.extend(option("Dir::Etc::SourceList", "sources.list"));
        options.extend(option("Dir::Etc::SourceParts", "parts"));
        options.extend(option("Dir::State::Lists", "lists"));
        // The scratch folder is this user's; apt's own user could not write to it.
        options.extend(["-o".to_owned(), "APT::Sandbox::User=root".to_owned()]);
        let mut apt = Apt { work: work.to_owned(), options, complaint: String::new() };
        let update = process::output(&mut apt.command("apt-get", &["-qq", "update"]));
        apt.complaint = update.err().unwrap_or_default();
        Ok(apt)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options).args(arguments).current_dir(&self.work);
        command
    }

    /// Downloads and unpacks the source of the standard library and the target's C library; returns
    /// the folder that stands for `/`.
    fn unpack(&self, version: &str) -> Result<PathBuf> {
        let listed = process::output(&mut self.command("apt-cache", &["madison", "rust-src"]))?;
        let source = package_version(&listed, version).ok_or_else(|| {
            format!("no rust-src {version} in the Debian suites that the mirror has. {}", self.complaint)
        })?;
        let package = format!("rust-src={source}");
        process::output(&mut self.command("apt-get", &["-qq", "download", &package, "wasi-libc"]))?;
        let unpacked = self.work.join("unpacked");
        let entries = fs::read_dir(&self.work)
            .map_err(|error| format!("cannot list {}: {error}", self.work.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "deb") {
                process::output(Command::new("dpkg").arg("-x").args([&path, &unpacked]))?;
            }
        }
        Ok(unpacked)
    }
}

/// The mirror of Debian itself among apt's targets, told from mirrors of updates by its plain code name.
/// Before the first `apt-get update` apt knows no origin; then the folder's usual name has to do.
fn mirror(targets: &str) -> Option<&str> {
    targets.lines().find_map(|line| {
        let [origin, "main", "Packages", codename, uri] = line.split('|').collect::<Vec<_>>()[..] else {
            return None;
        };
        let is_debian =
            origin == "Debian" || origin.starts_with("$(") && uri.trim_end_matches('/').ends_with("/debian");
        (is_debian && !codename.contains('-')).then_some(uri)
    })
}

/// The package's version for an upstream version, from lines like ` rust-src | 1.95.0+dfsg1-1 | …`.
fn package_version<'a>(listed: &'a str, upstream: &str) -> Option<&'a str> {
    let versions = listed.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim);
    versions.into_iter().find(|found| {
        found.strip_prefix(upstream).is_some_and(|revision| revision.starts_with(['+', '-', '~']))
    })
}

/// Builds the standard library as a dependency of an empty crate; returns the files it consists of.
fn build(work: &Path, toolchain: &Toolchain, library: &Path) -> Result<Vec<PathBuf>> {
    let folder = work.join("std");
    let manifest = "[package]\nname = \"std-build\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    let failed = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    fs::create_dir_all(folder.join("src")).map_err(failed)?;
    fs::write(folder.join("Cargo.toml"), manifest).map_err(failed)?;
    fs::write(folder.join("src/lib.rs"), "").map_err(failed)?;
    let mut command = workspace::cargo();
    command.args(["build", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET]);
    command.current_dir(&folder).env("CARGO_TARGET_DIR", work.join("out"));
    // A stable compiler builds its own standard library with what only it may use.
    command.env("RUSTC_BOOTSTRAP", "1");
    // With bitcode, guests can be linked with LTO, as with the library that rustup brings.
    command.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", "-C embed-bitcode=yes");
    if !toolchain.library_source().exists() {
        // Cargo's own tests use this to point at another source; it spares us writing a link into the
        // toolchain that an interrupted run would leave behind.
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
    }
    let made = process::artifacts(&mut command)?;
    let for_target = work.join("out").join(TARGET);
    let files = made.into_iter().flat_map(|artifact| artifact.files);
    let is_part =
        |path: &PathBuf| path.starts_with(for_target.join("release/deps")) && has_extension(path, "rlib");
    Ok(files.filter(is_part).collect())
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// The C library first and `libstd` last: anyone who is interrupted has a folder that is seen to be
/// incomplete.
fn lay(c_library: &Path, built: &[PathBuf], folder: &Path) -> std::io::Result<()> {
    let self_contained = folder.join("self-contained");
    fs::create_dir_all(&self_contained)?;
    for entry in fs::read_dir(c_library)? {
        let entry = entry?;
        fs::copy(entry.path(), self_contained.join(entry.file_name()))?;
    }
    let (last, first): (Vec<_>, Vec<_>) = built.iter().partition(|path| is_library(path, "std"));
    for path in first.into_iter().chain(last) {
        fs::copy(path, folder.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_of_debian_itself_is_found() {
        let targets = "\
            Other|main|Packages|tool|http://other.example/debian/\n\
            Debian|main|Packages|bookworm-security|http://mirror.example/security/\n\
            Debian|main|DEP-11|bookworm|http://mirror.example/none/\n\
            Debian|contrib|Packages|bookworm|http://mirror.example/none/\n\
            Debian|main|Packages|bookworm|http://mirror.example/debian/\n";
        assert_eq!(mirror(targets), Some("http://mirror.example/debian/"));
        let never_updated = "$(ORIGIN)|main|Packages|trixie|http://mirror.example/debian/\n";
        assert_eq!(mirror(never_updated), Some("http://mirror.example/debian/"));
        assert_eq!(mirror("Ubuntu|main|Packages|noble|http://mirror.example/ubuntu/\n"), None);
        assert_eq!(mirror(""), None);
    }

    #[test]
    fn only_the_compilers_own_version_counts() {
        let listed = "\
            rust-src | 1.96.0+dfsg1-1 | http://mirror.example/debian sid/main amd64 Packages\n\
            rust-src | 1.95.0+dfsg1-2 | http://mirror.example/debian forky/main amd64 Packages\n";
        assert_eq!(package_version(listed, "1.95.0"), Some("1.95.0+dfsg1-2"));
        assert_eq!(package_version(listed, "1.9"), None);
        assert_eq!(package_version("", "1.95.0"), None);
    }

    #[test]
    fn the_library_is_laid_whole() {
        let work = tempfile::tempdir().unwrap();
        let (c_library, folder) = (work.path().join("c"), work.path().join("lib"));
        fs::create_dir(&c_library).unwrap();
        fs::write(c_library.join("libc.a"), "").unwrap();
        let built: Vec<PathBuf> =
            ["libstd-1.rlib", "libcore-1.rlib"].iter().map(|name| work.path().join(name)).collect();
        for path in &built {
            fs::write(path, "").unwrap();
        }
        lay(&c_library, &built, &folder).unwrap();
        for path in ["self-contained/libc.a", "libcore-1.rlib", "libstd-1.rlib"] {
            assert!(folder.join(path).exists(), "{path}");
        }

        fs::remove_file(&built[1]).unwrap();
        let second = work.path().join("second");
        assert!(lay(&c_library, &built, &second).is_err());
        assert!(!second.join("libstd-1.rlib").exists(), "an interrupted folder must not look complete");
    }
}
