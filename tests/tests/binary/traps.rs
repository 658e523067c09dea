//! What is told of a guest that was ended: its own doing, and nothing of what its host is made of.

use rewake_tests::hostile::{DEEDS, component, with_harness};
use rewake_tests::program::Program;

/// Who looks for a bug of the host sets this variable; guests, models and journals are not to see what it gives.
#[test]
fn a_trap_is_told_without_its_host_s_stack() {
    let program = Program::new().with_env("RUST_BACKTRACE", "1");
    for deed in &DEEDS {
        let bundle = program.bundle(&with_harness(component("harness", "step", deed.text)));
        let ended = program.run(&["run", &bundle, "hello"]);
        let id = program.sessions().into_iter().next().expect("a session").id;
        let told = format!("{}{}{:?}", ended.stdout, ended.stderr, program.events(&id));
        assert!(told.contains(deed.code), "it {}: {told}", deed.name);
        for word in ["Stack backtrace", "/registry/", "host/runtime/src"] {
            assert!(!told.contains(word), "it {}: {told}", deed.name);
        }
    }
}
