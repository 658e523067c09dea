//! A harness that does something else the second time, as people see it: at the terminal, in `show`, in `replay`.

use rewake_core::fact::Fact;
use rewake_core::ids::SessionId;
use rewake_store::{OpenOptions, SqliteStore};
use rewake_tests::bundles::Draft;
use rewake_tests::forge;
use rewake_tests::program::Program;
use rewake_wire::Part;
use serde_json::{Value, json};

/// Operations with a value deep in a tool's input, and something to see if they are done.
fn ops(deep: &str, more: &[Value]) -> String {
    let echo = json!({ "name": "echo", "input": { "deep": [{ "value": deep }] } });
    let mut ops = vec![json!({ "op": "tools", "uses": [echo] })];
    ops.extend_from_slice(more);
    json!(ops).to_string()
}

fn append() -> Value {
    let input = json!({ "path": "/workspace/log", "line": "performed" });
    json!({ "op": "tools", "uses": [{ "name": "append_once", "input": input }] })
}

/// Puts a session beside one that is there, with its journal as far as `keep` says, in which the harness is told
/// something else.
fn differing(program: &Program, id: &str, told: &str, keep: impl Fn(&Fact) -> bool) -> String {
    let other = format!("ses_{}X", &id[4..]);
    let (from, to) = (SessionId::parse(id).unwrap(), SessionId::parse(&other).unwrap());
    let parts = || vec![Part::text(told)];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let path = program.data().join("journal.db");
        let store = SqliteStore::open(&path, OpenOptions::default()).await.unwrap();
        let mut drafts = forge::drafts(&forge::entries(&store, &from).await);
        let end = drafts.iter().position(|draft| !keep(&draft.fact)).unwrap_or(drafts.len());
        drafts.truncate(end);
        for draft in &mut drafts {
            match &mut draft.fact {
                Fact::UserMessage(message) => message.parts = parts(),
                Fact::StepStarted(step) => step.input.messages.iter_mut().for_each(|one| one.parts = parts()),
                _ => {}
            }
        }
        forge::create(&store, &to, drafts).await;
        store.close().await;
    });
    std::fs::create_dir(program.data().join("workspaces").join(&other)).unwrap();
    program.run(&["grant", &other, "--all"]).expect(0);
    other
}

/// A47, R6: every view of a mismatch names the entry, the function and the path to the difference; no effect is
/// performed, and the other sessions continue.
#[test]
fn a_mismatch_is_told_wherever_people_look() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    program.tell(&id, &ops("one\u{1b}[31m", &[json!({ "op": "say", "text": "x" })])).expect(0);
    let seq = program.events(&id).first("tools.requested").seq;
    let is_open = |fact: &Fact| !matches!(fact, Fact::AgentMessage(_));
    let open = differing(&program, &id, &ops("two", &[append()]), is_open);

    let words = [
        format!("mismatch at entry {seq}"),
        "recorded: tools.call \"one".to_owned(),
        "came: tools.call \"two\"".to_owned(),
        "first difference: uses[0].input.deep[0].value".to_owned(),
        "nothing was done".to_owned(),
    ];
    let says: Vec<&str> = words.iter().map(String::as_str).chain(["clear-fault"]).collect();
    program.resume(&open).expect(6).says(&says);
    let shown = program.run(&["show", &open]).expect(0).stdout;
    for word in &says {
        assert!(shown.contains(word), "{word:?} is not in:\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert!(program.run(&["sessions"]).expect(0).stdout.contains("fault: mismatch"));
    let before = program.events(&open);
    assert_eq!((before.count("step.rerun"), before.count("tool.started")), (1, 1));
    // It stays so, and is cleared by hand only; the same harness then meets the same fault again.
    program.resume(&open).expect(6).says(&says[..1]);
    assert_eq!(program.events(&open).0, before.0);
    program.run(&["clear-fault", &open]).expect(0).says(&["cleared: mismatch"]);
    program.resume(&open).expect(6).says(&says[..1]);
    assert_eq!(program.lines(&open, "log", "performed"), 0);
    program.run(&["verify", &open]).expect(0);
    program.tell(&id, "[]").expect(0);
}

/// B40: a replay of a complete session reports the same difference.
#[test]
fn a_replay_tells_the_same_difference() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    program.tell(&id, &ops("one", &[])).expect(0);
    let seq = program.events(&id).first("tools.requested").seq;
    let other = differing(&program, &id, &ops("two", &[]), |_| true);
    let replayed = program.run(&["replay", &other]).expect(7).stdout;
    for word in [
        format!("{other} differs at entry {seq}"),
        "  recorded: tools.call \"one\"".to_owned(),
        "  came: tools.call \"two\"".to_owned(),
        "  first difference: uses[0].input.deep[0].value".to_owned(),
    ] {
        assert!(replayed.contains(&word), "{word:?} is not in:\n{replayed}");
    }
    program.run(&["replay", &id]).expect(0);
    assert!(!program.run(&["show", &other]).expect(0).stdout.contains("fault"), "a replay keeps no fault");
}
