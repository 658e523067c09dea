//! Where the rules are found, what is said of a file that others can change or read, and that no directory of
//! theirs leads where no guest may come.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::config::exposed;
use rewake_bundle::Bundle;

/// A folder with a data folder, a folder of compiled components, and another one.
struct Places(TempDir);

impl Places {
    fn new() -> Places {
        let folder = tempfile::tempdir().unwrap();
        for dir in ["data/workspaces", "cache", "other/inner"] {
            fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        Places(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, named: Option<&Path>) -> RulesFile {
        let trust = TrustKey::in_state(Some(&self.path("state")));
        let file = RulesFile::new(named, &self.path("data"), &self.path("cache"), &trust);
        file.know_new().unwrap();
        file
    }

    /// Reads a text as the rules in `rules.toml`.
    fn read(&self, text: &str) -> Result<Rules, String> {
        fs::write(self.path("rules.toml"), text).unwrap();
        self.file(Some(&self.path("rules.toml"))).read().map_err(|error| error.to_string())
    }
}

fn dir(name: &str, path: &Path, access: &str) -> String {
    format!("[dirs.{name}]\npath = {path:?}\naccess = {access:?}\n")
}

#[test]
fn a_file_that_is_named_must_be_there_and_the_usual_one_need_not() {
    let places = Places::new();
    assert!(places.file(None).read().unwrap().dirs.is_empty());
    let error = places.file(Some(&places.path("none.toml"))).read().unwrap_err();
    assert!(error.to_string().contains("the rules cannot be read"), "{error}");
    let usual = places.path("data").join(RULES_FILE);
    fs::write(&usual, dir("x", &places.path("other"), "rw")).unwrap();
    assert_eq!(places.file(None).read().unwrap().dirs.len(), 1);
    fs::write(&usual, b"\xff").unwrap();
    assert!(places.file(None).read().unwrap_err().to_string().contains("UTF-8"));
}

/// Else a bundle that may write there grants itself what it likes, reads other sessions, or hands this process
/// machine code that the key of the compiled components vouches for.
#[test]
fn no_directory_leads_to_rules_data_compiled_components_or_this_process() {
    let places = Places::new();
    symlink(places.path("data"), places.path("link")).unwrap();
    symlink(places.path("other/rules.toml"), places.path("rules.toml")).unwrap();
    fs::write(places.path("other/rules.toml"), "").unwrap();
    for (path, words) in [
        (places.path("inner"), None),
        (places.path(""), Some("a way to these rules")),
        (places.path("other"), Some("a way to these rules")),
        (places.path("data"), Some("a way to Rewake's own data")),
        (places.path("data/workspaces"), Some("a way to Rewake's own data")),
        (places.path("data/not-there-yet"), Some("a way to Rewake's own data")),
        (places.path("other/../data"), Some("a way to Rewake's own data")),
        (places.path("link"), Some("a way to Rewake's own data")),
        (places.path("cache"), Some("a way to Rewake's own data")),
        ("/".into(), Some("a way to")),
        ("/proc/self".into(), Some("a way to Rewake's own memory and environment")),
    ] {
        for access in ["ro", "rw"] {
            let read = places.read(&dir("x", &path, access)).map(|_| ());
            match words {
                None => assert_eq!(read, Ok(())),
                Some(words) => assert!(read.unwrap_err().contains(words), "{}", path.display()),
            }
        }
    }
}

#[test]
fn no_directory_leads_to_secrets_or_to_what_the_rules_rely_on() {
    let places = Places::new();
    let (other, inner) = (places.path("other"), places.path("other/inner"));
    let secret = format!("[config.\"a/b\"]\nkey = {{ file = {:?} }}\n", inner.join("key"));
    let hook = format!("[[hook]]\nbundle = {:?}\ncomponent = \"guard\"\n", inner.display().to_string());
    let trust = format!("[egress]\nca_file = {:?}\n", inner.join("ca.pem"));
    for (more, access, words) in [
        (&secret, "ro", Some("a value of [config]")),
        (&secret, "rw", Some("a value of [config]")),
        (&hook, "ro", None),
        (&hook, "rw", Some("which these rules rely on")),
        (&trust, "ro", None),
        (&trust, "rw", Some("which these rules rely on")),
        (&dir("y", &inner, "ro"), "ro", None),
        (&dir("y", &inner, "ro"), "rw", Some("in the place of the directory \"y\"")),
        // The root of a mount cannot be replaced by who has it.
        (&dir("y", &other, "ro"), "rw", None),
    ] {
        let read = places.read(&format!("{}{more}", dir("x", &other, access))).map(|_| ());
        match words {
            None => assert_eq!(read, Ok(()), "{access} {more}"),
            Some(words) => assert!(read.as_ref().is_err_and(|told| told.contains(words)), "{read:?}"),
        }
    }
    // Nor may a hook's folder lie around a directory that can be changed.
    let around = format!("[[hook]]\nbundle = {:?}\ncomponent = \"guard\"\n", other.display().to_string());
    assert!(places.read(&format!("{}{around}", dir("x", &inner, "rw"))).is_err());
}

#[test]
fn rules_that_others_can_change_are_warned_about() {
    let places = Places::new();
    places.read("").unwrap();
    let file = places.path("rules.toml");
    for (mode, warned) in [(0o600, false), (0o644, false), (0o664, true), (0o646, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let warnings = places.file(Some(&file)).read().unwrap().warnings;
        assert_eq!(warnings.iter().any(|told| told.contains("can be changed by others")), warned, "{mode:o}");
    }
    // In a folder that everybody can write into, the file is anybody's, whether it is there or not.
    for (mode, warned) in [(0o700, false), (0o777, true), (0o1777, false)] {
        for folder in ["", "data"] {
            fs::set_permissions(places.path(folder), fs::Permissions::from_mode(mode)).unwrap();
        }
        for read in [places.file(Some(&file)).read(), places.file(None).read()] {
            let warnings = read.unwrap().warnings;
            assert_eq!(warnings.iter().any(|told| told.contains("in the place of")), warned, "{mode:o}");
        }
    }
}

#[test]
fn secrets_that_others_can_read_are_warned_about() {
    let places = Places::new();
    let manifest = "schema = 1\n[bundle]\nname = \"a/b\"\nversion = \"0.1.0\"\napi = \"0.1\"\n[config.key]\ntype = \"string\"\nsensitive = true\n[config.word]\ntype = \"string\"";
    let files = [("bundle.toml".to_owned(), manifest.as_bytes().to_vec().into())];
    let bundle = Bundle::from_files(files.into()).unwrap();
    fs::write(places.path("key"), "canary").unwrap();
    let (rules, key) = (places.path("rules.toml"), places.path("key"));
    for (text, file, warned) in [
        ("key = \"canary\"", &rules, true),
        ("key = { file = \"key\" }", &key, true),
        ("key = { env = \"PATH\" }", &rules, false),
        ("word = \"canary\"", &rules, false),
    ] {
        let text = format!("[config.\"a/b\"]\n{text}");
        places.read(&text).unwrap();
        for mode in [0o600, 0o644] {
            for path in [&rules, &key] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
            }
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
            let told = exposed(&places.file(Some(&rules)).read().unwrap(), &bundle);
            assert_eq!(told.len(), usize::from(warned && mode == 0o644), "{text} {mode:o} {told:?}");
            assert!(told.iter().all(|told| !told.contains("canary") && told.contains("\"key\"")), "{told:?}");
        }
    }
}

/// A change of the file is seen, and one that cannot be read changes nothing.
#[test]
fn a_change_is_seen_once() {
    let places = Places::new();
    let file = places.file(None);
    let usual = places.path("data").join(RULES_FILE);
    let mut watch = Watch::of(&file);
    assert!(watch.changed().is_none(), "there is no file still");
    fs::write(&usual, dir("x", &places.path("other"), "rw")).unwrap();
    assert_eq!(watch.changed().unwrap().dirs.len(), 1);
    assert!(watch.changed().is_none());
    fs::write(&usual, "[dirs").unwrap();
    assert!(watch.changed().is_none());
    fs::remove_file(&usual).unwrap();
    assert!(watch.changed().unwrap().dirs.is_empty());
}

/// `N-G1`: rules in a data folder that this machine does not know are not used, not even read, and a warning says how
/// they are; those that a user wrote into the usual folder before its first use are theirs.
#[test]
fn rules_in_a_folder_that_is_not_known_are_not_used() {
    let places = Places::new();
    let usual = places.path("data").join(RULES_FILE);
    fs::write(&usual, dir("x", &places.path("other"), "ro")).unwrap();
    let file = |state: &str| {
        let trust = TrustKey::in_state(Some(&places.path(state)));
        RulesFile::new(None, &places.path("data"), &places.path("cache"), &trust)
    };
    for state in ["state", "another"] {
        file(state).know_new().unwrap();
        let rules = file(state).read().unwrap();
        assert!(rules.is_ignored && rules.dirs.is_empty());
        let warning = rules.warnings.join("");
        assert!(warning.contains(&format!("--config {}", usual.display())), "{warning}");
    }
    assert_eq!(file("state").fresh(true).read().unwrap().dirs.len(), 1);
    file("state").know().unwrap();
    assert_eq!(file("state").read().unwrap().dirs.len(), 1);
    assert!(file("another").read().unwrap().is_ignored);
    fs::write(&usual, "[[[").unwrap();
    assert!(file("another").read().unwrap().is_ignored);
    file("state").read().unwrap_err();
}

/// `N-G1`: the trust key is in no folder that may come from elsewhere, and in none that bundles reach.
#[test]
fn the_trust_key_is_out_of_reach() {
    let places = Places::new();
    for inside in ["data/trust.key", "cache/sub/trust.key"] {
        let trust = TrustKey::named(&places.path(inside));
        let file = RulesFile::new(None, &places.path("data"), &places.path("cache"), &trust);
        assert!(file.read().unwrap_err().to_string().contains("in the data folder or the cache"));
    }
    fs::create_dir(places.path("state")).unwrap();
    let error = places.read(&dir("x", &places.path("state"), "ro")).unwrap_err();
    assert!(error.contains("to the key that vouches for approvals"), "{error}");
    let key_file = format!("[trust]\nkey_file = \"other/key\"\n{}", dir("x", &places.path("other"), "ro"));
    assert!(places.read(&key_file).unwrap_err().contains("to the key that vouches for approvals"));
    // Rules in a data folder do not choose the key that they are checked with.
    let usual = places.file(None);
    fs::write(places.path("data").join(RULES_FILE), "[trust]\nkey_file = \"/etc/key\"").unwrap();
    assert!(usual.read().unwrap_err().to_string().contains("cannot name the trust key"));
}
