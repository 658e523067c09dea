//! The rules about which crate may depend on which, on what `cargo metadata` says of the manifests.
//!
//! The directions are those of ARCHITECTURE.md. A new crate needs a line here before it can land.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tree::{Violation, line_of, root};

/// What a workspace crate may name of the workspace. The binary names the inner crates itself until
/// the server stands between.
const EDGES: [(&str, &[&str]); 21] = [
    (
        "rewake",
        &[
            "rewake-author",
            "rewake-server",
            "rewake-client",
            "rewake-runtime",
            "rewake-transcript",
            "rewake-models",
            "rewake-sandbox",
            "rewake-policy",
            "rewake-bundle",
            "rewake-toml",
            "rewake-store",
            "rewake-core",
            "rewake-text",
            "rewake-wire",
        ],
    ),
    (
        "rewake-author",
        &[
            "rewake-runtime",
            "rewake-transcript",
            "rewake-models",
            "rewake-sandbox",
            "rewake-policy",
            "rewake-bundle",
            "rewake-schema",
            "rewake-toml",
            "rewake-store",
            "rewake-core",
            "rewake-text",
            "rewake-wire",
        ],
    ),
    ("rewake-server", &["rewake-runtime", "rewake-core", "rewake-wire"]),
    (
        "rewake-runtime",
        &[
            "rewake-models",
            "rewake-sandbox",
            "rewake-policy",
            "rewake-bundle",
            "rewake-egress",
            "rewake-schema",
            "rewake-toml",
            "rewake-bindings",
            "rewake-wasi",
            "rewake-store",
            "rewake-core",
            "rewake-text",
            "rewake-wire",
        ],
    ),
    // Requests to models are made of the contract's types, and their conversions are the sandbox's.
    (
        "rewake-models",
        &[
            "rewake-sandbox",
            "rewake-policy",
            "rewake-bundle",
            "rewake-egress",
            "rewake-toml",
            "rewake-bindings",
            "rewake-store",
            "rewake-core",
            "rewake-wire",
        ],
    ),
    (
        "rewake-sandbox",
        &[
            "rewake-policy",
            "rewake-bundle",
            "rewake-egress",
            "rewake-bindings",
            "rewake-wasi",
            "rewake-core",
            "rewake-wire",
        ],
    ),
    (
        "rewake-policy",
        &[
            "rewake-bundle",
            "rewake-egress",
            "rewake-toml",
            "rewake-core",
            "rewake-text",
            "rewake-wire",
            "rewake-untrusted",
        ],
    ),
    ("rewake-bundle", &["rewake-toml", "rewake-core", "rewake-text", "rewake-wire", "rewake-untrusted"]),
    ("rewake-egress", &["rewake-core"]),
    ("rewake-schema", &["rewake-core"]),
    ("rewake-toml", &["rewake-core", "rewake-text"]),
    ("rewake-wasi", &["rewake-wire"]),
    ("rewake-bindings", &["rewake-wasi"]),
    ("rewake-store", &["rewake-core", "rewake-wire"]),
    ("rewake-core", &["rewake-wire"]),
    ("rewake-transcript", &["rewake-core", "rewake-wire"]),
    ("rewake-client", &["rewake-wire"]),
    ("rewake-wire", &[]),
    ("rewake-sdk", &["rewake-sdk-macros", "rewake-wire"]),
    ("rewake-sdk-macros", &[]),
    ("rewake-text", &[]),
];

/// Folders whose crates may name anything of the workspace, and which nothing else may name.
const OUTER: [&str; 3] = ["tests/", "examples/", "xtask/"];

/// A plugin is an author's crate and sees what an author sees.
const PLUGINS: &str = "plugins/";
const PLUGIN_EDGES: &[&str] = &["rewake-sdk"];

/// Crates, by the beginning of their names, and the only manifests that may name them.
const CONFINED: [(&str, &[&str]); 5] = [
    ("wasmtime", &["rewake-wasi", "rewake-bindings", "rewake-sandbox", "rewake-runtime"]),
    ("rusqlite", &["rewake-store"]),
    ("hyper", &["rewake-egress"]),
    // The servers of tests speak it too.
    ("tokio-rustls", &["rewake-egress", "rewake-tests"]),
    ("axum", &["rewake-server"]),
];

