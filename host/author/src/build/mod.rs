//! `bundle build`: runs each component's `build`, collects what it makes, and writes `bundle.lock`. Knows
//! the order of that; the only code of this program that runs an author's commands is in `command.rs`.

pub(crate) mod again;
mod collect;
mod command;
mod error;
mod rust;
#[cfg(test)]
mod tests;
mod used;
pub mod watch;

use std::collections::BTreeMap;
use std::path::Path;

use rewake_bundle::{Bundle, Declared, LOCK_FILE, ListedTool, Lock, MANIFEST_FILE, Manifest};
use rewake_runtime::workbench::Workbench;
use rewake_store::Store;

pub use self::error::BuildError;
use crate::lay::lay;
use crate::sdk;

/// A command that a build is about to run, for anyone who shows it; its output goes to standard error as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running<'a> {
    /// The component.
    pub component: &'a str,
    /// Its `build`.
    pub command: &'a str,
}

/// What a build made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The bundle's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What pins it: covers the lock.
    pub digest: String,
    /// Its components, in the order of the manifest.
    pub components: Vec<BuiltComponent>,
    /// Whether the lock says something new.
    pub lock_changed: bool,
}

/// A component after a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltComponent {
    /// Its name in the bundle.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Its file.
    pub source: String,
    /// Bytes of that.
    pub bytes: u64,
    /// The tools that it lists.
    pub tools: Vec<String>,
}

/// Builds the bundle in `folder`. `installed` is the store that knows what is installed, for what it uses by
/// name; `say` hears what is done.
///
/// # Errors
/// If the manifest is not as it must be, a command fails, or what it makes is not what the manifest says.
pub async fn build(
    folder: &Path,
    bench: &Workbench,
    installed: &dyn Store,
    say: &mut (dyn FnMut(Running<'_>) + Send),
) -> Result<Built, BuildError> {
    let manifest = prepare(folder).await?;
    let mut done: Vec<&str> = Vec::new();
    for component in &manifest.components {
        let Some(command) = component.build.as_deref() else { continue };
        // Components that come out of one command are built by it once.
        if !done.contains(&command) {
            say(Running { component: component.name.get_ref(), command });
            command::run(folder, component.name.get_ref(), command).await?;
            done.push(command);
        }
    }
    for component in &manifest.components {
        collect::collect(folder, component)?;
    }
    lock(folder, bench, installed).await
}

/// Sees to what an author's commands need, and reads the manifest that names them.
async fn prepare(folder: &Path) -> Result<Manifest, BuildError> {
    let manifest = manifest(folder)?;
    if sdk::is_used(folder) {
        sdk::restore(folder).map_err(|source| BuildError::io(&folder.join(sdk::FOLDER), source))?;
    }
    rust::check(folder, &manifest.components).await?;
    Ok(manifest)
}

/// The manifest alone: what it names may not be built yet.
pub(crate) fn manifest(folder: &Path) -> Result<Manifest, BuildError> {
    let path = folder.join(MANIFEST_FILE);
    let shown = path.display().to_string();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // The loader says in its own words what is wrong with the folder.
        Err(source) => {
            return Err(match Bundle::load_unlocked(folder) {
                Err(error) => error.into(),
                Ok(_) => BuildError::io(&path, source),
            });
        }
    };
    Ok(Manifest::parse(&text, &shown)?)
}

/// Asks the components what they have, and writes the lock if it says something new.
async fn lock(folder: &Path, bench: &Workbench, installed: &dyn Store) -> Result<Built, BuildError> {
    let bundle = Bundle::load_unlocked(folder)?;
    let mut tools: BTreeMap<String, Vec<ListedTool>> = BTreeMap::new();
    for component in bundle.components() {
        tools.insert(component.name().to_owned(), bench.tools(&bundle, component).await?);
    }
    let names: BTreeMap<String, Vec<String>> = tools
        .iter()
        .map(|(component, tools)| (component.clone(), tools.iter().map(|tool| tool.name.clone()).collect()))
        .collect();
    let others = used::used(&bundle, folder, installed).await?;
    let text = Lock::of(&bundle, tools, &others).text();
    let path = folder.join(LOCK_FILE);
    let lock_changed = lay(&path, text.as_bytes()).map_err(|source| BuildError::io(&path, source))?;
    let whole = Bundle::load(folder)?;
    let components = whole.components().iter().map(|component| BuiltComponent {
        name: component.name().to_owned(),
        kind: component.kind().as_str().to_owned(),
        source: component.declared.source.get_ref().clone(),
        bytes: component.bytes().len() as u64,
        tools: names.get(component.name()).cloned().unwrap_or_default(),
    });
    Ok(Built {
        name: whole.name().as_str().to_owned(),
        version: whole.manifest().version.to_string(),
        digest: whole.digest().to_string(),
        components: components.collect(),
        lock_changed,
    })
}

/// What builds write below the folder: no reason to build again.
pub(crate) fn outputs(components: &[Declared]) -> Vec<String> {
    let made = components.iter().filter(|component| component.build.is_some());
    let files = made.flat_map(|component| {
        [Some(component.source.get_ref().clone()), component.artifact.clone()].into_iter().flatten()
    });
    files.chain([LOCK_FILE.to_owned()]).collect()
}
