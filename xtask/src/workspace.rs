//! The workspace as cargo sees it: its folders, its guest packages, and cargo itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{CrateType, Metadata, MetadataCommand, Target};

use crate::Result;

/// The package of guests that only tests run, each an example target.
const TEST_GUESTS: &str = "rewake-test-guests";

/// Where the workspace and its builds are.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// Packages that are built as components, by name.
    pub(crate) guests: Vec<String>,
}

impl Workspace {
    /// Asks cargo, from the current folder.
    pub(crate) fn find() -> Result<Workspace> {
        let metadata =
            MetadataCommand::new().no_deps().exec().map_err(|error| format!("cargo metadata: {error}"))?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let guests = guests(&metadata, &root);
        Ok(Workspace { target: metadata.target_directory.into_std_path_buf(), root, guests })
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

/// Plugins and examples whose library is a `cdylib`, and the test guests.
fn guests(metadata: &Metadata, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.as_std_path().strip_prefix(root).unwrap_or(Path::new(""));
        let for_authors = folder.starts_with("plugins") || folder.starts_with("examples");
        if for_authors && package.targets.iter().any(is_component) || *package.name == TEST_GUESTS {
            found.push(package.name.to_string());
        }
    }
    found
}

/// Whether this target becomes a component when built for wasm32-wasip2.
pub(crate) fn is_component(target: &Target) -> bool {
    target.crate_types.contains(&CrateType::CDyLib)
}
