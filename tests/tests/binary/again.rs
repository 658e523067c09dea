//! One session, killed again and again: however often its host dies, it comes to the same end.

use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::program::Program;
use serde_json::{Value, json};

use crate::cut::{append, call};

/// How often its host is killed.
const KILLS: usize = 10;
/// Entries that come of the work between two kills: a host that dies without any is let off in the end.
const ENTRIES: usize = 3;

/// Six steps, each with calls of tools, and words.
fn ops() -> Value {
    let step = |n: usize| {
        let uses =
            [append("append_idempotent", &format!("line {n}"), 60), json!({ "name": "echo", "input": {} })];
        [call(&uses[..1]), json!({ "op": "say", "text": format!("step {n}") }), json!({ "op": "more" })]
    };
    json!((1..=6).flat_map(step).collect::<Vec<_>>())
}

/// Entries that are the session's own doing, and not its hosts'.
fn done(events: &Events) -> usize {
    let of_hosts = ["session.loaded", "session.unloaded", "step.rerun", "call.retried"];
    events.0.iter().filter(|event| !of_hosts.contains(&event.kind.as_str())).count()
}

#[test]
fn a_session_that_is_killed_ten_times_ends_as_one_that_is_not() {
    let draft = Draft::scripted().hook(
        &[],
        "[[component.probe.on]]\nevent = \"PreToolUse\"\n[[component.probe.on]]\nevent = \"SessionStart\"",
    );
    let whole = Program::new();
    let id = whole.create(&draft);
    whole.tell(&id, &ops().to_string()).expect(0);
    let expected = whole.check(&id);

    let program = Program::new();
    let id = program.create(&draft);
    let message = ops().to_string();
    let mut args = vec!["run", "--session", &id, &message];
    for kill in 1..=KILLS {
        let mut process = program.start(&args);
        process.until("the next place", || done(&program.events(&id)) >= kill * ENTRIES + 1);
        process.kill();
        // It is told once: what was acknowledged is there.
        args.truncate(3);
    }
    let killed = program.events(&id);
    assert!(done(&killed) < done(&expected), "it was over before the last kill");
    program.resume(&id).expect(0);
    let events = program.check(&id);
    assert!(events.0.starts_with(&killed.0), "what was there has changed");
    assert_eq!(without_loads(&events), without_loads(&expected));
    assert_eq!(done(&events), done(&expected));
    assert_eq!(events.count("session.loaded"), KILLS + 1);
    for n in 1..=6 {
        assert!(program.lines(&id, "log", &format!("line {n}")) >= 1);
    }
}

/// What a person sees, but what is told of each load.
fn without_loads(events: &Events) -> Vec<String> {
    let mut lines = events.transcript();
    lines.retain(|line| !line.starts_with("context: source="));
    lines
}
