//! A data folder that is copied elsewhere after a kill: the session goes on there, from its journal alone.

use serde_json::json;

use crate::cut::{FOREVER_MS, append, call, cut, learned, scripted};

/// A23, B28: a copy of the data folder resumes after the last entry, as the original does: a move is a load.
#[test]
fn a_copy_of_the_data_folder_goes_on_as_the_original_does() {
    let draft = scripted().model("[[reply]]\ntext = \"good morning\"\n");
    let ops = json!([
        { "op": "model", "text": "hello" },
        call(&[append("append_idempotent", "before", 0)]),
        { "op": "more" },
        call(&[append("append_once", "once", FOREVER_MS)]),
        { "op": "more" },
        call(&[append("append_idempotent", "after", 0)]),
    ]);
    let cut = cut(&draft, &ops, "the tool's line", |program, id| program.lines(id, "log", "once") > 0);
    let moved = cut.program.moved();
    assert_eq!(moved.events(&cut.id).0, cut.before.0);

    // The copy first: it needs nothing of the original.
    moved.resume(&cut.id).expect(0);
    let there = moved.check(&cut.id);
    let here = cut.resumed();
    assert_eq!(there.transcript(), here.transcript());
    assert_eq!(learned(&here)[2], "use-2: unknown: ");
    for program in [&cut.program, &moved] {
        let lines = ["before", "once", "after"].map(|line| program.lines(&cut.id, "log", line));
        assert_eq!(lines, [1, 1, 1]);
    }
    // From the kill on they are two histories, and each says so.
    assert_ne!(there.last("session.unloaded").hash, here.last("session.unloaded").hash);
}

/// A23, B06, B31: an idle session resumes on another host too, with the versions it was created with.
#[test]
fn a_session_at_rest_is_told_more_elsewhere() {
    let program = rewake_tests::program::Program::new();
    let id = program.create(&scripted());
    program.tell(&id, &json!([{ "op": "say", "text": "here" }]).to_string()).expect(0);
    let moved = program.moved();
    drop(program);
    moved.tell(&id, &json!([call(&[append("append_once", "there", 0)])]).to_string()).expect(0);
    let events = moved.check(&id);
    assert_eq!(events.learned(), [vec!["said"], vec!["use-1: ok: appended there"]]);
    assert_eq!(moved.lines(&id, "log", "there"), 1);
}
