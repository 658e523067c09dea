//! From nothing to a bundle: what `rewake bundle new` makes builds, passes its tests and runs, for every
//! kind, with the versions of dependencies that this workspace is tested with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rewake_tests::bundles::root;
use rewake_tests::program::{Program, file, text};

/// Where the bundles of this test stand: always at the same place, so that cargo finds what it built before.
const FOLDER: &str = "target/new-bundles";

/// A command whose time is cargo's, and so without the bound that other commands have.
fn finish(mut command: Command) -> Output {
    // Everything that the SDK needs was fetched when this workspace was built.
    command.env("CARGO_NET_OFFLINE", "true").env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

fn rewake(program: &Program, args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(file());
    command.arg("--data").arg(program.data()).arg("--cache").arg(root().join("target/test-components"));
    command.args(args).current_dir(folder);
    finish(command)
}

/// An empty folder of this name; what cargo builds is shared by all of them.
fn made(program: &Program, kind: &str) -> PathBuf {
    let base = root().join(FOLDER);
    let folder = base.join(kind);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(base.join("target")).expect("a folder for cargo");
    rewake(program, &["bundle", "new", &format!("acme/my-{kind}"), "--kind", kind, "--dir", kind], &base);
    std::os::unix::fs::symlink("../target", folder.join("target")).expect("a link");
    folder
}

/// The packages of a Cargo.lock that come from a registry, with their checksums.
fn locked(path: &Path) -> BTreeSet<String> {
    let lock: toml::Table = fs::read_to_string(path).expect("a lock").parse().expect("TOML");
    let packages = lock["package"].as_array().expect("packages").iter();
    let registry = packages.filter(|package| package.get("source").is_some());
    registry
        .map(|package| format!("{} {} {}", package["name"], package["version"], package["checksum"]))
        .collect()
}

/// Whether a component names a place of this machine.
fn tells(component: &[u8], place: &Path) -> bool {
    let place = text(place);
    component.windows(place.len()).any(|part| part == place.as_bytes())
}

#[test]
fn every_kind_of_new_bundle_builds_and_passes_its_tests() {
    let program = Program::new();
    let tested = locked(&root().join("Cargo.lock"));
    for kind in ["tool", "hook", "harness"] {
        let folder = made(&program, kind);
        let built = rewake(&program, &["bundle", "build"], &folder);
        let said = String::from_utf8_lossy(&built.stdout);
        assert!(said.contains(&format!("acme/my-{kind} 0.1.0 is built; bundle.lock is written")), "{said}");
        let component = fs::read(folder.join(format!("my-{kind}.wasm"))).expect("the component");
        for place in [Some(folder.clone()), std::env::home_dir().map(|home| home.join(".cargo"))] {
            assert!(!tells(&component, &place.expect("a home")), "{kind}: it tells where it was built");
        }
        let used = locked(&folder.join("Cargo.lock"));
        let other: Vec<_> = used.difference(&tested).collect();
        assert!(!used.is_empty() && other.is_empty(), "other versions than the workspace's: {other:?}");

        let again = rewake(&program, &["bundle", "build", "--json"], &folder);
        let report: serde_json::Value = serde_json::from_slice(&again.stdout).expect("JSON alone");
        assert_eq!(
            (&report["lock_changed"], &report["bundle"]),
            (&false.into(), &format!("acme/my-{kind}").into())
        );

        rewake(&program, &["bundle", "check"], &folder);
        rewake(&program, &["bundle", "test"], &folder);
        let mut tests = Command::new(env!("CARGO"));
        // In the profile that the macros are built in already, but for what makes a small component.
        let fast = [("LTO", "off"), ("OPT_LEVEL", "0"), ("CODEGEN_UNITS", "16")];
        tests.envs(fast.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)));
        tests.args(["test", "--quiet", "--release", "--target-dir", "target"]).current_dir(&folder);
        let told = finish(tests);
        assert!(String::from_utf8_lossy(&told.stdout).contains("test result: ok. 1 passed"), "{told:?}");
    }
    let harness = text(&root().join(FOLDER).join("harness"));
    let tool = text(&root().join(FOLDER).join("tool"));
    let ran = program.run(&["run", &harness, "Hello.", "--with", &tool, "--grant-asked"]).expect(0);
    assert!(ran.stdout.contains("I am played by a script"), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_made_is_told_with_what_can() {
    let program = Program::new();
    let refused = |args: &[&str], words: &[&str]| {
        let args = [&["bundle", "new"], args].concat();
        program.run(&args).expect(2).says(words);
    };
    let dir = text(&program.beside("new"));
    refused(&["a", "--kind", "tool", "--lang", "python", "--dir", &dir], &["`python`", "rust"]);
    refused(&["a", "--kind", "agent", "--dir", &dir], &["tool, hook, harness"]);
    refused(&["A b", "--kind", "tool", "--dir", &dir], &["is not a bundle's name"]);
    refused(&["a/b", "--scope", "c", "--kind", "tool", "--dir", &dir], &["has a scope already"]);
    program.run(&["bundle", "new", "a", "--kind", "hook", "--dir", &dir]).expect(0);
    refused(&["a", "--kind", "hook", "--dir", &dir], &["not empty", "--dir"]);
}
