//! How the program ends, and by which code a script knows it; what signals do to it.

use rewake_tests::program::{Process, Program, Signal};
use serde_json::{Value, json};

use crate::cut::{FOREVER_MS, LONG_MS, append, call, scripted};

fn session() -> (Program, String) {
    let program = Program::new();
    let id = program.create(&scripted());
    (program, id)
}

/// A session in the middle of a call that does not end, and its process.
fn busy() -> (Program, String, Process) {
    let (program, id) = session();
    let ops = json!([call(&[append("append_once", "once", FOREVER_MS)]), { "op": "say", "text": "on" }]);
    let mut process = program.start(&["run", "--session", &id, &ops.to_string()]);
    process.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    (program, id, process)
}

fn tell(program: &Program, id: &str, ops: &Value) -> rewake_tests::program::Ended {
    program.tell(id, &ops.to_string())
}

/// Every code that `--help` names is given by a test of this file, or of `evidence`.
#[test]
fn help_names_the_codes() {
    let help = Program::new().run(&["--help"]).expect(0).stdout;
    let codes: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Exit codes:")
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "5", "6", "7", "130", "143"]);
}

#[test]
fn a_turn_that_fails_is_3_and_the_session_goes_on() {
    let (program, id) = session();
    let failed = tell(&program, &id, &json!([{ "op": "fail", "code": "broken" }])).expect(3);
    assert!(failed.stdout.contains("turn 1 failed (broken)"), "{}", failed.stdout);
    assert!(tell(&program, &id, &json!([{ "op": "trap" }])).expect(3).stdout.contains("turn 2 failed"));
    tell(&program, &id, &json!([{ "op": "say", "text": "on" }])).expect(0);
    let events = program.check(&id);
    assert_eq!((events.count("turn.failed"), events.count("turn.completed")), (2, 1));
}

#[test]
fn a_session_that_fails_has_ended() {
    let (program, id) = session();
    tell(&program, &id, &json!([{ "op": "fail", "session": true, "code": "gone" }])).expect(3);
    program.tell(&id, "[]").expect(6).says(&["failed"]);
    assert_eq!(program.sessions()[0].status.as_str(), "failed");
    program.check(&id);
}

#[test]
fn ctrl_c_interrupts_the_turn_and_is_4() {
    let (program, id, mut process) = busy();
    process.signal(Signal::INT);
    let ended = process.end().expect(4).says(&["interrupts turn 1", "press Ctrl-C again"]);
    assert!(ended.stdout.contains("turn 1 was interrupted"), "{}", ended.stdout);
    let events = program.check(&id);
    assert_eq!(events.first("tool.lost").data["why"], "interrupted");
    assert_eq!(events.last("session.unloaded").seq, events.0.len() as u64);
    // The turn is over; the next one is told of it.
    tell(&program, &id, &json!([{ "op": "say", "text": "on" }])).expect(0);
    let learned = program.check(&id).learned();
    assert!(learned[0][0].starts_with("unfinished: "), "{learned:?}");
    assert_eq!(program.lines(&id, "log", "once"), 1);
}

/// The first Ctrl-C can do nothing here: the reader stands still, and the process cannot end in good order.
#[test]
fn ctrl_c_twice_leaves_at_once_with_130_and_the_session_goes_on() {
    let (program, id) = session();
    let long = "long ".repeat(8_000);
    let ops = json!([
        { "op": "say", "text": long }, { "op": "say", "text": long }, { "op": "say", "text": long },
        call(&[append("append_once", "once", FOREVER_MS)]), { "op": "say", "text": "on" },
    ]);
    let mut process = program.start_unread(&["run", "--session", &id, &ops.to_string()]);
    process.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    process.signal(Signal::INT);
    process.until("the interrupt", || program.events(&id).count("turn.interrupted") == 1);
    process.signal(Signal::INT);
    process.end().expect(130).says(&["left; resume with `rewake --data ", &format!("run --session {id}`")]);
    tell(&program, &id, &json!([{ "op": "say", "text": "on" }])).expect(0);
    let events = program.check(&id);
    assert_eq!((events.count("turn.interrupted"), events.count("turn.completed")), (1, 1));
}

