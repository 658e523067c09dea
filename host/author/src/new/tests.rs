//! What a new bundle's folder holds, and which are refused. That it builds is a test of the program.

use rewake_bundle::Manifest;

use super::*;

fn order(name: &str, kind: PluginKind, folder: &Path) -> Order {
    Order { name: name.parse().unwrap(), kind, folder: folder.to_owned() }
}

#[test]
fn a_name_gets_the_scope_that_is_asked_for() {
    for (text, scope, expected) in [
        ("words", None, "local/words"),
        ("words", Some("acme"), "acme/words"),
        ("acme/words", None, "acme/words"),
    ] {
        assert_eq!(full_name(text, scope).unwrap().as_str(), expected);
    }
    assert!(full_name("acme/words", Some("acme")).unwrap_err().message.contains("has a scope already"));
    for text in ["Words", "a/b/c", "", "-x", "a b"] {
        assert!(full_name(text, None).is_err(), "{text:?}");
    }
}

#[test]
fn other_languages_are_told_which_there_are() {
    assert_eq!(language("rust"), Ok(()));
    let refused = language("python").unwrap_err();
    assert!(refused.message.contains("`python`") && refused.message.contains("rust"));
    assert!(refused.help.unwrap().contains("bundle.toml"));
}

#[test]
fn every_kind_has_a_manifest_that_is_read_and_no_place_left_to_fill() {
    for kind in PluginKind::ALL {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("new");
        let made = make(&order("acme/word-tools", kind, &folder)).unwrap();
        for name in &made {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            assert!(!text.contains("{{") || name == "src/lib.rs", "{name}:\n{text}");
            assert!(text.lines().all(|line| line == line.trim_end()), "{name}:\n{text}");
        }
        let text = fs::read_to_string(folder.join(MANIFEST_FILE)).unwrap();
        let manifest = Manifest::parse(&text, MANIFEST_FILE).unwrap();
        assert_eq!(manifest.name.as_str(), "acme/word-tools");
        let component = &manifest.components[0];
        assert_eq!((component.kind, component.name.get_ref().as_str()), (kind, "word-tools"));
        assert!(component.artifact.as_deref().unwrap().ends_with("/acme_word_tools.wasm"));
        assert!(component.build.is_some());
        let cargo: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        assert_eq!(cargo["package"]["name"].as_str(), Some("acme-word-tools"));
        for name in [".gitignore", "README.md", "src/lib.rs", "tests/word-tools.toml"] {
            assert!(made.iter().any(|file| file == name), "{name}");
        }
        assert!(sdk::is_used(&folder) && folder.join(".rewake/sdk/guest/Cargo.toml").is_file());
    }
}

#[test]
fn only_an_empty_folder_is_filled() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("deep/er");
    make(&order("acme/a", PluginKind::Hook, &folder)).unwrap();
    let again = make(&order("acme/b", PluginKind::Tool, &folder)).unwrap_err();
    assert!(matches!(again, NewError::NotEmpty(_)), "{again}");
    assert!(fs::read_to_string(folder.join(MANIFEST_FILE)).unwrap().contains("acme/a"));

    let empty = base.path().join("empty");
    fs::create_dir(&empty).unwrap();
    make(&order("acme/c", PluginKind::Tool, &empty)).unwrap();

    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(make(&order("acme/d", PluginKind::Tool, &file)), Err(NewError::NoFolder(_))));
}

#[test]
fn a_package_is_named_as_cargo_takes_it() {
    for (bundle, expected) in [
        ("acme/words", "acme-words"),
        ("3d/print", "bundle-3d-print"),
        ("rewake/sdk", "bundle-rewake-sdk"),
        ("serde/json", "bundle-serde-json"),
        ("a_b/c-d", "a_b-c-d"),
    ] {
        assert_eq!(package(bundle), expected);
    }
}
