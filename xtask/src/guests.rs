//! Building the guests: one cargo run for all of them, then each component where it is looked for.
//!
//! Knows what cargo makes and where bundles want it; the bundles' manifests are read in `bundles`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bundles::{self, Component};
use crate::process::Artifact;
use crate::workspace::Workspace;
use crate::{Result, console, process, wasi_target};

/// The folder, in cargo's target folder, of the guests that only tests run.
const TEST_GUESTS_FOLDER: &str = "guests";

/// What one cargo run made: library components by package, example components by target.
#[derive(Default)]
struct Built {
    libraries: BTreeMap<String, PathBuf>,
    examples: BTreeMap<String, PathBuf>,
}

/// Builds all guest packages, lays bundle components beside their bundle.toml and the test guests
/// into `target/guests`.
pub(crate) fn build(workspace: &Workspace) -> Result {
    let built = compile(workspace)?;
    let mut laid = 0;
    for folder in ["plugins", "examples"] {
        for component in bundles::find(&workspace.root.join(folder))? {
            lay(&component_file(&built, &component)?, &component.source)?;
            laid += 1;
        }
    }
    let folder = workspace.target.join(TEST_GUESTS_FOLDER);
    for (name, path) in &built.examples {
        lay(path, &folder.join(name).with_extension("wasm"))?;
    }
    console::note(&format!("{laid} bundle components, {} test guests", built.examples.len()));
    Ok(())
}

fn compile(workspace: &Workspace) -> Result<Built> {
    if workspace.guests.is_empty() {
        return Err("no guest package found: is this the root of the repository?".to_owned());
    }
    let mut command = workspace.cargo(&["build", "--profile", "guest", "--target", wasi_target::TARGET]);
    command.args(["--lib", "--examples"]).arg("--config").arg(remap(workspace));
    for guest in &workspace.guests {
        command.args(["--package", &guest.package]);
    }
    let mut built = Built::default();
    for artifact in process::artifacts(&mut command)? {
        if artifact.is_cdylib {
            built.add(workspace, artifact);
        }
    }
    Ok(built)
}

/// Compiler flags that keep this machine's paths out of components, so that the same sources make the
/// same bytes wherever they are built. Cargo joins them with those of `.cargo/config.toml`.
fn remap(workspace: &Workspace) -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let places = [(home, "/cargo"), (Some(workspace.root.clone()), "/rewake")];
    let flags = places.into_iter().filter_map(|(from, to)| {
        from.map(|from| format!("{:?}", format!("--remap-path-prefix={}={to}", from.display())))
    });
    let flags: Vec<String> = flags.collect();
    format!("target.{}.rustflags=[{}]", wasi_target::TARGET, flags.join(","))
}

impl Built {
    fn add(&mut self, workspace: &Workspace, artifact: Artifact) {
        let is_wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
        let Some(path) = artifact.files.into_iter().find(is_wasm) else { return };
        if artifact.is_example {
            self.examples.insert(artifact.target, path);
            return;
        }
        if let Some(guest) = workspace.guests.iter().find(|guest| guest.manifest == artifact.manifest) {
            self.libraries.insert(guest.package.clone(), path);
        }
    }
}

fn component_file(built: &Built, component: &Component) -> Result<PathBuf> {
    let found = built.libraries.get(&component.package).cloned();
    found.ok_or_else(|| {
        format!(
            "{}: component `{}` is built from package `{}`, which made no component. \
             Is it a member of the workspace, in plugins/ or examples/, with crate-type = [\"cdylib\", \"rlib\"]?",
            component.manifest.display(),
            component.name,
            component.package
        )
    })
}

/// Copies by renaming, so that a test that runs meanwhile never reads half a component, and leaves an
/// equal file alone, so that nothing that watches it starts again.
fn lay(from: &Path, to: &Path) -> Result {
    let failed =
        |error: std::io::Error| format!("cannot copy {} to {}: {error}", from.display(), to.display());
    let bytes = fs::read(from).map_err(failed)?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let partial = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    fs::copy(from, partial.path()).map_err(failed)?;
    partial.persist(to).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_laid_once() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.wasm"), folder.path().join("deep/b.wasm"));
        fs::write(&from, "one").unwrap();
        lay(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "one");

        let before = fs::metadata(&to).unwrap().modified().unwrap();
        lay(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), before, "an equal file is left alone");

        fs::write(&from, "two").unwrap();
        lay(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "two");
        assert!(lay(&folder.path().join("none"), &to).unwrap_err().contains("none"));
    }
}