/// A turn is open as soon as a message is accepted, though a hook comes before its first step.
#[test]
fn ctrl_c_before_the_first_step_interrupts_the_turn() {
    let program = Program::new();
    let on = "[[component.probe.on]]\nevent = \"SessionStart\"";
    let id = program.create(&scripted().hook(&[("sleep_ms", "55000")], on));
    let mut process = program.start(&["run", "--session", &id, "[]"]);
    process.until("the hook", || program.events(&id).is_open("hook.started"));
    process.signal(Signal::INT);
    process.end().expect(4);
    let events = program.check(&id);
    assert_eq!((events.count("step.started"), events.count("turn.interrupted")), (0, 1));
}

/// The session is unloaded in the middle of a step, in good order, and says so.
#[test]
fn sigterm_and_sighup_let_go_in_good_order_and_are_143() {
    for signal in [Signal::TERM, Signal::HUP] {
        let (program, id, mut process) = busy();
        process.signal(signal);
        process.end().expect(143).says(&["left; resume with `rewake --data "]);
        assert!(!program.data().join("journal.db-wal").exists(), "the store was not closed");
        let before = program.events(&id);
        let last = before.last("session.unloaded");
        assert_eq!((last.seq, &last.data["why"]), (before.0.len() as u64, &json!("shutdown")));
        program.resume(&id).expect(0);
        assert_eq!(program.check(&id).learned(), [["use-1: unknown: ", "said"]]);
        assert_eq!(program.lines(&id, "log", "once"), 1);
    }
}

#[test]
fn a_question_is_5_and_an_answer_goes_on() {
    let (program, id) = session();
    let ops = json!([{ "op": "ask", "id": "q1", "text": "Which one?", "choices": ["red", "blue"] }]);
    let asked =
        tell(&program, &id, &ops).expect(5).says(&["waits for an answer", &format!("answer {id} q1 VALUE")]);
    assert!(asked.stdout.contains("? [q1] Which one? (red | blue)"), "{}", asked.stdout);
    assert!(program.run(&["show", &id]).expect(0).stdout.contains("q1"));
    program.run(&["answer", &id, "q2", "red"]).expect(2).says(&["no open question \"q2\""]);
    program.run(&["answer", &id, "q1", "red"]).expect(0);
    let events = program.check(&id);
    assert_eq!(events.learned(), [["answer q1: \"red\""]]);
    program.run(&["answer", &id, "q1", "blue"]).expect(2).says(&["no open question"]);
}

/// A time that comes while the program is about to leave: it hears that nothing is being done when that is
/// over already, because its reader stood still until then.
#[test]
fn a_turn_that_goes_on_is_not_left_in_the_middle() {
    let (program, id) = session();
    let long = "long ".repeat(8_000);
    let ops = json!([
        { "op": "say", "text": long }, { "op": "say", "text": long }, { "op": "say", "text": long },
        { "op": "wait", "ms": 300 },
        call(&[append("append_once", "once", LONG_MS)]),
    ]);
    let mut process = program.start_unread(&["run", "--session", &id, &ops.to_string()]);
    process.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    process.close_reader();
    process.end().expect(0);
    let events = program.check(&id);
    assert_eq!((events.count("turn.waiting"), events.count("turn.completed")), (1, 1));
    assert_eq!((events.count("tool.completed"), events.count("tool.lost")), (1, 0));
}

#[test]
fn a_session_that_is_stopped_is_6_from_then_on() {
    let (program, id) = session();
    tell(&program, &id, &json!([{ "op": "wait", "on_message": true }])).expect(5);
    program.run(&["stop", &id, "enough"]).expect(0);
    for args in [&["run", "--session", &id, "[]"][..], &["run", "--session", &id], &["stop", &id]] {
        program.run(args).expect(6).says(&["the session is stopped"]);
    }
    let events = program.check(&id);
    assert_eq!(events.first("session.stopped").data["reason"], "enough");
    assert_eq!(events.count("command.rejected"), 0);
    assert_eq!(program.sessions()[0].status.as_str(), "stopped");
}

/// A script that ends before the last reply is the turn's failure, and what to do is said.
#[test]
fn a_model_without_a_reply_is_told() {
    let program = Program::new();
    let id = program.create(&scripted().model("[[reply]]\ntext = \"one\"\n"));
    let ops = json!([{ "op": "model", "text": "a" }, { "op": "model", "text": "b" }]);
    let failed = tell(&program, &id, &ops).expect(3);
    assert!(failed.stdout.contains("model: rejected: "), "{}", failed.stdout);
    program.check(&id);
}
