//! SIGKILL, at each kind of moment: whatever the process was doing, the session goes on and finishes.

use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::program::{Program, text};
use serde_json::json;

use crate::cut::{Cut, FOREVER_MS, LONG_MS, append, call, cut, cut_there, learned, scripted};

/// The start of a tool, and how often it was performed again.
fn tries(events: &Events) -> (usize, usize) {
    (events.count("tool.started"), events.count("call.retried"))
}

/// What each firing of SessionStart was for.
fn session_starts(events: &Events) -> Vec<&str> {
    let starts = events.of_kind("hook.started").filter(|event| event.data["event"] == "SessionStart");
    starts.map(|event| event.data["source"].as_str().unwrap_or_default()).collect()
}

/// B29, R5: a `once` call is not retried; the harness gets the outcome `unknown`.
#[test]
fn a_tool_of_class_once_is_not_run_again() {
    let ops = json!([call(&[append("append_once", "once", FOREVER_MS)]), { "op": "say", "text": "on" }]);
    let cut = cut(&scripted(), &ops, "the tool's line", |program, id| program.lines(id, "log", "once") > 0);
    assert!(cut.before.is_open("tool.started"));
    let events = cut.resumed();
    assert_eq!(cut.lines("once"), 1);
    assert_eq!(learned(&events), ["use-1: unknown: ", "said"]);
    assert_eq!(events.first("tool.lost").data["why"], "host");
    assert_eq!(tries(&events), (1, 0));
}

/// R5: a tool that may be repeated is, with the key of its one start.
#[test]
fn a_tool_of_class_idempotent_is_run_again() {
    let ops =
        json!([call(&[append("append_idempotent", "a", LONG_MS), json!({ "name": "echo", "input": {} })])]);
    let cut = cut(&scripted(), &ops, "the tool's line", |program, id| program.lines(id, "log", "a") > 0);
    assert!(cut.before.is_open("tool.started"));
    let events = cut.resumed();
    assert_eq!(cut.lines("a"), 2);
    assert_eq!(learned(&events)[0], "use-1: ok: appended a");
    let starts: Vec<_> = events.of_kind("tool.started").collect();
    let retried: Vec<_> = events.of_kind("call.retried").map(|event| &event.data["start"]).collect();
    let appends = starts.iter().find(|start| start.data["name"] == "append_idempotent").unwrap();
    assert!(retried.iter().any(|start| **start == appends.seq), "{retried:?}");
    // Whether or not it was performed again as well, it was told the key of its start.
    let echoed: serde_json::Value =
        serde_json::from_str(learned(&events)[1].strip_prefix("use-2: ok: ").unwrap()).unwrap();
    let echoes = starts.iter().find(|start| start.data["name"] == "echo").unwrap();
    assert_eq!(echoed["idempotency_key"], echoes.hash);
    assert_eq!(starts.len(), 2, "a call has one start, however often it is performed");
}

/// R5: what only reads is performed again.
#[test]
fn a_tool_of_class_pure_is_run_again() {
    let program = Program::new();
    let folder = program.beside("documents");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("note"), "as it was").unwrap();
    let draft = Draft::new("test/pure").harness("harness_script").tools("tool_pure", "ro");
    let bundle = program.bundle(&draft);
    let made = program.run(&["run", "--grant-asked", &bundle, "--workspace", &text(&folder)]).expect(0);
    let id = made.stdout.trim().to_owned();
    let look = json!({ "name": "look", "input": { "path": "/workspace/note", "sleep_ms": LONG_MS } });
    let cut = cut_there(program, id, &json!([call(&[look])]), "the tool's start", |program, id| {
        program.events(id).is_open("tool.started")
    });
    assert!(cut.before.is_open("tool.started"));
    assert_eq!(cut.before.first("tool.started").data["class"], "pure");
    let events = cut.resumed();
    assert_eq!(learned(&events), ["use-1: ok: as it was"]);
    assert_eq!(tries(&events), (1, 1));
    assert_eq!(events.count("tool.lost"), 0);
}

