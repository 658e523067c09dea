//! Commands that are sent again under the key they were sent with, as a script does that does not know what became
//! of them: taken once, and what came of them is told again.

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;
use serde_json::json;

#[test]
fn a_message_under_a_key_is_taken_once() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    let says = json!([{ "op": "say", "text": "here" }]).to_string();
    let fails = json!([{ "op": "fail", "code": "no_luck" }]).to_string();
    let send = |key: &str, ops: &str| program.run(&["run", "--session", &id, "--key", key, ops]);
    for _ in 0..2 {
        send("one", &says).expect(0);
        send("two", &fails).expect(3);
    }
    // Also when others came after it.
    send("one", &says).expect(0);
    send("one", &fails).expect(2).says(&["one"]);
    let events = program.check(&id);
    assert_eq!((events.count("user.message"), events.count("turn.started")), (2, 2));
    assert_eq!(events.said().iter().filter(|said| *said == "here").count(), 1);
}

#[test]
fn an_answer_under_a_key_is_taken_once() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    let asks =
        json!([{ "op": "ask", "id": "q", "text": "Go on?" }, { "op": "say", "text": "on" }]).to_string();
    program.tell(&id, &asks).expect(5);
    let answer = |more: &[&str]| program.run(&[&["answer", &id, "q", "yes"], more].concat());
    for _ in 0..2 {
        answer(&["--key", "a"]).expect(0);
    }
    answer(&["--key", "b"]).expect(2).says(&["had no effect"]);
    answer(&[]).expect(2).says(&["no open question"]);
    let events = program.check(&id);
    assert_eq!((events.count("user.answer"), events.count("turn.completed")), (1, 1));
}
