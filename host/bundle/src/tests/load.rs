//! Bundles from folders and from kept bytes.

use rewake_core::ids::Digest;

use super::super::{Bundle, COMPONENT_BYTES_MAX, PluginKind};
use super::{HEAD, files, lines, plugin, write};

const WORDS: &str = "[component.words]\nkind = \"tool\"\nsource = \"out/words.wasm\"\n";

fn manifest(rest: &str) -> String {
    format!("{HEAD}{WORDS}{rest}")
}

/// Loads a folder with these files, and compares what is said about it.
#[track_caller]
fn check(named: &[(&str, &[u8])], expected: &[&str]) {
    let dir = tempfile::tempdir().expect("a folder can be made");
    write(dir.path(), named);
    let error = Bundle::load(dir.path()).expect_err("it is malformed");
    assert_eq!(lines(&error), expected);
}

#[test]
fn a_folder_and_its_kept_bytes_are_the_same_bundle() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let manifest = manifest("[agent]\ninstructions_file = \"./me.md\"\nscript = \"s.toml\"\n");
    let tool = plugin(PluginKind::Tool);
    write(
        dir.path(),
        &[
            ("bundle.toml", manifest.as_bytes()),
            ("out/words.wasm", &tool),
            ("me.md", "Count wörds.".as_bytes()),
            ("s.toml", b"[[reply]]\ntext = \"hi\"\n"),
            ("unnamed.txt", b"not part of it"),
        ],
    );
    let loaded = Bundle::load(dir.path()).expect("it is well-formed");
    assert_eq!(loaded.name().as_str(), "acme/word-tools");
    assert_eq!(loaded.instructions(), Some("Count wörds."));
    assert!(loaded.script().expect("it has one").reply(0).is_some());
    let words = loaded.component("words").expect("it has one");
    assert_eq!((words.digest, words.bytes().as_ref()), (Digest::of(&tool), tool.as_slice()));
    let paths: Vec<&str> = loaded.files().map(|(path, _)| path).collect();
    assert_eq!(paths, ["bundle.toml", "me.md", "out/words.wasm", "s.toml"]);

    let kept: Vec<(&str, &[u8])> = loaded.files().collect();
    drop(dir);
    let again = Bundle::from_files(files(&kept)).expect("nothing was lost");
    assert_eq!(again.digest(), loaded.digest());
    assert_eq!(again.components().len(), 1);
}

#[test]
fn the_digest_covers_every_file_its_bytes_and_its_path() {
    let tool = plugin(PluginKind::Tool);
    let bundle = |manifest: &str, path: &str, text: &[u8]| {
        let named: [(&str, &[u8]); 3] =
            [("bundle.toml", manifest.as_bytes()), ("out/words.wasm", &tool), (path, text)];
        Bundle::from_files(files(&named)).expect("it is well-formed").digest()
    };
    let agent = |path: &str| manifest(&format!("[agent]\ninstructions_file = \"{path}\"\n"));
    let first = bundle(&agent("a.md"), "a.md", b"x");
    assert_eq!(bundle(&agent("a.md"), "a.md", b"x"), first);
    assert_ne!(bundle(&agent("a.md"), "a.md", b"y"), first);
    assert_ne!(bundle(&agent("b.md"), "b.md", b"x"), first);
    assert_ne!(bundle(&format!("{}\n", agent("a.md")), "a.md", b"x"), first);
}

/// `[bundle] files`: one by one, or all below a folder; the digest covers them, and nothing comes with them
/// that they do not mean.
#[test]
fn files_for_guests_come_with_it() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let head = HEAD.replace("api =", "files = [\"data/**\", \"a.txt\", \"./out/**\"]\napi =");
    let manifest = format!("{head}{WORDS}");
    let tool = plugin(PluginKind::Tool);
    let named: [(&str, &[u8]); 6] = [
        ("bundle.toml", manifest.as_bytes()),
        ("out/words.wasm", &tool),
        ("a.txt", b"a"),
        ("b.txt", b"no"),
        ("data/x", b"x"),
        ("data/deep/.y", b"\xff"),
    ];
    write(dir.path(), &named);
    let loaded = Bundle::load(dir.path()).expect("it is well-formed");
    let paths: Vec<&str> = loaded.files().map(|(path, _)| path).collect();
    assert_eq!(paths, ["a.txt", "bundle.toml", "data/deep/.y", "data/x", "out/words.wasm"]);
    let kept: Vec<(&str, &[u8])> = loaded.files().collect();
    assert_eq!(Bundle::from_files(files(&kept)).expect("nothing was lost").digest(), loaded.digest());
    for more in ["data/z", "data/../../z", "data//z", "database", "b.txt"] {
        let with_more = [kept.as_slice(), &[(more, b"".as_slice())]].concat();
        match Bundle::from_files(files(&with_more)) {
            Ok(other) => assert!(more == "data/z" && other.digest() != loaded.digest(), "{more}"),
            Err(_) => assert_ne!(more, "data/z"),
        }
    }
}