/// R4, R5, `N-A1`: of two that change one directory, only the one that ran had begun: its end is not known, and the one that
/// waited runs for the first time.
#[test]
fn a_tool_that_waited_for_a_killed_one_had_not_begun() {
    let uses = [append("append_once", "once", FOREVER_MS), append("append_idempotent", "again", LONG_MS)];
    let cut = cut(&scripted(), &json!([call(&uses)]), "the first line", |program, id| {
        program.lines(id, "log", "once") > 0
    });
    assert_eq!((cut.before.count("tool.started"), cut.before.count("tool.completed")), (1, 0));
    let events = cut.resumed();
    assert_eq!((cut.lines("once"), cut.lines("again")), (1, 1));
    assert_eq!(learned(&events), ["use-1: unknown: ", "use-2: ok: appended again"]);
    assert_eq!((tries(&events), events.count("tool.lost")), ((2, 0), 1));
}

/// R4: what had ended at the kill is fed back, and what had not is performed again.
#[test]
fn a_tool_that_had_ended_is_not_run_again_with_its_sibling() {
    let uses = [append("append_once", "ended", 0), append("append_idempotent", "again", LONG_MS)];
    let cut = cut(&scripted(), &json!([call(&uses)]), "the first one's end", |program, id| {
        program.events(id).count("tool.completed") == 1
    });
    assert!(cut.before.is_open("tool.started"));
    let events = cut.resumed();
    assert_eq!((cut.lines("ended"), cut.lines("again")), (1, 2));
    assert_eq!(learned(&events), ["use-1: ok: appended ended", "use-2: ok: appended again"]);
}

/// R5: a model that was cut off is asked again, and answers once.
#[test]
fn a_model_that_was_answering_is_asked_again() {
    let draft = scripted().model(&format!("[[reply]]\ntext = \"good morning\"\ndelay_ms = {LONG_MS}\n"));
    let ops = json!([{ "op": "say", "text": "first" }, { "op": "model", "text": "hello" }]);
    let cut =
        cut(&draft, &ops, "the model's start", |program, id| program.events(id).is_open("model.started"));
    assert!(cut.before.is_open("model.started"));
    let events = cut.resumed();
    assert_eq!(learned(&events), ["said", "model: good morning"]);
    assert_eq!((events.count("model.started"), events.count("model.completed")), (1, 1));
    assert_eq!(events.first("call.retried").data["start"], events.first("model.started").seq);
    assert_eq!(events.said().iter().filter(|text| *text == "first").count(), 1);
}

/// R4, R5: a hook that was judging judges again, and what it judges runs once.
#[test]
fn a_hook_that_was_judging_judges_again() {
    let sleep = LONG_MS.to_string();
    let config = [("sleep_ms", sleep.as_str()), ("deny", "append_idempotent")];
    let draft = scripted().hook(&config, "[[component.probe.on]]\nevent = \"PreToolUse\"");
    let uses = [append("append_once", "allowed", 0), append("append_idempotent", "denied", 0)];
    let cut = cut(&draft, &json!([call(&uses)]), "a hook's start", |program, id| {
        program.events(id).is_open("hook.started")
    });
    assert!(cut.before.is_open("hook.started"));
    assert_eq!(cut.before.count("tool.started"), 0);
    let events = cut.resumed();
    assert_eq!((cut.lines("allowed"), cut.lines("denied")), (1, 0));
    assert_eq!(events.count("hook.verdict"), 2, "each use has one verdict");
    assert_eq!(
        learned(&events),
        ["use-1: ok: appended allowed", "use-2: denied: the probe denies append_idempotent"]
    );
    assert_eq!(events.count("tool.started"), 1);
}

