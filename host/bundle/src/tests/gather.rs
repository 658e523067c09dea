//! Bundles found by name: which version is meant, what wins, and what is said where there is none.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use rewake_core::ids::Digest;

use super::super::{Bundle, BundleSet, Catalogue, Gathering, LOCK_FILE, Locator, Lock, pack};
use super::{files, lines, write};
use rewake_toml::Error;

fn manifest(name: &str, version: &str, uses: &str) -> String {
    format!(
        "schema = 1\n[bundle]\nname = \"{name}\"\nversion = \"{version}\"\napi = \"0.1\"\nuse = [{uses}]\n"
    )
}

fn bundle(name: &str, version: &str, uses: &str) -> Bundle {
    Bundle::from_files(files(&[("bundle.toml", manifest(name, version, uses).as_bytes())])).unwrap()
}

/// The same with a lock, which pins these.
fn locked(name: &str, version: &str, uses: &str, pinned: &[&Bundle]) -> Bundle {
    let plain = bundle(name, version, uses);
    let lock = Lock::of(&plain, BTreeMap::new(), pinned.iter().copied()).text();
    let text = manifest(name, version, uses);
    Bundle::from_kept(name, files(&[("bundle.toml", text.as_bytes()), (LOCK_FILE, lock.as_bytes())]))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn lay(dir: &Path, bundle: &Bundle) {
    let all: Vec<(&str, &[u8])> = bundle.files().collect();
    write(dir, &all);
}

/// What a store would have.
struct Shelf(Vec<Bundle>);

impl Shelf {
    fn gather(&self, root: &str, with: &[&str]) -> Result<BundleSet, Error> {
        let versions: Vec<String> = self.0.iter().map(|one| one.manifest().version.to_string()).collect();
        let all = self.0.iter().zip(&versions);
        let all = all.map(|(one, version)| (one.name().as_str(), version.as_str(), one.digest()));
        let catalogue = Catalogue::new(all);
        let locator = |text: &&str| Locator::parse(OsStr::new(text)).unwrap();
        let with: Vec<Locator> = with.iter().map(locator).collect();
        let mut gathering = Gathering::new(&locator(&root), &with, &catalogue);
        while let Some(digest) = gathering.wants()? {
            gathering.give(self.get(digest));
        }
        gathering.finish()
    }

    fn get(&self, digest: Digest) -> Bundle {
        self.0.iter().find(|one| one.digest() == digest).expect("it is of the catalogue").clone()
    }
}

fn names(set: &BundleSet) -> Vec<String> {
    set.bundles().iter().map(|one| format!("{} {}", one.name(), one.manifest().version)).collect()
}

#[test]
fn a_locator_is_a_folder_a_file_or_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("acme/words");
    write(&folder, &[("bundle.toml", b"")]);
    let parse = |text: &str| Locator::parse(OsStr::new(text)).map_err(|invalid| invalid.message);
    for text in
        [".", "./acme/words", "../acme/words", "/acme/words", "words", "a/b/c", folder.to_str().unwrap()]
    {
        assert_eq!(parse(text), Ok(Locator::Folder(text.into())), "{text}");
    }
    for text in ["w.rewake", "./a/w-0.1.0.rewake"] {
        assert_eq!(parse(text), Ok(Locator::Packed(text.into())), "{text}");
    }
    for (text, shown) in [("acme/words", "acme/words"), ("acme/words@0.1", "acme/words@^0.1")] {
        let parsed = parse(text).unwrap();
        assert!(matches!(&parsed, Locator::Installed(..)), "{text}");
        assert_eq!(parsed.to_string(), shown);
        assert_eq!(parse(shown), Ok(parsed));
    }
    assert!(parse("acme/words@new").unwrap_err().contains("does not name versions"));
}

#[test]
fn the_highest_version_that_will_do_is_meant() {
    let all = ["0.1.0", "0.1.9", "0.1.10", "0.2.0"].map(|version| bundle("acme/x", version, ""));
    let user = bundle("acme/user", "1.0.0", "\"acme/x@0.1\"");
    let shelf = Shelf(all.into_iter().chain([user]).collect());
    let root = |text: &str| shelf.gather(text, &[]).map(|set| names(&set));
    assert_eq!(root("acme/x@0.1").unwrap(), ["acme/x 0.1.10"]);
    assert_eq!(root("acme/x@=0.1.9").unwrap(), ["acme/x 0.1.9"]);
    assert_eq!(root("acme/x").unwrap(), ["acme/x 0.2.0"]);
    assert_eq!(root("acme/user").unwrap(), ["acme/user 1.0.0", "acme/x 0.1.10"]);
    let set = shelf.gather("acme/user", &["acme/x@=0.1.0"]).unwrap();
    assert_eq!(names(&set), ["acme/user 1.0.0", "acme/x 0.1.0"], "what was given wins");
    let error = lines(&shelf.gather("acme/user", &["acme/x"]).unwrap_err());
    assert!(error[0].contains("`acme/x` is here in version 0.2.0, and ^0.1 is asked for"), "{error:?}");
}

