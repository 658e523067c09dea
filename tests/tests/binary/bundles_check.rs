//! What an author is told of a bundle that loads and is most likely not meant so; and what anybody can see of
//! a bundle before anything of it runs.

use std::fs;
use std::path::Path;

use rewake_tests::bundles::{Draft, guest, root};
use rewake_tests::program::{Ended, Program, text};
use serde_json::Value;

fn check(draft: &Draft, code: i32) -> Ended {
    let program = Program::new();
    let bundle = program.bundle(draft);
    program.run(&["bundle", "check", &bundle]).expect(code)
}

fn findings(draft: &Draft) -> Vec<Value> {
    let program = Program::new();
    let bundle = program.bundle(draft);
    let found = program.run(&["bundle", "check", &bundle, "--json"]).stdout;
    found.lines().map(|line| serde_json::from_str(line).expect("a finding")).collect()
}

/// The one finding with these words in it.
#[track_caller]
fn found(draft: &Draft, words: &str) -> Value {
    let all = findings(draft);
    let mut fitting =
        all.iter().filter(|one| one["message"].as_str().is_some_and(|text| text.contains(words)));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => one.clone(),
        _ => panic!("{words:?} is not said once in {all:#?}"),
    }
}

#[test]
fn our_own_bundles_have_nothing_to_be_said_of() {
    let program = Program::new();
    for folder in [
        "plugins/assistant",
        "plugins/files",
        "plugins/guard",
        "plugins/plan",
        "plugins/fetch",
        "examples/tool",
        "examples/publisher",
    ] {
        let bundle = text(&root().join(folder));
        let told = program.run(&["bundle", "check", &bundle, "--strict"]).expect(0).stdout;
        assert!(told.contains("0 errors and 0 warnings"), "{folder}: {told}");
    }
}

#[test]
fn what_loading_refuses_is_an_error_with_its_place_and_the_way_out() {
    let draft = Draft::scripted().toml("[agnet]\nmodel = \"scripted\"");
    let told = check(&draft, 2);
    for words in ["error: ", "bundle.toml:", "unknown key `agnet`", "did you mean `agent`?"] {
        assert!(told.stdout.contains(words), "{words:?} is not in:\n{}", told.stdout);
    }
    told.says(&["has 1 error and 0 warnings"]);
    let missing = Draft::new("test/missing").toml("[component.x]\nkind = \"tool\"\nsource = \"x.wasm\"");
    assert_eq!(found(&missing, "x.wasm")["severity"], "error");
}

#[test]
fn warnings_name_what_is_most_likely_not_meant() {
    let hook = |on: &str| Draft::scripted().hook(&[], on);
    let slow = hook("[[component.probe.on]]\nevent = \"PreToolUse\"\ntimeout = \"5000s\"");
    let finding = found(&slow, "a timeout of 5000s is 83 minutes");
    assert_eq!(finding["severity"], "warning");
    assert!(
        finding["help"].as_str().unwrap().contains("\"5000ms\"") && finding["line"].is_u64(),
        "{finding}"
    );
    let program = Program::new();
    let bundle = program.bundle(&slow);
    program.run(&["bundle", "check", &bundle]).expect(0);
    program.run(&["bundle", "check", &bundle, "--strict"]).expect(2);

    let misspelt = hook("[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"echoo\"");
    assert!(found(&misspelt, "the matcher names `echoo`")["help"].as_str().unwrap().contains("\"echo\""));

    let secret = Draft::scripted().toml("[config.key]\ntype = \"string\"\nsensitive = true");
    assert_eq!(found(&secret, "[config.key] is sensitive")["severity"], "warning");
}

#[test]
fn asks_are_held_against_imports() {
    let manifest = |asks: &str| {
        let toml = format!("[component.t]\nkind = \"tool\"\nsource = \"t.wasm\"\n[component.t.asks]\n{asks}");
        Draft::new("test/asks").toml(&toml)
    };
    let http = "http = [{ host = \"api.example.com\", methods = [\"GET\"], why = \"the test\" }]";
    let silent = manifest(http).file("t.wasm", guest("tool_pure"));
    assert!(found(&silent, "does not import the contract's http")["line"].is_u64());
    let eager = manifest("").file("t.wasm", guest("tool_http"));
    assert_eq!(found(&eager, "every request will be denied")["severity"], "warning");
    let curt = manifest("fs = [{ mount = \"/w\", source = \"workspace\", access = \"ro\" }]");
    let curt = curt.file("t.wasm", guest("tool_files"));
    assert_eq!(found(&curt, "does not say why it asks for the mount /w")["severity"], "note");
    let asking = Draft::scripted().toml("[component.harness.asks]\nmodels = [{ name = \"fast\" }]");
    assert_eq!(found(&asking, "does not say why it asks for the model `fast`")["severity"], "note");
}