/// hooks.md: `startup` until its verdict is recorded, and `resume` at every later load; once a load.
#[test]
fn a_hook_at_the_start_fires_once_a_load() {
    let sleep = LONG_MS.to_string();
    let on = "[[component.probe.on]]\nevent = \"SessionStart\"";
    let draft = scripted().hook(&[("sleep_ms", sleep.as_str())], on);
    let ops = json!([call(&[append("append_once", "once", FOREVER_MS)]), { "op": "more" }]);
    let first =
        cut(&draft, &ops, "the hook's start", |program, id| program.events(id).is_open("hook.started"));
    assert_eq!(session_starts(&first.before), ["startup"]);
    assert_eq!(first.before.count("step.started"), 0);
    // The second process fires it again, and is killed after it.
    let Cut { program, id, .. } = first;
    let mut process = program.start(&["run", "--session", &id]);
    process.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    process.kill();
    let before = program.events(&id);
    assert_eq!(session_starts(&before), ["startup"]);
    assert_eq!((before.count("call.retried"), before.count("hook.verdict")), (1, 1));
    let events = Cut { program, id, before }.resumed();
    assert_eq!(session_starts(&events), ["startup", "resume"]);
    assert_eq!((events.count("session.loaded"), events.count("hook.verdict")), (3, 2));
    assert_eq!(learned(&events), ["context: source=startup", "use-1: unknown: ", "context: source=resume"]);
}

/// R9: between two steps there is nothing to lose. The steps take a little, so that there is time to kill.
#[test]
fn between_two_steps() {
    let ops: Vec<_> = (0..20)
        .flat_map(|_| {
            let takes = json!({ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 60 } }] });
            [json!({ "op": "say", "text": "x" }), takes, json!({ "op": "more" })]
        })
        .collect();
    for completed in [1, 7, 14] {
        let cut = cut(&scripted(), &json!(ops), "a step's end", |program, id| {
            program.events(id).count("step.completed") >= completed
        });
        let events = cut.resumed();
        let said = learned(&events).iter().filter(|line| *line == "said").count();
        assert_eq!(said, 20, "killed after {completed}");
        assert_eq!(events.count("agent.message"), 21);
        assert_eq!((events.count("step.started"), events.count("step.completed")), (21, 21));
    }
}

/// R10: a turn that waits is rows. The reader stands still, so that the process is there to be killed.
#[test]
fn while_a_turn_waits_for_a_message() {
    let program = Program::new();
    let id = program.create(&scripted());
    let text = "long ".repeat(8_000);
    let ops = json!([
        { "op": "say", "text": text }, { "op": "say", "text": text }, { "op": "say", "text": text },
        { "op": "wait", "on_message": true }, { "op": "say", "text": "awake" },
    ]);
    let mut process = program.start_unread(&["run", "--session", &id, &ops.to_string()]);
    process.until("the wait", || program.events(&id).count("turn.waiting") == 1);
    process.kill();
    let before = program.events(&id);
    assert_eq!(before.count("session.unloaded"), 0);
    let cut = Cut { program, id, before };
    // Without a message it waits on.
    cut.program.resume(&cut.id).expect(5).says(&["waits for a message"]);
    let events = cut.finished(cut.program.tell(&cut.id, "good morning"));
    assert_eq!(learned(&events), ["said", "said", "said", "heard: good morning", "said"]);
    assert_eq!(events.count("turn.waiting"), 1);
}

/// R10: the time a turn waits for passes while no process is there.
#[test]
fn while_a_turn_waits_for_a_time() {
    let program = Program::new();
    let id = program.create(&scripted());
    let text = "long ".repeat(8_000);
    let ops = json!([
        { "op": "say", "text": text }, { "op": "say", "text": text }, { "op": "say", "text": text },
        { "op": "wait", "ms": 1 }, { "op": "say", "text": "awake" }, { "op": "wait", "ms": 1 },
    ]);
    let mut process = program.start_unread(&["run", "--session", &id, &ops.to_string()]);
    process.until("the wait", || program.events(&id).count("turn.waiting") >= 1);
    process.kill();
    let before = program.events(&id);
    let mut code = Some(5);
    for _ in 0..20 {
        code = program.resume(&id).code;
        if code != Some(5) {
            break;
        }
    }
    assert_eq!(code, Some(0));
    let events = program.check(&id);
    assert!(events.0.starts_with(&before.0));
    assert_eq!(learned(&events), ["said", "said", "said", "said"]);
    assert_eq!((events.count("turn.waiting"), events.count("turn.completed")), (2, 1));
}

