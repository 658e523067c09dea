//! Builds up to where components are looked at: commands, what they make, and what wakes a watch. Builds
//! that end in a lock are tests of the program, which has components to build with.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::watch::Watch;
use super::*;

const HEAD: &str = "schema = 1\n[bundle]\nname = \"acme/a\"\nversion = \"0.1.0\"\napi = \"0.1\"\n";

fn bundle(component: &str) -> (TempDir, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{HEAD}[component.a]\nkind = \"tool\"\nsource = \"a.wasm\"\n{component}");
    fs::write(folder.path().join(MANIFEST_FILE), text).unwrap();
    let manifest = manifest(folder.path()).unwrap();
    (folder, manifest)
}

fn collected(component: &str) -> (TempDir, Result<bool, BuildError>) {
    let (folder, manifest) = bundle(component);
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(folder.path().join("out/made.wasm"), "made").unwrap();
    let result = collect::collect(folder.path(), &manifest.components[0]);
    (folder, result)
}

#[tokio::test]
async fn a_command_runs_in_the_bundles_folder() {
    let (folder, _) = bundle("");
    command::run(folder.path(), "a", "pwd > where && test ! -t 0").await.unwrap();
    let told = fs::read_to_string(folder.path().join("where")).unwrap();
    assert_eq!(PathBuf::from(told.trim()).canonicalize().unwrap(), folder.path().canonicalize().unwrap());
}

#[tokio::test]
async fn a_command_that_fails_is_named_with_its_component() {
    let (folder, _) = bundle("");
    for (command, words) in [
        ("exit 3", &["component `a`", "exit status: 3", "exit 3"][..]),
        ("no-such-program-here", &["127", "install it"]),
        ("kill -9 $$", &["signal: 9"]),
    ] {
        let error = command::run(folder.path(), "a", command).await.unwrap_err();
        assert!(matches!(error, BuildError::Command { .. }));
        for word in words {
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn what_was_made_is_laid_where_the_manifest_names_it() {
    let component = "build = \"true\"\nartifact = \"out/made.wasm\"\n";
    let (folder, result) = collected(component);
    assert!(result.unwrap());
    let source = folder.path().join("a.wasm");
    assert_eq!(fs::read_to_string(&source).unwrap(), "made");
    let manifest = manifest(folder.path()).unwrap();
    assert!(!collect::collect(folder.path(), &manifest.components[0]).unwrap(), "it is the same already");
}

#[test]
fn what_was_not_made_is_missed() {
    let (_folder, result) = collected("build = \"true\"\nartifact = \"out/other.wasm\"\n");
    let error = result.unwrap_err().to_string();
    assert!(error.contains("component `a`: its build made no `out/other.wasm`"), "{error}");
    let (_folder, result) = collected("build = \"true\"\n");
    let error = result.unwrap_err().to_string();
    assert!(error.contains("its build made no `a.wasm`") && error.contains("`artifact`"), "{error}");
    let (_folder, result) = collected("");
    assert!(!result.unwrap(), "a component that nobody builds is the loader's to miss");
}

#[test]
fn a_folder_without_a_manifest_is_told_in_the_loaders_words() {
    let folder = tempfile::tempdir().unwrap();
    let error = manifest(folder.path()).unwrap_err().to_string();
    assert!(error.contains("a bundle is a folder with a bundle.toml in it"), "{error}");
    let gone = manifest(&folder.path().join("none")).unwrap_err().to_string();
    assert!(gone.contains("cannot be opened"), "{gone}");
}

async fn woken(watch: &mut Watch) -> Vec<PathBuf> {
    let changed = tokio::time::timeout(Duration::from_secs(60), watch.changed());
    changed.await.expect("it sees the change")
}

#[tokio::test]
async fn a_watch_sees_edits_and_not_what_builds_write() {
    let (folder, _) = bundle("build = \"true\"\nartifact = \"out/made.wasm\"\n");
    let at = |name: &str| folder.path().join(name);
    for folder in ["src", "out", "dist", "target/debug", ".git", ".rewake/sdk"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("src/lib.rs"), "one").unwrap();
    fs::write(at(".gitignore"), "/dist\n").unwrap();
    let mut watch = Watch::new(folder.path());
    let built = ["target/debug/x", ".git/HEAD", ".rewake/sdk/lib.rs", "dist/a.js", "out/made.wasm", "a.wasm"];
    for built in built.into_iter().chain([LOCK_FILE]) {
        fs::write(at(built), "built").unwrap();
    }
    // Written again, and the same as before.
    fs::write(at("src/lib.rs"), "one").unwrap();
    let quiet = tokio::time::timeout(Duration::from_millis(1500), watch.changed()).await;
    assert!(quiet.is_err(), "{quiet:?}");

    fs::write(at("src/lib.rs"), "two").unwrap();
    fs::write(at("src/more.rs"), "more").unwrap();
    assert_eq!(woken(&mut watch).await, [PathBuf::from("src/lib.rs"), PathBuf::from("src/more.rs")]);
    fs::remove_file(at("src/more.rs")).unwrap();
    assert_eq!(woken(&mut watch).await, [PathBuf::from("src/more.rs")]);
    // While the manifest is broken, its own edits still count.
    fs::write(at(MANIFEST_FILE), "=").unwrap();
    let changed = woken(&mut watch).await;
    assert!(changed.contains(&PathBuf::from(MANIFEST_FILE)), "{changed:?}");
}
