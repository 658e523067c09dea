//! The workspace as cargo sees it: its folders, its guest packages, and cargo itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Result, process};

/// The package of guests that only tests run, each an example target.
const TEST_GUESTS: &str = "rewake-test-guests";

/// Where the workspace and its builds are.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// Packages that are built as components.
    pub(crate) guests: Vec<Guest>,
    /// Targets of integration tests.
    pub(crate) tests: Vec<String>,
}

/// A package that is built as one component, or as several, one an example target.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) package: String,
    pub(crate) manifest: PathBuf,
}

impl Workspace {
    /// Asks cargo, from the current folder.
    pub(crate) fn find() -> Result<Workspace> {
        let metadata = process::output(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
        Workspace::read(&metadata).ok_or_else(|| "cargo metadata answers in a form not known here".to_owned())
    }

    fn read(metadata: &str) -> Option<Workspace> {
        let metadata: Value = serde_json::from_str(metadata).ok()?;
        let root = PathBuf::from(metadata["workspace_root"].as_str()?);
        let packages = metadata["packages"].as_array()?;
        let guests = packages.iter().filter_map(|package| guest(package, &root)).collect();
        let tests = packages.iter().flat_map(tests).collect();
        Some(Workspace { target: PathBuf::from(metadata["target_directory"].as_str()?), root, guests, tests })
    }

    /// Cargo, run at the root with these arguments.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = cargo();
        command.args(arguments).current_dir(&self.root);
        command
    }
}

/// The cargo that runs us, else the one in PATH.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The names of a package's integration tests.
fn tests(package: &Value) -> Vec<String> {
    let targets = package["targets"].as_array().into_iter().flatten();
    let tests = targets
        .filter(|target| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"test".into())));
    tests.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect()
}

/// Plugins and examples with a `cdylib`, and the test guests.
fn guest(package: &Value, root: &Path) -> Option<Guest> {
    let guest = Guest {
        package: package["name"].as_str()?.to_owned(),
        manifest: PathBuf::from(package["manifest_path"].as_str()?),
    };
    let folder = guest.manifest.strip_prefix(root).ok()?;
    let of_an_author = folder.starts_with("plugins") || folder.starts_with("examples");
    let targets = package["targets"].as_array()?;
    let is_cdylib = |target: &Value| {
        target["crate_types"].as_array().is_some_and(|types| types.iter().any(|t| t == "cdylib"))
    };
    (of_an_author && targets.iter().any(is_cdylib) || guest.package == TEST_GUESTS).then_some(guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_told_from_other_packages() {
        let package = |folder: &str, name: &str, kind: &str| {
            format!(
                r#"{{"name":"{name}","manifest_path":"/w/{folder}/Cargo.toml","targets":[{{"kind":["{kind}"],"name":"{name}","crate_types":["{kind}"]}}]}}"#
            )
        };
        let packages = [
            package("plugins/files/read", "files-read", "cdylib"),
            package("plugins/shared", "shared", "lib"),
            package("examples/tool", "tool", "cdylib"),
            package("host/cli", "rewake", "cdylib"),
            package("tests/guests", TEST_GUESTS, "lib"),
            package("host/core", "laws", "test"),
        ];
        let metadata = format!(
            r#"{{"workspace_root":"/w","target_directory":"/t","packages":[{}]}}"#,
            packages.join(",")
        );
        let workspace = Workspace::read(&metadata).unwrap();
        let names: Vec<&str> = workspace.guests.iter().map(|guest| guest.package.as_str()).collect();
        assert_eq!(names, ["files-read", "tool", TEST_GUESTS]);
        assert_eq!((workspace.root, workspace.target), (PathBuf::from("/w"), PathBuf::from("/t")));
        assert_eq!(workspace.tests, ["laws"]);
        assert!(Workspace::read("{}").is_none());
    }
}
