//! Bundles that are not as they must be, given to the program: told with the place and the way out, in the
//! exit code for what the person can fix, and no session is made. The rules themselves are tested beside
//! the code that holds them.

use rewake_tests::bundles::{Draft, guest};
use rewake_tests::program::{Program, text};

/// A bundle is refused at this place of its manifest, in these words.
#[track_caller]
fn refused(draft: &Draft, at: Option<(&str, usize)>, words: &[&str]) {
    let program = Program::new();
    let bundle = program.bundle(draft);
    let place = match at {
        Some((line, column)) => {
            let found = draft.manifest().lines().position(|found| found == line);
            format!("bundle.toml:{}:{column}: ", found.expect("a line of the manifest") + 1)
        }
        None => "bundle.toml: ".to_owned(),
    };
    refuses(&program, &bundle, &[words, &[&format!("{bundle}/{place}")]].concat());
}

#[track_caller]
fn refuses(program: &Program, bundle: &str, words: &[&str]) {
    let ended = program.run(&["run", bundle, "hello"]).expect(2).says(words);
    assert_eq!(ended.stdout, "");
    assert!(program.sessions().is_empty());
    assert!(!program.data().join("workspaces").exists());
}

const SOURCE: &str = "source = \"words.wasm\"";

fn words(kind: &str) -> Draft {
    Draft::new("test/words").toml(&format!("[component.words]\nkind = {kind:?}\n{SOURCE}"))
}

#[test]
fn toml_that_does_not_parse() {
    let line = "instructions = \"you";
    refused(
        &Draft::new("test/toml").toml(&format!("[agent]\n{line}")),
        Some((line, 20)),
        &["not valid TOML", "expected `\"`", "^"],
    );
}

#[test]
fn an_unknown_key() {
    let line = "sorce = \"words.wasm\"";
    let draft = Draft::new("test/key").toml(&format!("[component.words]\nkind = \"tool\"\n{line}"));
    refused(&draft, Some((line, 1)), &["unknown key `sorce`", "did you mean `source`?"]);
}

#[test]
fn a_value_of_another_form() {
    let line = "matcher = 3";
    let draft =
        Draft::scripted().hook(&[], &format!("[[component.probe.on]]\nevent = \"PreToolUse\"\n{line}"));
    refused(&draft, Some((line, 11)), &["`matcher` must be a string"]);
}

#[test]
fn a_missing_component() {
    refused(
        &words("tool"),
        Some((SOURCE, 10)),
        &["there is no file `words.wasm`", "build it, or correct the name"],
    );
}

#[test]
fn a_truncated_component() {
    let mut bytes = guest("tool_probe");
    bytes.truncate(bytes.len() / 2);
    let cut = format!("is cut off after {} bytes", bytes.len());
    refused(
        &words("tool").file("words.wasm", bytes),
        Some((SOURCE, 10)),
        &["`words.wasm`", &cut, "= help: "],
    );
}

#[test]
fn a_component_of_another_kind() {
    let draft = words("tool").file("words.wasm", guest("hook_probe"));
    refused(&draft, Some((SOURCE, 10)), &["`words.wasm` is a hook, not a tool", "write kind = \"hook\""]);
}

#[test]
fn what_is_no_component() {
    for (bytes, said) in [
        (b"\0asm\x01\0\0\0".as_slice(), "is a core module, not a component"),
        (b"\x7fELF\x02\x01\x01", "is native code (ELF)"),
        (b"MZ", "is not WebAssembly"),
        (b"", "is empty"),
    ] {
        refused(
            &words("tool").file("words.wasm", bytes),
            Some((SOURCE, 10)),
            &["`words.wasm`", said, "= help: "],
        );
    }
}

/// Whatever is in it: a compiled artifact would run unchecked.
#[test]
fn a_compiled_artifact() {
    let line = "source = \"words.cwasm\"";
    let draft = Draft::new("test/words")
        .toml(&format!("[component.words]\nkind = \"tool\"\n{line}"))
        .file("words.cwasm", guest("tool_probe"));
    refused(&draft, Some((line, 10)), &["`words.cwasm` is a compiled artifact", "= help: "]);
}

#[test]
fn a_file_outside_of_the_bundle() {
    let line = "source = \"../words.wasm\"";
    let draft = Draft::new("test/words").toml(&format!("[component.words]\nkind = \"tool\"\n{line}"));
    refused(&draft, Some((line, 10)), &["leaves the bundle's folder", "= help: "]);
}

#[test]
fn a_link_that_leads_out_of_the_bundle() {
    let program = Program::new();
    std::fs::write(program.beside("secret.wasm"), guest("tool_probe")).unwrap();
    let bundle = program.bundle(&words("tool"));
    let link = std::path::Path::new(&bundle).join("words.wasm");
    std::os::unix::fs::symlink(program.beside("secret.wasm"), link).unwrap();
    refuses(&program, &bundle, &["bundle.toml:", "`words.wasm`", "= help: "]);
}

#[test]
fn a_bundle_without_a_harness() {
    refused(&Draft::new("test/tools").tools("tool_probe", "rw"), None, &["no harness", "= help: "]);
}

#[test]
fn what_is_no_bundle() {
    let program = Program::new();
    let folder = program.beside("empty");
    std::fs::create_dir(&folder).unwrap();
    refuses(&program, &text(&folder), &["there is no file `bundle.toml`", "a bundle is a folder"]);
    let file = program.beside("file");
    std::fs::write(&file, "").unwrap();
    refuses(&program, &text(&file), &["is not a bundle's folder", "name the folder"]);
    refuses(&program, &text(&program.beside("none")), &["cannot be opened", "name a folder"]);
}

/// A folder that cannot be copied leaves no session, and nothing of itself.
#[test]
fn a_workspace_that_cannot_be_copied() {
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    let none = text(&program.beside("none"));
    program.run(&["run", &bundle, "--workspace", &none]).expect(2).says(&[&none, "is not a folder"]);
    let all = text(&program.data().join(".."));
    program.run(&["run", &bundle, "--workspace", &all]).expect(2).says(&["holds Rewake's own data"]);
    assert!(program.sessions().is_empty());
    assert_eq!(std::fs::read_dir(program.data().join("workspaces")).unwrap().count(), 0);
}
