//! That the SDK which authors get is whole, and stands on the same dependencies as ours.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_below(folder: &Path, base: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path(), base));
        } else {
            found.insert(entry.path().strip_prefix(base).unwrap().to_str().unwrap().to_owned());
        }
    }
    found
}

fn embedded(path: &str) -> Table {
    let (_, text) = files::FILES.iter().find(|(name, _)| *name == path).expect("it is embedded");
    text.parse().unwrap()
}

#[test]
fn every_file_is_there_and_is_the_repositorys_own() {
    let root = root();
    let ours: BTreeSet<String> = ["sdk/guest", "sdk/guest-macros", "sdk/wire", "wit"]
        .iter()
        .flat_map(|folder| files_below(&root.join(folder), &root))
        .collect();
    let theirs: BTreeSet<String> = files::FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(ours, theirs);
    for (path, text) in files::FILES.iter().filter(|(path, _)| !path.ends_with("Cargo.toml")) {
        assert_eq!(fs::read_to_string(root.join(path)).unwrap(), *text, "{path}");
    }
}

/// What a requirement says, however it is written.
fn requirement(value: &Value) -> (Option<&str>, Vec<&str>, bool) {
    let features = value.get("features").and_then(Value::as_array).into_iter().flatten();
    (
        value.as_str().or_else(|| value.get("version").and_then(Value::as_str)),
        features.filter_map(Value::as_str).collect(),
        value.get("default-features").and_then(Value::as_bool).unwrap_or(true),
    )
}

#[test]
fn the_manifests_stand_alone_on_the_workspaces_versions() {
    let workspace: Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let shared = &workspace["workspace"]["dependencies"];
    for package in ["sdk/guest", "sdk/guest-macros", "sdk/wire"] {
        let path = format!("{package}/Cargo.toml");
        let manifest = embedded(&path);
        let text = manifest.to_string();
        assert!(!text.contains("workspace"), "{path} still inherits:\n{text}");
        assert_eq!(manifest["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
        let original: Table = fs::read_to_string(root().join(&path)).unwrap().parse().unwrap();
        let wasm = |table: &Table| {
            let targets = table.get("target").and_then(Value::as_table).cloned().unwrap_or_default();
            targets.into_iter().flat_map(|(_, target)| target["dependencies"].as_table().cloned().unwrap())
        };
        let all = |table: &Table| -> Table {
            let direct = table["dependencies"].as_table().cloned().unwrap();
            direct.into_iter().chain(wasm(table)).collect()
        };
        let theirs = all(&manifest);
        let names = |table: &Table| table.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&theirs), names(&all(&original)), "{path}");
        for (name, value) in &theirs {
            match value.get("path") {
                Some(path) => assert_eq!(
                    path.as_str(),
                    Some(if name == "rewake-wire" { "../wire" } else { "../guest-macros" }),
                    "{name}"
                ),
                None => assert_eq!(requirement(value), requirement(&shared[name.as_str()]), "{path}: {name}"),
            }
        }
    }
}

#[test]
fn what_is_locked_is_what_the_workspace_has_locked() {
    let ours: Table = fs::read_to_string(root().join("Cargo.lock")).unwrap().parse().unwrap();
    let theirs: Table = lock().parse().unwrap();
    let packages = |table: &Table| table["package"].as_array().unwrap().clone();
    let ours = packages(&ours);
    let theirs = packages(&theirs);
    assert!(theirs.iter().all(|package| ours.contains(package)));
    for name in ["rewake-sdk", "rewake-sdk-macros", "schemars", "serde_json", "syn", "wit-bindgen"] {
        assert!(theirs.iter().any(|package| package["name"].as_str() == Some(name)), "{name}");
    }
    assert!(!theirs.iter().any(|package| package["name"].as_str() == Some("wasmtime")));
}

#[test]
fn the_sdk_is_laid_whole_and_what_does_not_belong_goes() {
    let bundle = tempfile::tempdir().unwrap();
    assert!(!is_used(bundle.path()));
    fs::create_dir_all(bundle.path().join("parts/words")).unwrap();
    let manifest = bundle.path().join("parts/words/Cargo.toml");
    fs::write(&manifest, "rewake-sdk = { path = \"../../.rewake/sdk/guest\" }").unwrap();
    assert!(is_used(bundle.path()));

    restore(bundle.path()).unwrap();
    let folder = bundle.path().join(FOLDER);
    let laid = files_below(&folder, &folder);
    assert_eq!(laid.len(), files::FILES.len());
    let kept = folder.join("sdk/guest/src/lib.rs");
    let before = fs::metadata(&kept).unwrap().modified().unwrap();
    fs::write(folder.join("sdk/guest/src/old.rs"), "").unwrap();
    fs::write(folder.join("wit/README.md"), "changed").unwrap();
    restore(bundle.path()).unwrap();
    assert_eq!(files_below(&folder, &folder), laid);
    assert_eq!(fs::metadata(&kept).unwrap().modified().unwrap(), before, "what is right is left alone");
    assert!(fs::read_to_string(folder.join("wit/README.md")).unwrap().contains("contract"));
}