#[test]
fn what_is_not_installed_is_told_with_what_is() {
    let shelf = Shelf(vec![bundle("acme/x", "0.1.0", ""), bundle("acme/x", "0.2.0", "")]);
    let said = |root: &str| lines(&shelf.gather(root, &[]).unwrap_err()).join("\n");
    assert!(said("acme/x@0.3").contains("installed in `0.1.0` and `0.2.0`, and `^0.3` is asked for"));
    assert!(said("acme/xx").contains("did you mean `acme/x`?"));
    let other = said("other/thing");
    assert!(other.contains("the bundle `other/thing` is not installed"), "{other}");
    assert!(other.contains("rewake bundle install") && other.contains("no folder of this name"), "{other}");
    let dir = tempfile::tempdir().unwrap();
    lay(dir.path(), &bundle("acme/user", "1.0.0", "\"other/thing\""));
    let folder = dir.path().to_str().unwrap();
    let error = lines(&shelf.gather(folder, &[]).unwrap_err());
    assert!(error[0].starts_with("6:8 the bundle `other/thing` is not installed"), "{error:?}");
}

/// All who use a name are heard, as far as they are known.
#[test]
fn a_version_must_do_for_all() {
    let x = |version: &str| bundle("acme/x", version, "");
    let user = |name: &str, uses: &str| bundle(name, "1.0.0", uses);
    let shelf = Shelf(vec![
        x("0.1.1"),
        x("0.1.2"),
        user("acme/a", "\"acme/x@0.1\""),
        user("acme/b", "\"acme/x@<0.1.2\""),
        user("acme/c", "\"acme/x@0.2\""),
    ]);
    let set = shelf.gather("acme/a", &["acme/b"]).unwrap();
    assert_eq!(names(&set), ["acme/a 1.0.0", "acme/b 1.0.0", "acme/x 0.1.1"]);
    let error = lines(&shelf.gather("acme/a", &["acme/c"]).unwrap_err());
    assert!(error[0].contains("`^0.1` and `^0.2` is asked for"), "{error:?}");
}

/// A bundle that is in no folder finds by its lock what its author found by a path.
#[test]
fn a_lock_leads_on_where_a_path_cannot() {
    let (old, new) = (bundle("acme/guard", "0.1.0", ""), bundle("acme/guard", "0.1.1", ""));
    let user = locked("acme/user", "1.0.0", "\"../guard\"", &[&old]);
    let shelf = Shelf(vec![user.clone(), old.clone(), new.clone()]);
    let set = shelf.gather("acme/user", &[]).unwrap();
    assert_eq!(names(&set), ["acme/user 1.0.0", "acme/guard 0.1.0"], "the pinned one, not the newest");

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("user.rewake");
    std::fs::write(&file, pack(&user).unwrap()).unwrap();
    let set = shelf.gather(file.to_str().unwrap(), &[]).unwrap();
    assert_eq!(names(&set), ["acme/user 1.0.0", "acme/guard 0.1.0"]);

    // Without the pinned one, what is installed is another: the root refuses it, with both digests.
    let error = Shelf(vec![user.clone(), new.clone()]).gather("acme/user", &[]).unwrap_err().to_string();
    let digests = [old.digest(), new.digest()].map(|digest| format!("blake3:{digest}"));
    assert!(digests.iter().all(|digest| error.contains(digest)), "{error}");
    assert!(error.contains("rewake bundle install") && error.contains("rewake bundle build"), "{error}");
    // As one of others it may: only the root's lock pins a session.
    let root = bundle("acme/root", "1.0.0", "\"acme/user\"");
    let set = Shelf(vec![root, user, new]).gather("acme/root", &[]).unwrap();
    assert_eq!(names(&set), ["acme/root 1.0.0", "acme/user 1.0.0", "acme/guard 0.1.1"]);
}

#[test]
fn a_lock_pins_the_folders_that_its_bundle_uses() {
    let dir = tempfile::tempdir().unwrap();
    let guard = bundle("acme/guard", "0.1.0", "");
    lay(&dir.path().join("guard"), &guard);
    lay(&dir.path().join("user"), &locked("acme/user", "1.0.0", "\"../guard\"", &[&guard]));
    let shelf = Shelf(vec![]);
    let root = dir.path().join("user");
    let root = root.to_str().unwrap();
    assert_eq!(names(&shelf.gather(root, &[]).unwrap()).len(), 2);
    lay(&dir.path().join("guard"), &bundle("acme/guard", "0.1.1", ""));
    let error = shelf.gather(root, &[]).unwrap_err().to_string();
    assert!(error.contains("uses acme/guard as it was built with, 0.1.0"), "{error}");
    assert!(error.contains("here it is 0.1.1"), "{error}");
}

#[test]
fn a_packed_file_that_is_not_there_is_told() {
    let error = Shelf(vec![]).gather("/nowhere/w.rewake", &[]).unwrap_err().to_string();
    assert!(error.contains("the packed bundle cannot be opened"), "{error}");
}