/// Everything that the innermost crates may depend on: no async runtime, no I/O, no clock, no chance.
/// (The clock of `jiff` is banned by host/core/clippy.toml.)
const LISTED: [(&str, &[&str]); 3] = [
    (
        "rewake-core",
        &["rewake-wire", "blake3", "jiff", "serde", "serde_json", "serde_json_canonicalizer", "thiserror"],
    ),
    ("rewake-wire", &["base64", "serde", "serde_json"]),
    ("rewake-text", &[]),
];

/// What the rules read of a crate.
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Path of the manifest from the root of the tree.
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
}

pub(crate) struct Dependency {
    name: String,
    dev: bool,
    line: usize,
}

impl Crate {
    fn is_in(&self, folder: &str) -> bool {
        self.manifest.starts_with(folder)
    }

    fn violation(&self, dependency: &Dependency, rule: String) -> Violation {
        Violation::new(&self.manifest, dependency.line, rule)
    }
}

/// The members of this workspace.
pub(crate) fn workspace_crates() -> Vec<Crate> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root());
    let output = command.output().expect("cargo starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata answers in JSON");
    let crates: Vec<Crate> = metadata["packages"].as_array().into_iter().flatten().map(read).collect();
    assert!(!crates.is_empty(), "cargo metadata names no package");
    crates
}

fn read(package: &Value) -> Crate {
    let field = |key: &str| package[key].as_str().expect("a package's field is a string");
    let path = Path::new(field("manifest_path"));
    let text = std::fs::read_to_string(path).expect("a member's manifest is readable");
    let relative = path.strip_prefix(root()).expect("members are folders of the workspace");
    let dependencies = package["dependencies"].as_array().expect("a package has dependencies");
    Crate {
        name: field("name").to_owned(),
        manifest: relative.to_string_lossy().replace('\\', "/"),
        dependencies: dependencies.iter().map(|dependency| Dependency::read(dependency, &text)).collect(),
    }
}

impl Dependency {
    fn read(dependency: &Value, manifest: &str) -> Dependency {
        let name = dependency["name"].as_str().expect("a dependency has a name");
        let written = dependency["rename"].as_str().unwrap_or(name);
        Dependency {
            name: name.to_owned(),
            dev: dependency["kind"] == "dev",
            line: line_of(manifest, written),
        }
    }
}

/// Edges between members of the workspace, dev-dependencies excepted.
pub(crate) fn edges(crates: &[Crate]) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in crates.iter().filter(|member| !OUTER.iter().any(|folder| member.is_in(folder))) {
        let allowed = if member.is_in(PLUGINS) { Some(PLUGIN_EDGES) } else { lookup(&EDGES, &member.name) };
        let Some(allowed) = allowed else {
            let rule = format!(
                "`{}` has no line in EDGES of tests/tests/tidy/dependencies.rs: add one",
                member.name
            );
            found.push(Violation::new(&member.manifest, 1, rule));
            continue;
        };
        let inside = |dependency: &&Dependency| {
            !dependency.dev && crates.iter().any(|other| other.name == dependency.name)
        };
        for dependency in member.dependencies.iter().filter(inside) {
            if !allowed.contains(&dependency.name.as_str()) {
                let rule =
                    format!("`{}` may not depend on `{}`, only on {allowed:?}", member.name, dependency.name);
                found.push(member.violation(dependency, rule));
            }
        }
    }
    found
}

/// Crates that stand in their own manifests only, dev-dependencies included.
pub(crate) fn confined(crates: &[Crate]) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in crates {
        for dependency in &member.dependencies {
            for (prefix, owners) in CONFINED {
                if dependency.name.starts_with(prefix) && !owners.contains(&member.name.as_str()) {
                    let rule = format!("`{}` may stand in the manifests of {owners:?} only", dependency.name);
                    found.push(member.violation(dependency, rule));
                }
            }
        }
    }
    found
}

/// Crates whose dependencies are a closed list, dev-dependencies excepted.
pub(crate) fn listed(crates: &[Crate]) -> Vec<Violation> {
    let mut found = Vec::new();
    for member in crates {
        let Some(allowed) = lookup(&LISTED, &member.name) else { continue };
        for dependency in member.dependencies.iter().filter(|dependency| !dependency.dev) {
            if !allowed.contains(&dependency.name.as_str()) {
                let rule = format!("`{}` is pure and may depend on {allowed:?} only", member.name);
                found.push(member.violation(dependency, rule));
            }
        }
    }
    found
}

fn lookup(table: &[(&str, &'static [&'static str])], name: &str) -> Option<&'static [&'static str]> {
    table.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed)
}

