//! Bundles that use each other.

use std::path::{Path, PathBuf};

use super::super::{Bundle, BundleSet, Catalogue, Gathering, Locator, Offer, PluginKind};
use super::{files, lines, plugin, write};
use rewake_toml::Error;

/// The set of the bundle in `root`, those in `with` beside it, and all that they use; with nothing installed.
fn load_set(root: &Path, with: &[PathBuf]) -> Result<BundleSet, Error> {
    let installed = Catalogue::default();
    let with: Vec<Locator> = with.iter().cloned().map(Locator::Folder).collect();
    let mut gathering = Gathering::new(&Locator::Folder(root.to_owned()), &with, &installed);
    // Nothing is installed, so nothing can be asked for.
    while gathering.wants()?.is_some() {}
    gathering.finish()
}

/// A bundle with one component of each of these kinds, named like it.
fn named(name: &str, uses: &str, agent: &str, kinds: &[PluginKind]) -> Vec<(String, Vec<u8>)> {
    let mut text = format!(
        "schema = 1\n[bundle]\nname = \"{name}\"\nversion = \"0.1.2\"\napi = \"0.1\"\nuse = [{uses}]\n{agent}\n"
    );
    let mut files = Vec::new();
    for kind in kinds {
        text += &format!("[component.{kind}]\nkind = \"{kind}\"\nsource = \"{kind}.wasm\"\n");
        if *kind == PluginKind::Hook {
            text += "[[component.hook.on]]\nevent = \"PreToolUse\"\n";
        }
        files.push((format!("{kind}.wasm"), plugin(*kind)));
    }
    files.push(("bundle.toml".to_owned(), text.into_bytes()));
    files
}

fn bundle(name: &str, uses: &str, agent: &str, kinds: &[PluginKind]) -> Bundle {
    let named = named(name, uses, agent, kinds);
    let named: Vec<(&str, &[u8])> =
        named.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    Bundle::from_files(files(&named)).expect("the test's own bundle is well-formed")
}

fn folder(dir: &Path, path: &str, name: &str, uses: &str) {
    let named = named(name, uses, "", &[]);
    let named: Vec<(&str, &[u8])> =
        named.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    write(&dir.join(path), &named);
}

fn names(set: &BundleSet) -> Vec<&str> {
    set.bundles().iter().map(|bundle| bundle.name().as_str()).collect()
}

#[test]
fn used_bundles_are_loaded_once_even_in_a_circle() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    folder(dir.path(), "a", "acme/a", "\"../b\", \"../c\", \"acme/d@0.1\"");
    folder(dir.path(), "b", "acme/b", "\"../a\", \"../b\", \"../c/../c\"");
    folder(dir.path(), "c", "acme/c", "\"acme/b@^0.1.1\"");
    folder(dir.path(), "d", "acme/d", "");
    let set = load_set(&dir.path().join("a"), &[dir.path().join("d"), dir.path().join("b/../d")])
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(names(&set), ["acme/a", "acme/d", "acme/b", "acme/c"]);
    assert_eq!(set.root().name().as_str(), "acme/a");
    assert!(set.get("acme/c").is_some() && set.get("acme/x").is_none());
}

#[test]
fn a_used_bundle_that_is_missing_is_named_where_it_is_used() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    folder(dir.path(), "a", "acme/a", "\"../gone\"");
    let error = load_set(&dir.path().join("a"), &[]).expect_err("it is missing");
    assert!(lines(&error)[0].starts_with("6:8 the used bundle "), "{error}");
    assert!(error.to_string().contains("a/bundle.toml:6:8"), "{error}");
}

#[track_caller]
fn check_refused(root: Bundle, others: Vec<Bundle>, expected: &[&str]) {
    let error = BundleSet::new(root, others).expect_err("it is refused");
    assert_eq!(lines(&error), expected);
}

#[test]
fn uses_by_name_are_met_by_version() {
    let files = || bundle("acme/files", "", "", &[]);
    let user = |wanted: &str| bundle("acme/a", &format!("\"{wanted}\""), "", &[]);
    for wanted in ["acme/files", "acme/files@0.1", "acme/files@=0.1.2", "acme/files@>=0.1, <0.3"] {
        assert!(BundleSet::new(user(wanted), vec![files()]).is_ok(), "{wanted}");
    }
    check_refused(
        user("acme/files@0.2"),
        vec![files()],
        &[
            "6:8 `acme/files` is here in version 0.1.2, and ^0.2 is asked for | give the bundle in that version, or change the one asked for",
        ],
    );
    check_refused(
        user("acme/file@0.1"),
        vec![files()],
        &["6:8 the used bundle `acme/file` is not here | did you mean `acme/files`?"],
    );
    check_refused(
        user("other/thing"),
        vec![],
        &[
            "6:8 the used bundle `other/thing` is not here | give it too: by its path in `use`, or beside this bundle when the session is made",
        ],
    );
}

