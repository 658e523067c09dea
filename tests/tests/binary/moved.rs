//! A data folder that is copied elsewhere after a kill: the session resumes there, from its journal alone. On the same
//! machine it has what was approved; on another one it resumes without that, until an operator approves it there.

use rewake_tests::program::{Program, text};
use serde_json::json;

use crate::cut::{FOREVER_MS, append, call, cut, learned, scripted};

/// A message to a session of [`scripted`] that was moved.
fn append_there() -> String {
    json!([call(&[append("append_once", "there", 0)])]).to_string()
}

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

/// A23, B06, B31: an idle session resumes on another host too, with the versions it was created with. The hosts share a
/// trust key, so that nothing is asked.
#[test]
fn a_session_at_rest_is_told_more_elsewhere() {
    let program = Program::new();
    let id = program.create(&scripted());
    program.tell(&id, &json!([{ "op": "say", "text": "here" }]).to_string()).expect(0);
    let moved = program.moved();
    drop(program);
    moved.tell(&id, &json!([call(&[append("append_once", "there", 0)])]).to_string()).expect(0);
    let events = moved.check(&id);
    assert_eq!(events.learned(), [vec!["said"], vec!["use-1: ok: appended there"]]);
    assert_eq!(moved.lines(&id, "log", "there"), 1);
}

/// `N-G1`: on a machine with another trust key an approval counts as not given. The session loads, says what is missing
/// and why, and does without it; one command gives it back. Its recorded part replays all the same.
#[test]
fn another_machine_approves_again_with_one_command() {
    let program = Program::new();
    let id = program.create(&scripted());
    program.tell(&id, &json!([call(&[append("append_once", "here", 0)])]).to_string()).expect(0);
    let moved = program.moved().elsewhere();
    drop(program);
    let again = format!("grant {id}` approves them");
    let words = [
        "this machine has not approved",
        "approved by ann as its journal says",
        "tool_probe: fs:workspace:rw",
        &again,
    ];
    moved.tell(&id, &append_there()).expect(0).says(&words);
    let events = moved.check(&id);
    let learned = &events.learned()[1][0];
    assert!(
        learned.contains("was not granted it") && learned.contains(&format!("`rewake grant {id}`")),
        "{learned}"
    );
    let changed = &events.first("grants.changed").data;
    assert_eq!((&changed["why"], &changed["to"]), (&json!("unvouched"), &json!({})));
    assert_eq!(["here", "there"].map(|line| moved.lines(&id, "log", line)), [1, 0]);

    // Nobody can be asked here.
    let shown = moved.run(&["show", &id]).expect(0).stdout;
    assert!(shown.contains("unapproved   test/scripted, on this machine"), "{shown}");
    moved.run(&["grant", &id]).expect(2).says(&["use --all"]);
    moved.run(&["grant", &id, "--all"]).expect(0).says(&["approved for", &id]);
    moved.tell(&id, &append_there()).expect(0);
    let events = moved.check(&id);
    assert_eq!(events.learned()[2], ["use-3: ok: appended there"]);
    let changed = &events.last("grants.changed").data;
    assert_eq!((&changed["why"], &changed["by"]), (&json!("approved"), &json!("ann")));
    assert_eq!(moved.lines(&id, "log", "there"), 1);
    moved.run(&["grant", &id]).expect(0).says(&["nothing to approve"]);
    assert!(!moved.run(&["show", &id]).expect(0).stdout.contains("unapproved"));
    // A host that did not create it says what it may do, and who approved that.
    moved.resume(&id).expect(0).says(&["grants: test/scripted as ann approved"]);
}

