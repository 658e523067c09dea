//! What waits in a session's inbox, as people list, change and promote it while another process runs the session.

use std::thread;
use std::time::{Duration, Instant};

use rewake_tests::bundles::Draft;
use rewake_tests::program::{Process, Program};
use rewake_tests::world::HANGS;
use serde_json::json;

fn say(text: &str) -> String {
    json!([{ "op": "say", "text": text }]).to_string()
}

/// A session in a turn that does not end by itself, the process that runs it, and one that waits for `two`.
fn busy(program: &Program) -> (String, Process, Process) {
    let id = program.create(&Draft::scripted());
    let slow = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 60_000 } }] }]);
    let mut runs = program.start(&["run", "--session", &id, &slow.to_string()]);
    runs.until("a tool runs", || program.events(&id).is_open("tool.started"));
    let mut two = program.start(&["run", "--session", &id, &say("two")]);
    two.until("the message waits", || listed(program, &id).contains("2 ann: "));
    (id, runs, two)
}

/// What `rewake show` lists of the inbox.
fn listed(program: &Program, id: &str) -> String {
    let shown = program.run(&["show", id]).expect(0).stdout;
    let from = shown.lines().skip_while(|line| !line.starts_with("inbox")).take(6);
    from.collect::<Vec<_>>().join("\n")
}

/// C50, C66, C67, C68, C69: pending messages are listed with number and sender, edited, canceled and promoted.
#[test]
fn what_waits_is_listed_changed_taken_back_and_promoted() {
    let program = Program::new();
    let (id, runs, two) = busy(&program);
    let mut three = program.start(&["run", "--session", &id, &say("three")]);
    three.until("it waits", || listed(&program, &id).contains("3 ann: "));
    program.run(&["edit", &id, "3", &say("three, edited")]).expect(0).says(&["message 3", "from now on"]);
    let shown = listed(&program, &id);
    assert!(shown.contains("3 ann (edited): ") && shown.contains("three, edited"), "{shown}");
    assert!(shown.contains("edit") && shown.contains("promote") && shown.contains(&id), "{shown}");

    program.run(&["cancel", &id, "2"]).expect(0).says(&["canceled message 2"]);
    let ended = two.end().expect(2);
    assert!(ended.stderr.contains("had no effect: ann took it back"), "{}", ended.stderr);
    program.run(&["cancel", &id, "2"]).expect(2).says(&["message 2 was canceled already"]);
    program.run(&["edit", &id, "1", "late"]).expect(2).says(&["message 1 was delivered already"]);
    program.run(&["edit", &id, "99", "x"]).expect(2).says(&["there is no command 99"]);
    program.run(&["edit", &id, "3", ""]).expect(2).says(&["the message is empty"]);
    program.run(&["promote", "ses_nobody", "3"]).expect(2);

    let promoted = program.run(&["promote", &id, "3"]).expect(0);
    assert!(promoted.stdout.contains("three, edited"), "{}", promoted.stdout);
    three.end().expect(0);
    runs.end().expect(4);
    let events = program.check(&id);
    assert_eq!((events.count("user.message"), events.count("turn.interrupted")), (2, 1));
    assert!(promoted.stdout.contains("> ann promotes message 3"), "{}", promoted.stdout);
}

/// A message is canceled and changed where it was typed, and told next.
#[test]
fn a_talk_takes_back_and_promotes_what_waits() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    let mut person = program.at_terminal(&["run", "--session", &id]);
    let slow = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 60_000 } }] }]);
    person.until("/help");
    person.presses("/back\r");
    person.until("nothing that you sent waits");
    person.presses(&format!("{slow}\r"));
    waits("a tool runs", || program.events(&id).is_open("tool.started"));
    person.presses(&format!("{}\r", say("tow")));
    waits("it waits", || listed(&program, &id).contains("2 ann: "));
    person.presses("/back\r");
    waits("it is taken back", || program.events(&id).count("command.canceled") == 1);
    person.presses("\x7f\x7f\x7f\x7f\x7fwo\"}]\r");
    waits("it waits again", || listed(&program, &id).contains("4 ann: "));
    person.presses("/next\r");
    waits("it is told", || program.events(&id).count("turn.completed") == 1);
    person.presses("/quit\r");
    assert_eq!(person.end(), Some(0));
    let events = program.check(&id);
    assert_eq!((events.count("user.message"), events.count("turn.interrupted")), (2, 1));
}

#[track_caller]
fn waits(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANGS;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long for: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
