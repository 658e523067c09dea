//! What the program shows: JSON lines for scripts, lines for people, and nothing that harms a terminal.

use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::program::Program;
use serde_json::json;

use crate::cut::call;

fn say(text: &str) -> String {
    json!([{ "op": "say", "text": text }]).to_string()
}

/// C06: a run with a first message creates a session; its output and the journal's are the same bytes.
#[test]
fn json_lines_are_the_journal_s_own() {
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    let told = program.run(&["run", &bundle, &say("one"), "--json"]).expect(0);
    let first = Events::of_json(&told.stdout);
    let id = first.0[0].session_id.clone();
    let listed = program.run(&["events", &id, "--json"]).expect(0).stdout;
    assert_eq!(told.stdout, listed);
    // A second process gives what it adds, and no more.
    let told = program.run(&["run", "--session", &id, &say("two"), "--json"]).expect(0);
    let after = program.run(&["events", &id, "--json", "--after", &first.0.len().to_string()]).expect(0);
    assert_eq!(told.stdout, after.stdout);
    assert_eq!(program.check(&id).count("turn.completed"), 2);
}

#[test]
fn events_are_chosen_by_number_and_type() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    program.tell(&id, &say("one")).expect(0);
    let all = program.events(&id);
    let chosen = |args: &[&str]| {
        let args = [&["events", &id, "--json"], args].concat();
        Events::of_json(&program.run(&args).expect(0).stdout)
    };
    assert_eq!(chosen(&["--after", "3"]).0, all.0[3..]);
    assert_eq!(chosen(&["--after", "3", "--limit", "2"]).0, all.0[3..5]);
    assert_eq!(chosen(&["--after", "1000"]).0, []);
    assert_eq!(chosen(&["--types", "turn."]).kinds(), ["turn.started", "turn.completed"]);
    let types = "agent.message,session.created";
    assert_eq!(chosen(&["--types", types]).kinds(), ["session.created", "agent.message", "agent.message"]);
    assert_eq!(chosen(&["--types", types, "--after", "1", "--limit", "1"]).kinds(), ["agent.message"]);
    program.run(&["events", &id, "--types", "turns."]).expect(2).says(&["no entry has this type"]);
    let lines = program.run(&["events", &id]).expect(0).stdout;
    assert_eq!(lines.lines().count(), all.0.len());
}

#[test]
fn sessions_are_listed_the_newest_first() {
    let program = Program::new();
    assert!(program.sessions().is_empty());
    let ids: Vec<String> = (0..3).map(|_| program.create(&Draft::scripted())).collect();
    program.tell(&ids[0], &json!([{ "op": "title", "text": "The first" }]).to_string()).expect(0);
    let listed = program.sessions();
    let found: Vec<&str> = listed.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(found, [&ids[2], &ids[1], &ids[0]]);
    assert_eq!((listed[2].title.as_deref(), listed[2].turns), (Some("The first"), 1));
    let table = program.run(&["sessions", "--limit", "2"]).expect(0).stdout;
    assert_eq!(table.lines().count(), 3);
    assert!(!table.contains(&ids[0]));
    let shown = program.run(&["show", &ids[0]]).expect(0).stdout;
    for words in [&ids[0][..], "The first", "test/scripted", "may read and write /workspace"] {
        assert!(shown.contains(words), "{words:?} is not in:\n{shown}");
    }
}

/// What guests and people write cannot move the cursor, colour the text, or turn the reading direction.
#[test]
fn what_harms_a_terminal_never_reaches_it() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    let harm = "a\u{1b}[2J\u{1b}]0;title\u{7}b\u{9b}31mc\u{202e}d\u{2066}e\u{200f}f\rg\u{8}\u{0}\u{feff}";
    let ops = json!([
        call(&[
            json!({ "name": "fail", "input": { "message": harm } }),
            json!({ "name": "echo", "input": { "x": harm } }),
            json!({ "name": harm, "input": {} }),
        ]),
        { "op": "say", "text": harm },
        { "op": "title", "text": harm },
        { "op": "log", "text": harm },
        { "op": "print", "text": harm },
        { "op": "ask", "id": "q", "text": harm, "choices": [harm] },
    ]);
    let told = program.tell(&id, &ops.to_string()).expect(5);
    assert!(told.stdout.contains(r"a\u{1b}[2J\u{1b}]0;title\u{7}b\u{9b}31mc\u{202e}d"), "{}", told.stdout);
    let mut shown = vec![told.stdout, told.stderr];
    for args in [
        &["events", &id][..],
        &["events", &id, "--json"],
        &["show", &id],
        &["sessions"],
        &["sessions", "--json"],
    ] {
        let ended = program.run(args).expect(0);
        shown.extend([ended.stdout, ended.stderr]);
    }
    let answered = program.run(&["answer", &id, "q", harm.trim_end_matches(['\u{feff}', '\u{0}'])]).expect(0);
    shown.extend([answered.stdout, answered.stderr]);
    for text in &shown {
        let harmful = text
            .chars()
            .find(|c| (c.is_control() && *c != '\n') || "\u{feff}\u{200f}\u{202e}\u{2066}".contains(*c));
        assert_eq!(harmful, None, "{text:?}");
    }
    // Nothing is lost: the journal has it as it was.
    let events = program.check(&id);
    assert!(events.said().iter().any(|text| text == harm));
}

/// A pager that is closed ends nothing: the session finishes without a reader.
#[test]
fn a_reader_that_goes_away_ends_nothing() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    let long = "long ".repeat(8_000);
    let says: Vec<_> = (0..3).map(|_| json!({ "op": "say", "text": long })).collect();
    let mut ops = says;
    ops.push(json!({ "op": "say", "text": "the end" }));
    let mut process = program.start_unread(&["run", "--session", &id, &json!(ops).to_string()]);
    process.until("the end", || program.events(&id).count("turn.completed") == 1);
    process.close_reader();
    process.end().expect(0);
    assert_eq!(program.check(&id).count("session.unloaded"), 1);
}
