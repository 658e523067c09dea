//! Puts the Rust SDK for authors into this crate: its three packages and the plugin contract, as files with
//! their paths. Knows how a member of this workspace becomes a package that stands alone; what becomes of
//! the files is `src/sdk.rs`'s.

#![allow(clippy::print_stdout, reason = "cargo listens to a build script's standard output")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The folders of the repository that are taken, and where each lies for an author: the SDK's bindings
/// look for the contract at `../../wit`, there as here.
const FOLDERS: [(&str, &str); 4] = [
    ("sdk/guest", "sdk/guest"),
    ("sdk/guest-macros", "sdk/guest-macros"),
    ("sdk/wire", "sdk/wire"),
    ("wit", "wit"),
];
/// The package whose dependencies are locked.
const SDK: &str = "rewake-sdk";
const HEADER: &str = "# Made by `rewake bundle` of a member of Rewake's own workspace; do not edit.\n\n";

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = here.join("../..").canonicalize().expect("this package is two folders below the root");
    let workspace = table(&root.join("Cargo.toml"));
    let mut code = String::from("pub(super) const FILES: &[(&str, &str)] = &[\n");
    for (folder, place) in FOLDERS {
        let base = root.join(folder);
        println!("cargo::rerun-if-changed={}", base.display());
        for path in files(&base) {
            let relative = path.strip_prefix(&base).expect("it was found below");
            let name = format!("{place}/{}", relative.to_str().expect("our files have plain names"));
            let from = match relative == Path::new("Cargo.toml") {
                true => {
                    let made = out.join(format!("{}.toml", place.replace('/', "-")));
                    let text = stand_alone(table(&path), &workspace);
                    fs::write(&made, text).expect("the output folder can be written");
                    made
                }
                false => path,
            };
            writeln!(code, "    ({name:?}, include_str!({from:?})),").expect("a string can be written");
        }
    }
    println!("cargo::rerun-if-changed={}", root.join("Cargo.toml").display());
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    let lock = locked(&table(&root.join("Cargo.lock")));
    code.push_str("];\n");
    writeln!(code, "pub(super) const LOCK: &str = {lock:?};").expect("a string can be written");
    fs::write(out.join("sdk_files.rs"), code).expect("the output folder can be written");
}

/// Every file below a folder, sorted.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

fn table(path: &Path) -> Table {
    let text = fs::read_to_string(path).expect("the file can be read");
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A member's manifest without anything that it takes from its workspace.
fn stand_alone(mut manifest: Table, workspace: &Table) -> String {
    let shared = workspace["workspace"].as_table().expect("the root is a workspace");
    // Lints are about our code, not about an author's build.
    manifest.remove("lints");
    let package = manifest.get_mut("package").and_then(Value::as_table_mut).expect("a member is a package");
    for (key, value) in package.iter_mut().filter(|(_, value)| is_inherited(value)) {
        *value = shared["package"][key.as_str()].clone();
    }
    let targets = manifest.get_mut("target").and_then(Value::as_table_mut);
    for target in targets.into_iter().flat_map(|targets| targets.iter_mut()) {
        dependencies(target.1.as_table_mut().expect("a target is a table"), shared);
    }
    dependencies(&mut manifest, shared);
    format!("{HEADER}{}", toml::to_string(&manifest).expect("a manifest can be written"))
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").is_some()
}

/// Writes out the dependencies that are the workspace's.
fn dependencies(table: &mut Table, shared: &Table) {
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let Some(listed) = table.get_mut(kind).and_then(Value::as_table_mut) else { continue };
        for (name, value) in listed.iter_mut().filter(|(_, value)| is_inherited(value)) {
            assert!(value.as_table().is_some_and(|own| own.len() == 1), "{name}: more than `workspace`");
            *value = shared["dependencies"][name.as_str()].clone();
            if let Some(path) = value.get("path").and_then(Value::as_str) {
                let beside = path.strip_prefix("sdk/").expect("the SDK depends on the SDK only");
                *value = Value::Table(Table::from_iter([("path".into(), format!("../{beside}").into())]));
            }
        }
    }
}

/// The part of the workspace's Cargo.lock that the SDK needs, so that an author begins with the versions
/// that were tested.
fn locked(lock: &Table) -> String {
    let packages: Vec<&Table> =
        lock["package"].as_array().expect("packages").iter().filter_map(Value::as_table).collect();
    let text = |package: &Table, key: &str| package[key].as_str().expect("a text").to_owned();
    let mut by_name: BTreeMap<String, Vec<&Table>> = BTreeMap::new();
    for package in &packages {
        by_name.entry(text(package, "name")).or_default().push(package);
    }
    let mut queue = vec![SDK.to_owned()];
    let mut taken: BTreeMap<(String, String), &Table> = BTreeMap::new();
    while let Some(wanted) = queue.pop() {
        let mut words = wanted.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let versions = by_name.get(name).expect("a locked dependency is locked");
        let is_meant = |package: &&&Table| version.is_none_or(|wanted| text(package, "version") == wanted);
        let package = versions.iter().find(is_meant).expect("a locked dependency is locked");
        if taken.insert((text(package, "name"), text(package, "version")), package).is_none() {
            let needs = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
            queue.extend(needs.filter_map(Value::as_str).map(str::to_owned));
        }
    }
    let mut kept = Table::new();
    kept.insert("version".into(), lock["version"].clone());
    let packages = taken.into_values().cloned().map(Value::Table).collect();
    kept.insert("package".into(), Value::Array(packages));
    toml::to_string(&kept).expect("a lock can be written")
}