#[test]
fn files_for_guests_that_cannot_be_taken() {
    let head = |files: &str| HEAD.replace("api =", &format!("files = [{files}]\napi ="));
    let one = |files: &str, named: &[(&str, &[u8])], expected: &str| {
        let head = head(files);
        let mut all = vec![("bundle.toml", head.as_bytes())];
        all.extend(named);
        check(&all, &[expected]);
    };
    let help = "name a file, such as \"words.txt\", or all below a folder, such as \"data/**\"";
    for bad in ["**", "data/*.txt", "data/**/x", "*"] {
        let expected = format!("5:10 `{bad}` is neither a file nor a folder's | {help}");
        one(&format!("{bad:?}"), &[], &expected);
    }
    one("\"../x/**\"", &[], &format!("5:10 `../x` leaves the bundle's folder | {help}"));
    one("\"x\"", &[], "5:10 there is no file `x` | build it, or correct the name");
    one("\"x/**\"", &[], "5:10 there is no folder `x` | -");
    let dir = tempfile::tempdir().expect("a folder can be made");
    write(dir.path(), &[("bundle.toml", head("\"x/**\"").as_bytes())]);
    write(dir.path(), &[("x/a\u{1}", b"")]);
    let error = Bundle::load(dir.path()).expect_err("the name is odd");
    assert!(lines(&error)[0].contains("cannot be the name of a bundle's file"), "{error}");
    std::fs::remove_file(dir.path().join("x/a\u{1}")).expect("it can be removed");
    let error = Bundle::load(dir.path()).expect_err("the folder is empty");
    assert_eq!(lines(&error), ["5:10 there is no file below `x` | put one there, or take the entry out"]);
    std::os::unix::fs::symlink("/etc", dir.path().join("x/link")).expect("a link can be made");
    let error = Bundle::load(dir.path()).expect_err("it is a link");
    let help = "put the file itself there: links and the like are not taken";
    assert_eq!(lines(&error), [format!("5:10 `x/link` is not a regular file | {help}")]);
}

#[test]
fn the_digest_of_a_bundle_never_changes() {
    let named: [(&str, &[u8]); 1] = [("bundle.toml", HEAD.as_bytes())];
    let digest = Bundle::from_files(files(&named)).expect("a bundle may have no components").digest();
    let mut list = Vec::new();
    for part in [b"rewake bundle 1".as_slice(), b"bundle.toml", blake3::hash(HEAD.as_bytes()).as_bytes()] {
        list.extend_from_slice(&(part.len() as u64).to_le_bytes());
        list.extend_from_slice(part);
    }
    assert_eq!(digest.to_hex(), blake3::hash(&list).to_hex().as_str());
}

#[test]
fn one_file_can_be_two_components() {
    let both = super::component(
        &[("rewake:plugin/tool@0.1.0", &["list-tools", "call"]), ("rewake:plugin/hook@0.1.0", &["handle"])],
        &[],
    );
    let manifest = manifest(
        "[component.guard]\nkind = \"hook\"\nsource = \"./out/words.wasm\"\n[[component.guard.on]]\nevent = \"PreToolUse\"\n",
    );
    let named: [(&str, &[u8]); 2] = [("bundle.toml", manifest.as_bytes()), ("out/words.wasm", &both)];
    let bundle = Bundle::from_files(files(&named)).expect("it is well-formed");
    assert_eq!((bundle.components().len(), bundle.files().count()), (2, 2));
}

#[test]
fn missing_and_wrong_files_are_named_where_the_manifest_names_them() {
    let manifest = manifest("[agent]\nscript = \"s.toml\"\n");
    let manifest = manifest.as_bytes();
    check(
        &[("bundle.toml", manifest)],
        &[
            "8:10 there is no file `out/words.wasm` | build it, or correct the name",
            "10:10 there is no file `s.toml` | build it, or correct the name",
        ],
    );
    check(
        &[
            ("bundle.toml", manifest),
            ("out/words.wasm", &plugin(PluginKind::Hook)),
            ("s.toml", b"[[reply]]\ntxt = 1\n"),
        ],
        &[
            "2:1 not a script: unknown field `txt`, expected one of `text`, `use`, `delay_ms`, `unavailable` | -",
            "8:10 `out/words.wasm` is a hook, not a tool: it does not export rewake:plugin/tool@0.1.0 | write kind = \"hook\", or build the tool and name it here",
        ],
    );
    check(
        &[("bundle.toml", manifest), ("out/words.wasm/x", b""), ("s.toml", b"\xff")],
        &["8:10 `out/words.wasm` is not a regular file | -"],
    );
    check(
        &[("bundle.toml", manifest), ("out/words.wasm", b"\x7fELF"), ("s.toml", b"ab\xff")],
        &[
            "8:10 `out/words.wasm` is native code (ELF), such as a .cwasm; compiled artifacts are never accepted | give the component itself (.wasm); each host compiles it on its own",
            "10:10 `s.toml` is not UTF-8 text (at byte 2) | save it as UTF-8",
        ],
    );
}

