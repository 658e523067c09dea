//! A hook that wants a person to decide, as anyone who runs the program meets it away from a terminal.

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;
use serde_json::json;

fn session() -> (Program, String) {
    let program = Program::new();
    let on = "[[component.probe.on]]\nevent = \"PreToolUse\"";
    let id = program.create(&Draft::scripted().hook(&[("ask", "append_once")], on));
    (program, id)
}

#[test]
fn away_from_a_terminal_it_waits_and_says_how_to_answer() {
    let uses = json!([{ "name": "append_once", "input": { "path": "/workspace/log", "line": "x" } }]);
    let ops = json!([{ "op": "tools", "uses": uses }]).to_string();
    for (answer, times) in [("allow", 1), ("deny", 0)] {
        let (program, id) = session();
        let waits = program.tell(&id, &ops).expect(5).says(&["waits for an answer", "ask-1-1-1-0"]);
        assert!(waits.stderr.contains(&format!("answer {id} ask-1-1-1-0 VALUE")), "{}", waits.stderr);
        let asked = "? [ask-1-1-1-0] May append_once run? the probe asks about append_once. \
                     Its input: {\"line\":\"x\",\"path\":\"/workspace/log\"} (allow | deny)";
        assert!(waits.stdout.contains(asked), "{}", waits.stdout);
        let shown = program.run(&["show", &id]).expect(0).stdout;
        assert!(shown.contains("ask-1-1-1-0"), "{shown}");
        program.resume(&id).expect(5);
        assert_eq!(program.lines(&id, "log", "x"), 0);
        program.run(&["answer", &id, "ask-1-1-1-0", answer]).expect(0);
        assert_eq!(program.lines(&id, "log", "x"), times, "{answer}");
        program.run(&["answer", &id, "ask-1-1-1-0", "allow"]).expect(2).says(&["no open question"]);
        program.check(&id);
    }
}
