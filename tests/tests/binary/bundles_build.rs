//! `rewake bundle build`: what it runs, what it collects, what it writes, and what it says when something of
//! that goes wrong. The commands here copy guests that are built already; templates are another file's.

use std::fs;
use std::path::PathBuf;

use rewake_tests::bundles::{Draft, root};
use rewake_tests::program::{Program, Signal, text};

/// A tool whose `build` copies the guest to where `artifact` says.
fn draft(build: &str) -> Draft {
    Draft::new("test/built").toml(&format!(
        "[component.pure]\nkind = \"tool\"\nsource = \"pure.wasm\"\nartifact = \"out/made.wasm\"\nbuild = '''{build}'''"
    ))
}

/// Copies a guest, and counts how often it did.
fn copying() -> String {
    let guest = root().join("target/guests/tool_pure.wasm");
    format!("mkdir -p out && cp '{}' out/made.wasm && echo once >> out/count && echo built", guest.display())
}

fn written(program: &Program, build: &str) -> (PathBuf, String) {
    let folder = program.beside("bundle");
    draft(build).write(&folder);
    (folder.clone(), text(&folder))
}

#[test]
fn a_build_collects_the_component_and_writes_the_lock() {
    let program = Program::new();
    let (folder, named) = written(&program, &copying());
    let built = program.run(&["bundle", "build", &named]).expect(0);
    assert!(built.stdout.contains("test/built 0.1.0 is built; bundle.lock is written"), "{}", built.stdout);
    assert!(built.stdout.contains("pure.wasm  tool"), "{}", built.stdout);
    assert!(
        built.stderr.contains("built\n") && built.stderr.contains("pure: mkdir -p out"),
        "{}",
        built.stderr
    );
    let lock = fs::read_to_string(folder.join("bundle.lock")).unwrap();
    let guest = fs::read(root().join("target/guests/tool_pure.wasm")).unwrap();
    assert_eq!(fs::read(folder.join("pure.wasm")).unwrap(), guest);
    for word in ["path = \"bundle.toml\"", "path = \"pure.wasm\"", "[[component.tool]]", "input_schema"] {
        assert!(lock.contains(word), "{word} is not in:\n{lock}");
    }

    let before = fs::metadata(folder.join("pure.wasm")).unwrap().modified().unwrap();
    let again = program.run(&["bundle", "build", &named]).expect(0);
    assert!(again.stdout.contains("nothing changed"), "{}", again.stdout);
    assert_eq!(fs::metadata(folder.join("pure.wasm")).unwrap().modified().unwrap(), before);
    assert_eq!(fs::read_to_string(folder.join("bundle.lock")).unwrap(), lock);
    assert!(!folder.join(".rewake").exists(), "a bundle without the SDK gets none");

    // A lock of what was there before, or one that nobody can read, is no reason not to build.
    let manifest = fs::read_to_string(folder.join("bundle.toml")).unwrap();
    fs::write(folder.join("bundle.toml"), manifest.replace("0.1.0", "0.2.0")).unwrap();
    program.run(&["bundle", "build", &named]).expect(0);
    assert!(fs::read_to_string(folder.join("bundle.lock")).unwrap().contains("version = \"0.2.0\""));
    fs::write(folder.join("bundle.lock"), "=").unwrap();
    program.run(&["bundle", "build", &named]).expect(0);
}

#[test]
fn used_bundles_are_pinned_by_what_they_are_now() {
    let program = Program::new();
    let (folder, named) = written(&program, &copying());
    let beside = program.beside("hooks");
    let hook = Draft::new("test/hooks").hook(&[], "[[component.probe.on]]\nevent = \"SessionStart\"");
    hook.write(&beside);
    let manifest = fs::read_to_string(folder.join("bundle.toml")).unwrap();
    let manifest = manifest.replace("api = \"0.1\"", "api = \"0.1\"\nuse = [\"../hooks\"]");
    fs::write(folder.join("bundle.toml"), manifest).unwrap();
    program.run(&["bundle", "build", &named]).expect(0);
    let lock = || fs::read_to_string(folder.join("bundle.lock")).unwrap();
    let first = lock();
    assert!(first.contains("[[use]]\nname = \"test/hooks\"\nversion = \"0.1.0\""), "{first}");

    hook.toml("[component.probe.limits]\ntimeout = \"1s\"").write(&beside);
    program.run(&["bundle", "build", &named]).expect(0);
    assert_ne!(lock(), first, "a build takes the used bundle in as it is now");
}

