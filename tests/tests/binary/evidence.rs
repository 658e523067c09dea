//! A journal that was changed from outside, in its file: the change is found, named, and not built upon.
//! What the storage refuses to anyone who asks it in SQL is tested in the store.

use std::path::PathBuf;

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;
use serde_json::json;

/// What the agent says, as it stands in the entry of it; elsewhere its quotes are escaped.
const SAID: &str = r#""text":"the blackbird sings""#;

fn journal(program: &Program) -> PathBuf {
    program.data().join("journal.db")
}

/// A data folder with a session that said something, and another one.
fn two_sessions() -> (Program, String, String) {
    let program = Program::new();
    let changed = program.create(&Draft::scripted());
    let other = program.create(&Draft::scripted());
    program.tell(&changed, &json!([{ "op": "say", "text": "the blackbird sings" }]).to_string()).expect(0);
    program.tell(&other, &json!([{ "op": "say", "text": "the thrush" }]).to_string()).expect(0);
    let log = program.data().join("journal.db-wal");
    assert!(!log.exists(), "a process that ends well leaves one file");
    (program, changed, other)
}

/// Changes the file: every `from` becomes a `to`.
fn change(program: &Program, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(journal(program)).unwrap();
    let places: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from:?} is not in the file");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(journal(program), bytes).unwrap();
}

/// B25, R0: one changed letter of a payload is detected.
#[test]
fn a_changed_letter_is_found_and_named() {
    let (program, changed, other) = two_sessions();
    let events = program.events(&changed);
    let seq = events.first("agent.message").seq;
    change(&program, SAID, &SAID.replace("blackbird", "blackbyrd"));

    let verified = program.run(&["verify", &changed]).expect(7);
    assert!(verified.stdout.contains(&format!("broken at entry {seq}: ")), "{}", verified.stdout);
    let all = program.run(&["verify"]).expect(7);
    assert!(all.stdout.contains(&format!("{other}: ")) && all.stdout.contains(" hold, head "));
    assert!(all.stdout.contains(&format!("{changed}: broken at entry {seq}: ")), "{}", all.stdout);

    // It takes no further step, and nothing is added to it.
    let named = format!("entry {seq}");
    for args in
        [&["run", "--session", &changed][..], &["run", "--session", &changed, "[]"], &["stop", &changed]]
    {
        program.run(args).expect(6).says(&["cannot be replayed", &named, "rewake verify"]);
    }
    program.run(&["replay", &changed]).expect(6).says(&[&named]);
    let row = program.sessions().into_iter().find(|session| session.id == changed).unwrap();
    assert_eq!(row.entries, events.0.len() as u64);

    // What can be read is shown, up to there.
    let read = program.run(&["events", &changed, "--json"]).expect(6).says(&[&named]);
    assert_eq!(read.stdout.lines().count() as u64, seq - 1);
    let shown = program.run(&["show", &changed]).expect(0);
    assert!(shown.stdout.contains(&named), "{}", shown.stdout);

    // The other one has nothing to do with it.
    program.tell(&other, "[]").expect(0);
    assert_eq!(program.check(&other).count("turn.completed"), 2);
}

/// A file that was cut off, or is another one, is said to be that.
#[test]
fn a_file_that_is_no_journal_is_refused() {
    let (program, id, _) = two_sessions();
    let bytes = std::fs::read(journal(&program)).unwrap();
    std::fs::write(journal(&program), &bytes[..bytes.len() / 2]).unwrap();
    for args in [&["verify", &id][..], &["run", "--session", &id], &["sessions"]] {
        program.run(args).expect(1).says(&["journal.db"]);
    }
    std::fs::write(journal(&program), "this is no database, but a text that is long enough for one").unwrap();
    for args in [&["verify", &id][..], &["run", "--session", &id], &["sessions"]] {
        program.run(args).expect(1).says(&["journal.db"]);
    }
}