#[test]
fn a_component_that_does_not_answer_is_an_error_at_its_place() {
    let toml = "[component.t]\nkind = \"tool\"\nsource = \"t.wasm\"\n[component.t.limits]\nfuel = 1";
    let draft = Draft::new("test/silent").toml(toml);
    let draft = draft.file("t.wasm", guest("tool_pure"));
    let finding = found(&draft, "list-tools was ended");
    assert_eq!((finding["severity"].as_str(), finding["line"].is_u64()), (Some("error"), true), "{finding}");
}

#[test]
fn a_bundle_is_shown_with_its_tools_its_asks_and_what_is_allowed_here() {
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    let shown = program.run(&["bundle", "inspect", &bundle]).expect(0).stdout;
    for words in [
        "test/scripted 0.1.0",
        "digest blake3:",
        "tool echo",
        "[fs:workspace:rw; not allowed here yet]: the test",
    ] {
        assert!(shown.contains(words), "{words:?} is not in:\n{shown}");
    }
    assert!(!program.data().exists(), "looking made a data folder");
    let json = program.run(&["bundle", "inspect", &bundle, "--json"]).expect(0).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let digest = json["digest"].as_str().expect("a digest").to_owned();
    program.create(&Draft::scripted());
    let rule = format!(
        "[[allow]]\nbundle = \"test/scripted\"\ndigest = \"{digest}\"\nasks = [\"fs:workspace:rw\"]\n"
    );
    std::fs::write(program.data().join("rewake.toml"), rule).expect("the rules");
    let shown = program.run(&["bundle", "inspect", &bundle]).expect(0).stdout;
    assert!(shown.contains("[fs:workspace:rw; allowed here]"), "{shown}");
}

/// A component that is copied, and has something of now added to it, or not.
fn rebuilt(more: &str) -> Draft {
    let guest = root().join("target/guests/tool_pure.wasm");
    let build = format!("mkdir -p out && cp '{}' out/t.wasm && {more}", guest.display());
    let toml = format!(
        "[component.t]\nkind = \"tool\"\nsource = \"t.wasm\"\nartifact = \"out/t.wasm\"\nbuild = '''{build}'''"
    );
    Draft::new("test/rebuilt").toml(&toml).file("t.wasm", fs::read(guest).expect("a guest"))
}

#[test]
fn what_comes_out_different_is_told_at_the_line_of_its_build() {
    let check = |draft: &Draft| {
        let program = Program::new();
        let bundle = program.bundle(draft);
        let told = program.run(&["bundle", "check", &bundle, "--rebuild", "--json"]).expect(0);
        let built = Path::new(&bundle).join("out/count");
        assert_eq!(fs::read_to_string(built).expect("it is built"), "once\nonce\n");
        let finding = |line: &str| serde_json::from_str::<Value>(line).expect("a finding");
        let said: Vec<Value> = told.stdout.lines().map(finding).collect();
        let line = fs::read_to_string(Path::new(&bundle).join("bundle.toml")).expect("a manifest");
        let line = line.lines().position(|line| line.starts_with("build = ")).expect("a build") + 1;
        (said.into_iter().filter(|one| one["severity"] == "warning").collect::<Vec<_>>(), line)
    };
    // A custom section with the time in nanoseconds.
    let drawn = "printf '\\000\\013\\001t%s' \"$(date +%N)\" >> out/t.wasm && echo once >> out/count";
    let (said, line) = check(&rebuilt(drawn));
    let [finding] = said.as_slice() else { panic!("{said:#?}") };
    assert!(finding["message"].as_str().unwrap().contains("came out different"), "{finding}");
    assert!(finding["help"].as_str().unwrap().contains("move it into the handler"), "{finding}");
    assert_eq!(finding["line"], line);
    let (said, _) = check(&rebuilt("echo once >> out/count"));
    assert_eq!(said, Vec::<Value>::new());

    let program = Program::new();
    let bundle = program.bundle(&rebuilt("false"));
    program.run(&["bundle", "check", &bundle, "--rebuild"]).expect(2).says(&["its build failed"]);
    program.run(&["bundle", "check", "acme/words", "--rebuild"]).expect(2);
}