/// `N-G1`: a session that was killed and moved to a machine with another trust key resumes without its grants: what was
/// in flight once is not done again, and what follows is refused. Approved there before it is loaded, it resumes as the
/// original does.
#[test]
fn a_session_that_was_killed_goes_on_elsewhere_narrowed_or_approved() {
    let draft = scripted().model("[[reply]]\ntext = \"good morning\"\n");
    let ops = json!([
        call(&[append("append_idempotent", "before", 0)]),
        { "op": "more" },
        call(&[append("append_once", "once", FOREVER_MS)]),
        { "op": "more" },
        call(&[append("append_idempotent", "after", 0)]),
    ]);
    let cut = cut(&draft, &ops, "the tool's line", |program, id| program.lines(id, "log", "once") > 0);
    let counts =
        |program: &Program| ["before", "once", "after"].map(|line| program.lines(&cut.id, "log", line));
    let (narrowed, approved) = (cut.program.moved().elsewhere(), cut.program.moved().elsewhere());

    narrowed.resume(&cut.id).expect(0).says(&["this machine has not approved"]);
    let events = narrowed.check(&cut.id);
    assert_eq!(events.learned()[0][1], "use-2: unknown: ", "{:?}", events.learned());
    assert_eq!(counts(&narrowed), [1, 1, 0]);

    let resumed = approved.run(&["run", "--session", &cut.id, "--grant-asked"]).expect(0);
    assert!(!resumed.stderr.contains("has not approved"), "{}", resumed.stderr);
    assert_eq!(approved.check(&cut.id).transcript(), cut.resumed().transcript());
    assert_eq!(counts(&approved), [1, 1, 1]);
}

/// `N-G1`: a killed host, an emptied cache, a restored backup and a moved folder on the same machine ask nothing.
#[test]
fn the_same_machine_asks_nothing_again() {
    let program = Program::new().with_own_cache();
    let id = program.create(&scripted());
    let backup = program.copied();
    let ops = json!([call(&[append("append_once", "killed", FOREVER_MS)])]).to_string();
    let mut process = program.start(&["run", "--session", &id, &ops]);
    process.until("the tool's line", || program.lines(&id, "log", "killed") > 0);
    process.kill();
    std::fs::remove_dir_all(program.beside("components")).expect("the cache");
    program.resume(&id).expect(0);
    for (what, program) in
        [("killed, without a cache", &program), ("restored", &backup), ("moved", &program.moved())]
    {
        let told = program.tell(&id, &append_there()).expect(0);
        assert!(!told.stderr.contains("not approved"), "{what}: {}", told.stderr);
        assert_eq!(
            (program.lines(&id, "log", "there"), program.check(&id).count("grants.changed")),
            (1, 0),
            "{what}"
        );
    }
}

/// `N-G1`: rules in a data folder from elsewhere are not used, and a line says so; they are used where they are named,
/// or from the command on that has this machine know the folder.
#[test]
fn rules_in_a_folder_from_elsewhere_are_not_used() {
    let program = Program::new();
    program.rule("[models.other]\nprovider = \"scripted\"\n");
    let bundle = program.bundle(&scripted());
    let unused = "are not used, because this machine does not know their data folder";
    let run = |program: &Program, more: &[&str]| {
        let words = [more, &["run", "--model", "other", &bundle]].concat();
        program.run(&words)
    };
    let told = run(&program, &[]).expect(0);
    assert!(!told.stderr.contains(unused), "{}", told.stderr);
    let moved = program.moved().elsewhere();
    let rules = text(&moved.data().join("rewake.toml"));
    let told = run(&moved, &[]).says(&[unused, &format!("--config {rules}"), "rewake grant --rules"]);
    assert_eq!(told.stderr.matches(unused).count(), 1, "{}", told.stderr);
    let shown = moved.run(&["doctor"]).stdout;
    assert!(shown.contains("is not used: this machine does not know its data folder"), "{shown}");
    let named = run(&moved, &["--config", &rules]).expect(0);
    assert!(!named.stderr.contains(unused), "{}", named.stderr);
    moved.run(&["grant", "--rules"]).expect(0).says(&["are used on this machine from now on"]);
    let told = run(&moved, &[]).expect(0);
    assert!(!told.stderr.contains(unused), "{}", told.stderr);
    // A folder without rules is known from its first use on.
    let empty = Program::new();
    empty.create(&scripted());
    std::fs::write(empty.data().join("rewake.toml"), "[models.other]\nprovider = \"scripted\"\n")
        .expect("rules");
    assert!(!run(&empty, &[]).expect(0).stderr.contains(unused));
}
