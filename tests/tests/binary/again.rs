//! One session, killed again and again: however often its host dies, it comes to the same end.

use rewake_tests::journal::Events;
use rewake_tests::program::Program;
use serde_json::{Value, json};

use crate::cut::{append, call, scripted};

/// How often its host is killed.
const KILLS: usize = 10;
/// Entries of steps between two kills: a call whose host dies again and again is given up in the end.
const ENTRIES: usize = 4;

/// Six steps, each with calls of tools, and words.
fn ops() -> Value {
    let step = |n: usize| {
        let line = append("append_idempotent", &format!("line {n}"), 150);
        [call(&[line]), json!({ "op": "say", "text": format!("step {n}") }), json!({ "op": "more" })]
    };
    json!((1..=6).flat_map(step).collect::<Vec<_>>())
}

/// Entries of steps that are not their hosts' doing.
fn done(events: &Events) -> usize {
    let of_hosts = ["step.rerun", "call.retried"];
    let done = |event: &&rewake_wire::Event| event.step.is_some() && !of_hosts.contains(&event.kind.as_str());
    events.0.iter().filter(done).count()
}

#[test]
fn a_session_that_is_killed_ten_times_ends_as_one_that_is_not() {
    let draft = scripted().hook(
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
        process.until("the next place", || {
            let events = program.events(&id);
            events.count("session.loaded") == kill && done(&events) >= kill * ENTRIES
        });
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