#[test]
fn one_name_is_one_bundle() {
    let first = bundle("acme/a", "", "", &[]);
    let set = BundleSet::new(first.clone(), vec![first.clone()]).expect("the same bundle twice counts once");
    assert_eq!(set.bundles().len(), 1);
    let second = bundle("acme/a", "", "", &[PluginKind::Tool]);
    let help = format!(
        "- is a second, different bundle named `acme/a` | the first is bundle.toml (blake3:{}), and this is blake3:{}: keep one of them",
        first.digest(),
        second.digest()
    );
    check_refused(first, vec![second], &[&help]);
}

#[test]
fn the_harness_is_the_agent_s_or_the_only_one() {
    let with = |agent: &str, kinds: &[PluginKind], others: Vec<Bundle>| {
        let set = BundleSet::new(bundle("acme/a", "", agent, kinds), others).expect("it is well-formed");
        set.harness().map(|(bundle, found)| format!("{}:{}", bundle.name(), found.name()))
    };
    let other = || vec![bundle("acme/b", "", "", &[PluginKind::Tool, PluginKind::Harness])];
    let refused = |found: Result<String, Error>| lines(&found.expect_err("it is refused")).join("\n");
    let named = "[agent]\nharness = \"harness\"";
    assert_eq!(
        with(named, &[PluginKind::Harness], other()).as_deref(),
        Ok("acme/a:harness"),
        "its own comes first"
    );
    assert_eq!(with(named, &[PluginKind::Tool], other()).as_deref(), Ok("acme/b:harness"));
    assert_eq!(
        with("[agent]\nharness = \"acme/b:harness\"", &[PluginKind::Harness], other()).as_deref(),
        Ok("acme/b:harness")
    );
    assert_eq!(with("", &[], other()).as_deref(), Ok("acme/b:harness"));
    assert_eq!(
        refused(with("", &[PluginKind::Harness], other())),
        "- several harnesses are here: `acme/a:harness` and `acme/b:harness` | say which in [agent]: harness = \"scope/name:component\""
    );
    assert_eq!(
        refused(with("", &[], vec![])),
        "- no harness is here to run | run it beside an agent: `rewake run AGENT --with THIS`; or add a component of kind \"harness\""
    );
    assert_eq!(
        refused(with("[agent]\nharness = \"harnes\"", &[], other())),
        "8:11 no harness `harnes` is here | did you mean \"harness\"?"
    );
}

#[test]
fn components_are_listed_by_kind_and_tools_selected_by_the_root() {
    let root = bundle("acme/a", "", "[agent]\ntools = [\"acme/b:*\"]", &[PluginKind::Tool]);
    let set = BundleSet::new(root, vec![bundle("acme/b", "", "", &[PluginKind::Hook, PluginKind::Tool])])
        .expect("it is well-formed");
    let offers: Vec<Offer> = set
        .components(PluginKind::Tool)
        .map(|(bundle, found)| {
            Offer::new(bundle.name(), found.name(), "same_name").expect("it is a tool's name")
        })
        .collect();
    assert_eq!(offers.len(), 2);
    let chosen = set.select_tools(&offers).expect("one of them is selected");
    assert_eq!(chosen.len(), 1);
    assert_eq!(chosen[0].offer.bundle.as_str(), "acme/b");
}

#[test]
fn a_bundle_given_beside_the_root_brings_all_its_tools() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let plugins = [
        ("a", named("acme/a", "\"../used\"", "[agent]\ntools = []", &[PluginKind::Harness])),
        ("used", named("acme/used", "", "", &[PluginKind::Tool])),
        ("beside", named("acme/beside", "", "", &[PluginKind::Tool])),
    ];
    for (path, named) in &plugins {
        let named: Vec<(&str, &[u8])> =
            named.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        write(&dir.path().join(path), &named);
    }
    let set = load_set(&dir.path().join("a"), &[dir.path().join("beside")])
        .unwrap_or_else(|error| panic!("{error}"));
    let offers = set.bundles().iter().filter(|bundle| bundle.name().as_str() != "acme/a").map(|bundle| {
        let tool = bundle.name().as_str().replace("acme/", "do_");
        Offer::new(bundle.name(), "tool", &tool).expect("a name for a tool")
    });
    let offers: Vec<Offer> = offers.collect();
    let chosen = set.select_tools(&offers).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = chosen.iter().map(|chosen| chosen.name.as_str()).collect();
    assert_eq!(names, ["do_beside"], "what is used is picked by the agent, what is beside it is there");
}