#[test]
fn a_missing_component_tells_how_it_is_built() {
    let manifest = manifest("build = \"make words\"\n");
    check(
        &[("bundle.toml", manifest.as_bytes())],
        &["8:10 there is no file `out/words.wasm` | if the bundle is yours, run `rewake bundle build`"],
    );
}

#[test]
fn a_folder_without_a_manifest_is_no_bundle() {
    check(&[], &["- there is no file `bundle.toml` | a bundle is a folder with a bundle.toml in it"]);
    check(&[("bundle.toml", b"a = \"\xff\"")], &["- is not UTF-8 text (at byte 5) | save it as UTF-8"]);
    let dir = tempfile::tempdir().expect("a folder can be made");
    let error = Bundle::load(&dir.path().join("gone")).expect_err("it is not there");
    assert!(error.to_string().contains("gone: the bundle's folder cannot be opened"), "{error}");
    write(dir.path(), &[("bundle.toml", HEAD.as_bytes())]);
    let error = Bundle::load(&dir.path().join("bundle.toml")).expect_err("it is a file");
    assert!(error.to_string().contains("name the folder that holds it"), "{error}");
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_the_folder_is_read() {
    use std::os::unix::fs::symlink;

    let outside = tempfile::tempdir().expect("a folder can be made");
    write(outside.path(), &[("words.wasm", &plugin(PluginKind::Tool))]);
    let dir = tempfile::tempdir().expect("a folder can be made");
    write(
        dir.path(),
        &[("bundle.toml", manifest("").as_bytes()), ("real/words.wasm", &plugin(PluginKind::Tool))],
    );
    for target in [outside.path().to_owned(), "../".into(), "/proc/self/root".into()] {
        symlink(&target, dir.path().join("out")).expect("a link can be made");
        let error = Bundle::load(dir.path()).expect_err("the link leads out of the folder");
        assert!(lines(&error)[0].starts_with("8:10 `out/words.wasm` cannot be read"), "{error}");
        std::fs::remove_file(dir.path().join("out")).expect("the link can be removed");
    }
    symlink("real", dir.path().join("out")).expect("a link can be made");
    Bundle::load(dir.path()).expect("a link inside the folder is followed");
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_keep_its_reader_waiting() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    write(dir.path(), &[("bundle.toml", manifest("").as_bytes()), ("out/x", b"")]);
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("out/words.wasm")).status();
    assert!(made.expect("mkfifo can be run").success());
    let error = Bundle::load(dir.path()).expect_err("a pipe is no component");
    assert_eq!(lines(&error), ["8:10 `out/words.wasm` is not a regular file | -"]);
}

#[test]
fn a_file_over_its_limit_is_not_read_to_the_end() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    write(dir.path(), &[("bundle.toml", manifest("").as_bytes()), ("out/words.wasm", b"")]);
    let file = std::fs::File::create(dir.path().join("out/words.wasm")).expect("the file can be made");
    file.set_len(COMPONENT_BYTES_MAX + 1).expect("a sparse file can be made");
    let error = Bundle::load(dir.path()).expect_err("it is too large");
    assert_eq!(
        lines(&error),
        [
            "8:10 `out/words.wasm` is larger than 67108864 bytes | make it smaller; `[limits.compile] component` in rewake.toml says how large a component may be"
        ]
    );
    // One that may be so large is read, and is then no component.
    let error = Bundle::load_within(dir.path(), COMPONENT_BYTES_MAX + 1).expect_err("it is empty");
    assert!(lines(&error)[0].contains("is not WebAssembly"), "{error}");
}

#[test]
fn kept_bytes_are_checked_again() {
    let tool = plugin(PluginKind::Tool);
    let manifest = manifest("");
    let whole: [(&str, &[u8]); 2] = [("bundle.toml", manifest.as_bytes()), ("out/words.wasm", &tool)];
    let missing = Bundle::from_files(files(&whole[..1])).expect_err("a file is missing");
    assert_eq!(
        lines(&missing),
        ["8:10 there is no file `out/words.wasm` | the bundle was not kept whole: install it again"]
    );
    let extra = [whole[0], whole[1], ("../../x", b"".as_slice())];
    let extra = Bundle::from_files(files(&extra)).expect_err("a file is not named");
    assert_eq!(
        lines(&extra),
        ["- does not name these files that came with it: `../../x` | keep only what the manifest names"]
    );
    assert!(Bundle::from_files(files(&[])).is_err());
}