#[test]
fn a_bundle_used_by_name_is_the_installed_one() {
    let program = Program::new();
    let (folder, named) = written(&program, &copying());
    let manifest = fs::read_to_string(folder.join("bundle.toml")).unwrap();
    let manifest = manifest.replace("api = \"0.1\"", "api = \"0.1\"\nuse = [\"test/hooks@0.1\"]");
    fs::write(folder.join("bundle.toml"), manifest).unwrap();
    let missing = program.run(&["bundle", "build", &named]).expect(2);
    missing.says(&["the bundle `test/hooks` is not installed", "rewake bundle install"]);
    assert!(!folder.join("bundle.lock").exists());

    let beside = program.beside("hooks");
    Draft::new("test/hooks").hook(&[], "[[component.probe.on]]\nevent = \"SessionStart\"").write(&beside);
    let hooks = text(&beside);
    program.run(&["bundle", "build", &hooks]).expect(0);
    program.run(&["bundle", "install", &hooks]).expect(0);
    program.run(&["bundle", "build", &named]).expect(0);
    let lock = fs::read_to_string(folder.join("bundle.lock")).unwrap();
    assert!(lock.contains("[[use]]\nname = \"test/hooks\"\nversion = \"0.1.0\""), "{lock}");
}

#[test]
fn a_build_that_fails_says_which_component_and_leaves_what_was_there() {
    let program = Program::new();
    let (folder, named) = written(&program, "echo all is lost >&2; exit 3");
    fs::write(folder.join("pure.wasm"), "old").unwrap();
    let failed = program.run(&["bundle", "build", &named]).expect(2);
    failed.says(&["all is lost", "component `pure`: its build failed (exit status: 3)"]);
    assert_eq!(fs::read_to_string(folder.join("pure.wasm")).unwrap(), "old");
    assert!(!folder.join("bundle.lock").exists());

    draft("true").write(&folder);
    program.run(&["bundle", "build", &named]).expect(2).says(&["made no `out/made.wasm`", "artifact"]);
    draft("mkdir out && echo no > out/made.wasm").write(&folder);
    program.run(&["bundle", "build", &named]).expect(2).says(&["bundle.toml:", "is not WebAssembly"]);
    let nowhere = text(&program.beside("nowhere"));
    program.run(&["bundle", "build", &nowhere]).expect(2).says(&["nowhere"]);
    program.run(&["bundle", "build", "--watch", &nowhere]).expect(2).says(&["nowhere"]);
}

#[test]
fn a_missing_toolchain_is_told_with_what_to_do() {
    let program = Program::new().with_env("RUSTC", &text(&root().join("tests/src/no-such-compiler")));
    let (_folder, named) = written(&program, "cargo build --target wasm32-wasip2");
    // A compiler that cannot be asked is cargo's to complain of.
    program.run(&["bundle", "build", &named]).expect(2).says(&["its build failed"]);

    let bin = program.beside("bin");
    fs::create_dir(&bin).unwrap();
    let libraries = program.beside("no-libraries");
    fs::create_dir(&libraries).unwrap();
    let compiler = bin.join("rustc");
    fs::write(&compiler, format!("#!/bin/sh\necho '{}'\n", libraries.display())).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&compiler, executable).unwrap();
    let program = Program::new().with_env("RUSTC", &text(&compiler));
    program
        .run(&["bundle", "build", &named])
        .expect(2)
        .says(&["component `pure`", "rustup target add wasm32-wasip2"]);

    let program = Program::new().with_env("PATH", &text(&libraries));
    program
        .run(&["bundle", "build", &named])
        .expect(2)
        .says(&["built with cargo, and there is none", "rustup"]);
}

#[test]
fn a_watch_builds_at_every_change_until_ctrl_c() {
    let program = Program::new();
    let (folder, named) = written(&program, &copying());
    let count = || fs::read_to_string(folder.join("out/count")).map_or(0, |text| text.lines().count());
    // What `build` counts stands in the folder, as other tools' output does.
    fs::write(folder.join(".gitignore"), "/out\n").unwrap();
    fs::write(folder.join("notes.md"), "one").unwrap();
    let watched = ["bundle", "build", "--watch", &named];
    let mut process = program.start(&watched);
    process.until("the first build", || folder.join("bundle.lock").exists() && count() >= 1);
    let waits = |text: &str| text.matches("waits for changes").count();
    while waits(&process.stderr()) == 0 {
        process.until("it waits", || true);
        std::thread::yield_now();
    }
    fs::write(folder.join("notes.md"), "two").unwrap();
    let before = count();
    process.until("another build", || count() > before);
    process.signal(Signal::INT);
    let ended = process.end().expect(0);
    assert!(ended.stdout.contains("is built; bundle.lock is written"), "{}", ended.stdout);
    assert!(ended.stderr.contains("changed: "), "{}", ended.stderr);
}
