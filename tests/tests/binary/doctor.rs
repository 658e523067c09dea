//! What a person is told of a machine before anything runs on it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;

#[test]
fn a_machine_that_can_run_sessions_is_told_so() {
    let program = Program::new();
    let told = program.run(&["doctor"]).expect(0).stdout;
    for words in ["to run sessions", "ok    sandbox", "to write bundles", "ok    Rust", "ok    wasm32-wasip2"]
    {
        assert!(told.contains(words), "{words:?} is not in:\n{told}");
    }
    assert!(!program.data().exists(), "looking made a data folder");
    program.create(&Draft::scripted());
    let told = program.run(&["doctor"]).expect(0).stdout;
    assert!(told.contains("journal.db opens"), "{told}");
}

#[test]
fn what_keeps_sessions_from_running_is_named_with_the_way_out() {
    let program = Program::new();
    program.create(&Draft::scripted());
    fs::write(program.data().join("rewake.toml"), "[dir]\n").unwrap();
    let told = program.run(&["doctor"]).expect(1);
    assert!(
        told.stdout.contains("bad   rules") && told.stdout.contains("unknown key `dir`"),
        "{}",
        told.stdout
    );
    fs::remove_file(program.data().join("rewake.toml")).unwrap();
    fs::set_permissions(program.data(), fs::Permissions::from_mode(0o777)).unwrap();
    let told = program.run(&["doctor"]).expect(1).stdout;
    assert!(told.contains("bad   data folder") && told.contains("chmod 700"), "{told}");
}

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Program::new().run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("rewake") && script.contains("clear-fault"), "{shell}: {script}");
    }
}