/// A crate in a folder; a dependency that begins with `dev:` is one.
#[cfg(test)]
fn member(folder: &str, name: &str, dependencies: &[&str]) -> Crate {
    let dependency = |(line, name): (usize, &&str)| Dependency {
        name: name.trim_start_matches("dev:").to_owned(),
        dev: name.starts_with("dev:"),
        line,
    };
    let dependencies = (1..).zip(dependencies).map(dependency).collect();
    Crate { name: name.to_owned(), manifest: format!("{folder}/Cargo.toml"), dependencies }
}

#[cfg(test)]
fn places(found: &[Violation]) -> Vec<(&str, usize)> {
    found.iter().map(|violation| (violation.file.as_str(), violation.line)).collect()
}

#[test]
fn a_dependency_is_read_with_its_kind_and_line() {
    let manifest = "[dependencies]\nown = { package = \"rusqlite\" }\n";
    let value = |json: &str| serde_json::from_str(json).unwrap();
    let read = Dependency::read(&value(r#"{"name":"rusqlite","rename":"own","kind":null}"#), manifest);
    assert_eq!((read.name.as_str(), read.dev, read.line), ("rusqlite", false, 2));
    assert!(Dependency::read(&value(r#"{"name":"a","rename":null,"kind":"dev"}"#), manifest).dev);
    assert!(!Dependency::read(&value(r#"{"name":"a","rename":null,"kind":"build"}"#), manifest).dev);
}

#[test]
fn the_drawn_directions_pass() {
    let crates = [
        member("host/cli", "rewake", &["rewake-runtime", "rewake-wire", "clap"]),
        member("host/runtime", "rewake-runtime", &["rewake-store", "rewake-bindings", "dev:rewake-tests"]),
        member("host/store", "rewake-store", &["rewake-core", "rusqlite"]),
        member("host/core", "rewake-core", &["rewake-wire"]),
        member("host/bindings", "rewake-bindings", &["wasmtime"]),
        member("sdk/wire", "rewake-wire", &["serde"]),
        member("sdk/guest", "rewake-sdk", &["serde"]),
        member("plugins/files/read", "rewake-files-read", &["rewake-sdk", "serde"]),
        member("examples/tool", "example-tool", &["rewake-sdk"]),
        member("tests", "rewake-tests", &["rewake-store", "rewake"]),
    ];
    assert_eq!(edges(&crates), []);
}

#[test]
fn other_directions_are_told() {
    let crates = [
        member("host/core", "rewake-core", &["rewake-wire", "rewake-store"]),
        member("host/store", "rewake-store", &["rewake-runtime"]),
        member("host/server", "rewake-server", &["rewake-runtime", "rewake-core", "rewake-store"]),
        member("host/runtime", "rewake-runtime", &["rewake-tests"]),
        member("plugins/files", "rewake-files", &["rewake-wire"]),
        member("sdk/wire", "rewake-wire", &["rewake-files"]),
        member("host/new", "rewake-new", &[]),
        member("tests", "rewake-tests", &[]),
    ];
    let expected = [
        ("host/core/Cargo.toml", 2),
        ("host/store/Cargo.toml", 1),
        ("host/server/Cargo.toml", 3),
        ("host/runtime/Cargo.toml", 1),
        ("plugins/files/Cargo.toml", 1),
        ("sdk/wire/Cargo.toml", 1),
        ("host/new/Cargo.toml", 1),
    ];
    assert_eq!(places(&edges(&crates)), expected);
}

#[test]
fn heavy_crates_are_found_outside_their_manifests() {
    let crates = [
        member("host/runtime", "rewake-runtime", &["wasmtime", "wasmtime-wasi"]),
        member("host/store", "rewake-store", &["rusqlite"]),
        member("host/cli", "rewake", &["tokio", "wasmtime", "dev:rusqlite"]),
        member("tests", "rewake-tests", &["axum"]),
    ];
    assert_eq!(
        places(&confined(&crates)),
        [("host/cli/Cargo.toml", 2), ("host/cli/Cargo.toml", 3), ("tests/Cargo.toml", 1)]
    );
}

#[test]
fn the_core_gains_no_dependency_unseen() {
    let crates = [
        member("host/core", "rewake-core", &["serde", "tokio", "dev:proptest"]),
        member("sdk/wire", "rewake-wire", &["serde", "ulid"]),
        member("host/store", "rewake-store", &["tokio"]),
    ];
    assert_eq!(places(&listed(&crates)), [("host/core/Cargo.toml", 2), ("sdk/wire/Cargo.toml", 2)]);
}
