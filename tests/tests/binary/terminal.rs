//! What the program asks whoever sits at its terminal: what a hook wants decided, and what a bundle asks for.

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;
use serde_json::json;

const ON: &str = "[[component.probe.on]]\nevent = \"PreToolUse\"";

fn asking() -> Draft {
    Draft::scripted().hook(&[("ask", "append_once")], ON)
}

fn ops() -> String {
    let uses = json!([{ "name": "append_once", "input": { "path": "/workspace/log", "line": "x" } }]);
    json!([{ "op": "tools", "uses": uses }, { "op": "say", "text": "that is all" }]).to_string()
}

#[test]
fn whoever_sits_at_the_terminal_decides() {
    // The beginning of an answer will do; what is none of them is asked again; nothing leaves it open.
    for (typed, times, code) in
        [(&["a"][..], 1, 0), (&["deny"], 0, 0), (&["perhaps", "ALLOW"], 1, 0), (&["perhaps", ""], 0, 5)]
    {
        let program = Program::new();
        let id = program.create(&asking());
        let mut terminal = program.at_terminal(&["run", "--session", &id, &ops()]);
        for (n, line) in typed.iter().enumerate() {
            let shown = terminal.until("answer> ");
            assert_eq!(shown.contains("answer with one of: allow, deny"), n > 0, "{shown}");
            assert!(shown.contains("the probe asks about append_once"), "{shown}");
            terminal.types(line);
        }
        if code == 0 {
            terminal.until("that is all");
        }
        assert_eq!(terminal.end(), Some(code), "{typed:?}");
        assert_eq!(program.lines(&id, "log", "x"), times, "{typed:?}");
        program.check(&id);
        let answers = program.events(&id);
        let answers: Vec<_> = answers.of_kind("user.answer").map(|event| &event.data["sender"]).collect();
        assert_eq!(answers.len(), usize::from(code == 0));
        assert!(answers.iter().all(|sender| **sender == json!({ "type": "operator", "id": "ann" })));
    }
}

/// While a person thinks, the session is nobody's: another process can answer for it.
#[test]
fn a_question_can_be_answered_from_elsewhere_meanwhile() {
    let program = Program::new();
    let id = program.create(&asking());
    let mut terminal = program.at_terminal(&["run", "--session", &id, &ops()]);
    terminal.until("answer> ");
    program.run(&["answer", &id, "ask-1-1-1-0", "allow"]).expect(0);
    terminal.types("deny");
    assert!(terminal.end().is_some());
    assert_eq!(program.lines(&id, "log", "x"), 1, "the first answer counts");
    let events = program.check(&id);
    assert_eq!((events.count("user.answer"), events.count("turn.completed")), (1, 1));
}

/// What a bundle asks for and no rule names is put to the person too, and pinned as that person's.
#[test]
fn whoever_sits_at_the_terminal_grants() {
    for (typed, approved) in [("y", true), ("n", false), ("", false)] {
        let program = Program::new();
        let bundle = program.bundle(&Draft::scripted());
        let mut terminal = program.at_terminal(&["run", &bundle, &ops()]);
        let shown = terminal.until("[y/N] ");
        assert!(shown.contains("test/scripted") && shown.contains("/workspace"), "{shown}");
        terminal.types(typed);
        assert!(terminal.end().is_some());
        let sessions = program.sessions();
        let written = sessions.first().map(|session| program.lines(session.id.as_str(), "log", "x"));
        assert_eq!(written.unwrap_or(0), usize::from(approved), "{typed:?}");
        if let Some(session) = sessions.first() {
            let created = program.events(session.id.as_str());
            let by = &created.first("session.created").data["bundles"][0]["approved_by"];
            assert_eq!(by.as_str(), approved.then_some("ann"));
        }
    }
}

/// `N-G1`: a session from another machine is put to the operator at the terminal before it resumes; who says no has it
/// without its grants.
#[test]
fn the_operator_at_the_terminal_approves_again() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    for (typed, approved) in [("y", true), ("n", false)] {
        let moved = program.moved().elsewhere();
        let mut terminal = moved.at_terminal(&["run", "--session", &id, &ops()]);
        let shown = terminal.until("[y/N] ");
        assert!(
            shown.contains("this machine has not approved") && shown.contains("fs:workspace:rw"),
            "{shown}"
        );
        terminal.types(typed);
        assert!(terminal.end().is_some());
        assert_eq!(moved.lines(&id, "log", "x"), usize::from(approved), "{typed:?}");
        let why = moved.events(&id).of_kind("grants.changed").map(|event| event.data["why"].clone()).last();
        assert_eq!(why, (!approved).then(|| json!("unvouched")));
    }
}
