//! Names that lead nowhere, folders that are none, and two processes on one data folder.

use rewake_tests::program::{Program, text};
use serde_json::json;

use crate::cut::{FOREVER_MS, LONG_MS, append, call, cut, learned, scripted};

#[test]
fn a_session_that_is_not_here_is_told_and_nothing_is_made() {
    let program = Program::new();
    let none = "ses_01M8KY9RHPPZZH3GVBDP2VXH40";
    let all: [&[&str]; 7] = [
        &["run", "--session", none, "hello"],
        &["answer", none, "q", "yes"],
        &["stop", none],
        &["show", none],
        &["events", none],
        &["replay", none],
        &["verify", none],
    ];
    for args in all {
        program.run(args).expect(2).says(&["there are no sessions in "]);
    }
    assert!(!program.data().exists(), "a wrong name made a folder");
    program.create(&scripted());
    for args in all {
        program.run(args).expect(2).says(&[none]);
    }
    assert_eq!(program.sessions().len(), 1);
    assert_eq!(std::fs::read_dir(program.data().join("workspaces")).unwrap().count(), 1);
}

#[test]
fn a_name_that_can_be_no_session_s_is_told() {
    let program = Program::new();
    for id in ["x", "ses_", "ses_../../etc", "ses_1;DROP", "-1"] {
        program.run(&["show", "--", id]).expect(2).says(&["ses_"]);
        program.run(&["run", &format!("--session={id}")]).expect(2).says(&["ses_"]);
    }
    assert!(!program.data().exists());
}

#[test]
fn a_data_folder_that_is_a_file_is_told() {
    let program = Program::new();
    let bundle = program.bundle(&scripted());
    std::fs::write(program.data(), "a file").unwrap();
    let data = text(&program.data());
    for args in [&["run", &bundle, "[]"][..], &["sessions"], &["verify"]] {
        program.run(args).expect(2).says(&[&format!("{data} is no folder"), "--data"]);
    }
    assert_eq!(std::fs::read_to_string(program.data()).unwrap(), "a file");
}

#[test]
fn what_does_not_fit_a_command_is_told_with_the_command() {
    let program = Program::new();
    for args in
        [&["run"][..], &["walk"], &["show"], &["run", "a", "b", "c"], &["sessions", "--limit", "many"]]
    {
        program.run(args).expect(2).says(&["--help"]);
    }
}

/// R0: one process runs a session; another one reads it, runs others, and is told who has it.
#[test]
fn two_processes_on_one_data_folder() {
    let program = Program::new();
    let busy = program.create(&scripted());
    let other = program.create(&scripted());
    let ops = json!([call(&[append("append_once", "once", FOREVER_MS)])]).to_string();
    let mut process = program.start(&["run", "--session", &busy, &ops]);
    process.until("the tool's line", || program.lines(&busy, "log", "once") > 0);

    let host = program.events(&busy).first("session.loaded").data["host"].as_str().unwrap().to_owned();
    program.resume(&busy).expect(1).says(&[
        &busy,
        "is run by",
        &host,
        &format!("(process {})", process.id()),
    ]);
    let events = program.check(&busy);
    assert_eq!((events.count("session.loaded"), events.count("tool.started")), (1, 1));
    for (args, shown) in
        [(&["show", &busy][..], "running"), (&["sessions"], &busy), (&["events", &busy], "tool.started")]
    {
        let told = program.run(args).expect(0).stdout;
        assert!(told.contains(shown), "{shown:?} is not in:\n{told}");
    }
    program.tell(&other, &json!([{ "op": "say", "text": "beside" }]).to_string()).expect(0);
    program.check(&other);

    // What another process sends is taken in by the one that runs the session.
    let stopped = program.run(&["stop", &busy, "enough"]);
    // Whether it still sees the end of it depends on how soon the other process is gone.
    match stopped.code {
        Some(1) => drop(stopped.says(&["is kept as command 2"])),
        _ => drop(stopped.expect(0)),
    }
    process.end().expect(4);
    assert_eq!(program.check(&busy).first("session.stopped").data["reason"], "enough");
    assert_eq!(program.lines(&busy, "log", "once"), 1);
}

/// R0: two processes that take the same session up at once: one runs it, the other is told, or finds it done.
#[test]
fn two_processes_that_take_one_session_up_at_once() {
    let uses = [append("append_once", "once", FOREVER_MS), append("append_idempotent", "again", LONG_MS)];
    let cut = cut(&scripted(), &json!([call(&uses)]), "both lines", |program, id| {
        program.lines(id, "log", "once") > 0 && program.lines(id, "log", "again") > 0
    });
    let args = ["run", "--session", &cut.id];
    let both = [cut.program.start(&args), cut.program.start(&args)];
    let mut codes = both.map(|process| process.end().code);
    codes.sort_unstable();
    assert!(codes == [Some(0), Some(1)] || codes == [Some(0), Some(0)], "{codes:?}");
    let events = cut.program.check(&cut.id);
    assert_eq!(learned(&events), ["use-1: unknown: ", "use-2: ok: appended again"]);
    assert_eq!((cut.lines("once"), cut.lines("again")), (1, 2));
}
