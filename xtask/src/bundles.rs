//! Which components the bundles of this repository expect, and from which package each is built.
//!
//! Reads three keys of a manifest; the runtime alone knows whether a bundle is valid.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::Result;

const MANIFEST: &str = "bundle.toml";

/// A component that cargo builds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Component {
    /// The bundle.toml that names it.
    pub(crate) manifest: PathBuf,
    pub(crate) name: String,
    /// Where the bundle expects the component.
    pub(crate) source: PathBuf,
    pub(crate) package: String,
}

/// The components of every bundle under `folder`, which need not exist. Components without a `build`
/// key, or built by something else than cargo, are not ours to build.
pub(crate) fn find(folder: &Path) -> Result<Vec<Component>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                folders.push(entry.path());
            } else if entry.file_name() == MANIFEST {
                let text = fs::read_to_string(entry.path());
                let text =
                    text.map_err(|error| format!("cannot read {}: {error}", entry.path().display()))?;
                found.extend(components(&entry.path(), &text)?);
            }
        }
    }
    found.sort_by(|a, b| a.source.cmp(&b.source));
    Ok(found)
}

fn components(manifest: &Path, text: &str) -> Result<Vec<Component>> {
    let table: Table = text.parse().map_err(|error| format!("{}: {error}", manifest.display()))?;
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for (name, component) in table.get("component").and_then(Value::as_table).into_iter().flatten() {
        let field = |key| component.get(key).and_then(Value::as_str);
        let Some(build) = field("build").filter(|build| build.starts_with("cargo build")) else { continue };
        let at = |what: &str| format!("{}: component `{name}`: {what}", manifest.display());
        let source =
            field("source").ok_or_else(|| at("no `source`: write the file name of the component"))?;
        let package = package(build).ok_or_else(|| at("`build` names no package: add `-p NAME`"))?;
        found.push(Component {
            manifest: manifest.to_owned(),
            name: name.clone(),
            source: folder.join(source),
            package: package.to_owned(),
        });
    }
    Ok(found)
}

/// The package of a cargo command line.
fn package(build: &str) -> Option<&str> {
    let mut words = build.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-p" | "--package" => return words.next(),
            _ => {
                if let Some(name) = word.strip_prefix("--package=") {
                    return Some(name);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: &str = r#"
schema = 1
[component.words]
kind = "tool"
source = "words.wasm"
build = "cargo build --profile guest --target wasm32-wasip2 -p acme-words"
[component.given]
source = "given.wasm"
[component.other]
source = "other.wasm"
build = "npm run build"
"#;

    #[test]
    fn the_components_that_cargo_builds_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join(MANIFEST), BUNDLE).unwrap();
        let expected = Component {
            manifest: deep.join(MANIFEST),
            name: "words".to_owned(),
            source: deep.join("words.wasm"),
            package: "acme-words".to_owned(),
        };
        assert_eq!(find(folder.path()).unwrap(), [expected]);
        assert_eq!(find(&folder.path().join("none")).unwrap(), []);
    }

    #[test]
    fn our_own_bundles_name_what_cargo_makes_of_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for folder in ["plugins", "examples"] {
            let found = find(&root.join(folder)).unwrap();
            assert!(!found.is_empty(), "{folder}");
            for component in found {
                let manifest: Table = fs::read_to_string(&component.manifest).unwrap().parse().unwrap();
                let artifact = manifest["component"][component.name.as_str()]["artifact"].as_str();
                let file = component.package.replace('-', "_");
                let expected = format!("../../target/wasm32-wasip2/guest/{file}.wasm");
                assert_eq!(artifact, Some(expected.as_str()), "{}", component.manifest.display());
            }
        }
    }

    #[test]
    fn an_error_names_the_file_and_the_component() {
        for (line, problem) in [
            ("build = \"cargo build\"\nsource = \"a.wasm\"", "names no package"),
            ("build = \"cargo build -p a\"", "no `source`"),
        ] {
            let error =
                components(Path::new("x/bundle.toml"), &format!("[component.a]\n{line}")).unwrap_err();
            assert!(error.starts_with("x/bundle.toml: component `a`") && error.contains(problem), "{error}");
        }
        assert!(components(Path::new("x/bundle.toml"), "=").unwrap_err().starts_with("x/bundle.toml: "));
    }

    #[test]
    fn a_package_is_found_in_each_spelling() {
        assert_eq!(package("cargo build -p a --release"), Some("a"));
        assert_eq!(package("cargo build --package a"), Some("a"));
        assert_eq!(package("cargo build --package=a"), Some("a"));
        assert_eq!(package("cargo build --profile guest"), None);
        assert_eq!(package("cargo build -p"), None);
    }
}
