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
        program.run(args).expect(2).says(&[&format!("{data} is not a folder"), "--data"]);
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

    // What another process sends is accepted by the one that runs the session, and shown where it was sent.
    let stopped = program.run(&["stop", &busy, "enough"]).expect(0);
    assert!(stopped.stdout.contains("the session is stopped: enough"), "{}", stopped.stdout);
    process.end().expect(4);
    assert_eq!(program.check(&busy).first("session.stopped").data["reason"], "enough");
    assert_eq!(program.lines(&busy, "log", "once"), 1);
}

/// Two terminals that say something to one session at once: one runs it, both see what comes of theirs.
#[test]
fn two_terminals_that_send_at_once() {
    let program = Program::new();
    let id = program.create(&scripted());
    for round in 0..3 {
        let text = |who: &str| json!([{ "op": "say", "text": format!("{who} {round}") }]).to_string();
        let tell = |who: &str| program.start(&["run", "--session", &id, &text(who)]);
        let (one, two) = (tell("one"), tell("two"));
        for (process, who) in [(one, "one"), (two, "two")] {
            let shown = process.end().expect(0).stdout;
            assert!(shown.contains(&format!("{who} {round}")), "{shown}");
        }
    }
    // Whether they come to one turn or two, each is accepted once.
    let events = program.check(&id);
    for who in ["one", "two"] {
        for round in 0..3 {
            let text = format!("{who} {round}");
            let taken = events.of_kind("user.message").filter(|event| event.data.to_string().contains(&text));
            assert_eq!(taken.count(), 1, "{text}");
        }
    }
}

/// A message to a session that another process runs waits for that one's turn, and tells of its own.
#[test]
fn what_is_sent_to_a_busy_session_is_followed_from_beside() {
    let program = Program::new();
    let id = program.create(&scripted());
    let ops = json!([call(&[append("append_once", "once", LONG_MS)])]).to_string();
    let mut first = program.start(&["run", "--session", &id, &ops]);
    first.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    let second = program.tell(&id, &json!([{ "op": "fail", "code": "no_luck" }]).to_string());
    let second = second.expect(3).says(&["is run by", "accepts what you sent as command 2"]);
    assert!(second.stdout.contains("turn 2 failed"), "{}", second.stdout);
    first.end();
    program.check(&id);
}

/// A data folder in which nothing was ever kept, and several processes that begin there at once.
#[test]
fn processes_that_start_at_once_in_a_new_folder() {
    let program = Program::new();
    let bundle = program.bundle(&scripted());
    let ops = json!([{ "op": "say", "text": "here" }]).to_string();
    let start = |_| program.start(&["run", "--grant-asked", &bundle, &ops]);
    for process in (0..5).map(start).collect::<Vec<_>>() {
        let shown = process.end().expect(0).stdout;
        assert!(shown.contains("here"), "{shown}");
    }
    let sessions = program.sessions();
    assert_eq!(sessions.len(), 5);
    for session in sessions {
        program.check(&session.id);
    }
}

/// A33: readers take no lock and create no file in the data folder, except the files that SQLite shares between
/// processes: the folder may be evidence, or on a read-only disk.
#[test]
fn reading_makes_nothing_in_the_data_folder() {
    let program = Program::new();
    let id = program.create(&scripted());
    program.tell(&id, &json!([{ "op": "say", "text": "x" }]).to_string()).expect(0);
    let hosts = program.data().join("hosts");
    std::fs::remove_dir_all(&hosts).unwrap();
    // Nobody, not even root, can make a folder where a file is.
    std::fs::write(&hosts, "").unwrap();
    let names = || {
        let found = std::fs::read_dir(program.data()).unwrap().map(|found| found.unwrap().file_name());
        let mut names: Vec<_> =
            found.filter(|name| !name.to_string_lossy().starts_with("journal.db-")).collect();
        names.sort();
        names
    };
    let before = names();
    for args in [&["replay", &id][..], &["verify", &id], &["show", &id], &["events", &id], &["sessions"]] {
        program.run(args).expect(0);
    }
    assert_eq!(names(), before);
    program.resume(&id).expect(1).says(&["hosts"]);
}

/// The lock file of a living process that somebody removes, or puts another one in the place of, makes nobody
/// take its session.
#[test]
fn a_lock_that_is_removed_while_it_is_held_gives_nothing_away() {
    let program = Program::new();
    let id = program.create(&scripted());
    let ops = json!([call(&[append("append_once", "once", FOREVER_MS)])]).to_string();
    let mut process = program.start(&["run", "--session", &id, &ops]);
    process.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    let hosts = program.data().join("hosts");
    for lock in std::fs::read_dir(&hosts).unwrap() {
        std::fs::remove_file(lock.unwrap().path()).unwrap();
    }
    program.resume(&id).expect(1).says(&["is run by"]);
    assert_eq!(program.check(&id).count("session.loaded"), 1);
    process.kill();
}

/// R0: two processes that take the same session up at once: one runs it, the other is told, or finds it done.
#[test]
fn two_processes_that_take_one_session_up_at_once() {
    let uses = [append("append_once", "once", FOREVER_MS), append("append_idempotent", "again", LONG_MS)];
    let cut = cut(&scripted(), &json!([call(&uses)]), "the first line", |program, id| {
        program.lines(id, "log", "once") > 0
    });
    let args = ["run", "--session", &cut.id];
    let both = [cut.program.start(&args), cut.program.start(&args)];
    let mut codes = both.map(|process| process.end().code);
    codes.sort_unstable();
    assert!(codes == [Some(0), Some(1)] || codes == [Some(0), Some(0)], "{codes:?}");
    let events = cut.program.check(&cut.id);
    assert_eq!(learned(&events), ["use-1: unknown: ", "use-2: ok: appended again"]);
    assert_eq!((cut.lines("once"), cut.lines("again")), (1, 1));
}