/// A10, R1: an acknowledged message is kept, although no host accepted it before the kill.
#[test]
fn a_message_that_no_host_took_is_taken_in_by_the_next() {
    let program = Program::new();
    let id = program.create(&scripted());
    let ops = json!([call(&[append("append_once", "once", FOREVER_MS)])]).to_string();
    let mut process = program.start(&["run", "--session", &id, &ops]);
    process.until("the tool's line", || program.lines(&id, "log", "once") > 0);
    let second = json!([call(&[append("append_once", "second", 0)])]).to_string();
    // Who sends it waits for the process that runs the session; killed, it leaves the message where it is kept.
    let sender = program.start(&["run", "--session", &id, &second]);
    process.until("the message is kept", || sender.stderr().contains("accepts what you sent as command 2"));
    sender.kill();
    process.kill();
    assert_eq!(program.events(&id).count("user.message"), 1);
    program.run(&["show", &id]).expect(0);
    program.resume(&id).expect(0);
    let events = program.check(&id);
    assert_eq!(events.learned(), [vec!["use-1: unknown: "], vec!["use-2: ok: appended second"]]);
    assert_eq!((program.lines(&id, "log", "once"), program.lines(&id, "log", "second")), (1, 1));
    assert_eq!(events.count("user.message"), 2);
}

/// A process that is killed as soon as there is anything leaves a session that can be gone on with.
#[test]
fn a_run_that_is_killed_at_once() {
    let program = Program::new();
    let bundle = program.bundle(&scripted());
    // Where the kill comes before the tool was started, it is run to its end when the session is resumed.
    let ops = json!([call(&[append("append_once", "once", LONG_MS)])]).to_string();
    let mut process = program.start(&["run", "--grant-asked", &bundle, &ops]);
    // The file is there before its tables are: then the program says so, and no session is told.
    process.until("the session", || {
        program.data().join("journal.db").exists()
            && program.run(&["sessions", "--json"]).stdout.contains("ses_")
    });
    process.kill();
    let sessions = program.sessions();
    assert_eq!(sessions.len(), 1);
    let id = &sessions[0].id;
    program.resume(id).expect(0);
    let events = program.check(id);
    // Acknowledged or not: never twice.
    assert!(events.count("user.message") <= 1);
    assert_eq!(events.count("turn.started"), events.count("user.message"));
    program.tell(id, &json!([{ "op": "say", "text": "there" }]).to_string()).expect(0);
    assert!(program.lines(id, "log", "once") <= 1);
    assert_eq!(program.check(id).said().iter().filter(|text| *text == "there").count(), 1);
}

/// Hooks of a session's end that had not answered hear of it at the next use of the session, and once.
#[test]
fn while_a_hook_hears_of_the_session_s_end() {
    let program = Program::new();
    let on = "[[component.probe.on]]\nevent = \"SessionEnd\"";
    let id = program.create(&Draft::scripted().hook(&[("sleep_ms", "1500")], on));
    program.tell(&id, "[]").expect(0);
    let mut process = program.start(&["stop", &id]);
    process.until("the hook is asked", || program.events(&id).is_open("hook.started"));
    process.kill();
    program.resume(&id).expect(6);
    let events = program.check(&id);
    assert_eq!((events.count("hook.started"), events.count("hook.verdict")), (1, 1));
    assert_eq!(events.first("hook.verdict").data.get("error"), None);
    program.resume(&id).expect(6);
    assert_eq!(program.check(&id).0.len(), events.0.len(), "nothing of it is due any more");
}
