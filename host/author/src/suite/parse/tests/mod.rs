//! What can be written as a case, and what is said of what cannot.

use std::path::Path;

use serde_json::json;

use super::super::cases::{Case, Decided, Given, Kind, Stands, TurnEnd};
use super::cases;

mod document;

fn read(text: &str) -> Vec<Case> {
    cases("tests/a.toml", text, Path::new("/b/tests")).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let error = cases("tests/a.toml", text, Path::new("/b/tests")).expect_err("refused").to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in:\n{error}");
    }
}

#[test]
fn a_call_is_read() {
    let all = read(
        r#"
[[call]]
name = "counts"
tool = "word_count"
args = { path = "a.txt", deep = { list = [1, true] } }
workspace = { "a.txt" = "one", "b/c.txt" = "" }
config = { depth = 3 }
dirs = { docs = "fixtures/docs" }
expect.contains = ["a", "b"]
expect.json = { count = 3 }
expect.files = { "out.txt" = "x", "gone.txt" = false }

[[call]]
tool = "other"
workspace = "fixtures/a"
expect.error = "no such"
"#,
    );
    let [first, second] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((first.name.as_str(), first.line, second.line), ("counts", 2, 13));
    let Kind::Call(call) = &first.kind else { panic!("{first:?}") };
    assert_eq!(call.args, json!({ "path": "a.txt", "deep": { "list": [1, true] } }));
    assert_eq!(call.expect.contains, ["a", "b"]);
    assert_eq!(call.expect.json, Some(json!({ "count": 3 })));
    assert_eq!(call.files["out.txt"].as_deref(), Some("x"));
    assert_eq!(call.files["gone.txt"], None);
    assert!(matches!(&first.setting.workspace, Given::Files(files) if files.len() == 2));
    assert_eq!(first.setting.dirs["docs"], Path::new("/b/tests/fixtures/docs"));
    assert_eq!(first.setting.config["depth"], json!(3));
    assert_eq!(second.name, "calls other");
    assert!(matches!(&second.setting.workspace, Given::Folder(path) if path.ends_with("tests/fixtures/a")));
    let Kind::Call(call) = &second.kind else { panic!("{second:?}") };
    assert_eq!((&call.args, call.expect.error.as_slice()), (&json!({}), &["no such".to_owned()][..]));
}

#[test]
fn a_hook_s_event_is_read() {
    let all = read(
        r#"
[[hook]]
component = "guard"
event = "PreToolUse"
input = { tool_name = "write_file", tool_input = { path = ".env" } }
effect = "idempotent"
grants = ["fs-rw"]
expect.verdict = "deny"
expect.reason = "protected"
"#,
    );
    let Kind::Hook(hook) = &all[0].kind else { panic!("{all:?}") };
    assert_eq!((all[0].name.as_str(), hook.component.as_str()), ("guard on PreToolUse", "guard"));
    assert_eq!((hook.fired.tried(), hook.fired.grants.len()), ("write_file", 1));
    assert_eq!((hook.expect.decision, hook.expect.reason.len()), (Some(Decided::Deny), 1));
}

#[test]
fn a_session_is_read() {
    let all = read(
        r#"
[[session]]
name = "writes"
agent = "."
with = ["../other"]
script = "fixtures/script.toml"
messages = ["Write a note.", "And another."]
answers = { "*" = "allow", "q1" = true }
expect.transcript = "expected/note.txt"
expect.status = "idle"
expect.turn = "completed"
expect.says = "done"
"#,
    );
    let Kind::Session(session) = &all[0].kind else { panic!("{all:?}") };
    assert_eq!((&session.agent, session.with.as_slice()), (&None, &["../other".to_owned()][..]));
    assert_eq!(session.script.as_deref(), Some(Path::new("/b/tests/fixtures/script.toml")));
    assert_eq!((session.messages.len(), &session.answers["q1"]), (2, &json!(true)));
    assert_eq!(session.transcript.as_deref(), Some(Path::new("/b/tests/expected/note.txt")));
    assert_eq!((session.status, session.turn), (Some(Stands::Idle), Some(TurnEnd::Completed)));
    assert_eq!(session.says, ["done"]);
}

#[test]
fn a_mistake_is_told_with_its_place_and_a_way_out() {
    for (text, words) in [
        ("[[cal]]\ntool = \"a\"\n", &["tests/a.toml:1:3", "unknown key `cal`", "did you mean `call`?"][..]),
        ("[[calls]]\ntool = \"a\"\n", &["write [[call]]"]),
        ("[[call]]\ntol = \"a\"\n", &["a.toml:2:1", "did you mean `tool`?", "has no `tool`"]),
        ("[[call]]\ntool = \"a\"\nexpect.txt = \"x\"\n", &["a.toml:3:8", "did you mean `text`?"]),
        (
            "[[call]]\ntool = \"a\"\nexpect = { text = \"x\", error = \"y\" }\n",
            &["must fail returns nothing"],
        ),
        ("[[call]]\ntool = \"a\"\nworkspace = { \"../x\" = \"\" }\n", &["not a path in the workspace"]),
        ("[[call]]\ntool = \"a\"\nworkspace = \"../../home\"\n", &["below the test's folder"]),
        ("[[call]]\ntool = \"a\"\ndirs = { docs = \"/etc\" }\n", &["below the test's folder"]),
        (
            "[[session]]\nmessages = [\"x\"]\nexpect.transcript = \"../x\"\n",
            &["a.toml:3", "below the test's folder"],
        ),
        ("[[call]]\ntool = \"a\"\nworkspace = 3\n", &["a.toml:3", "a folder, or files with their text"]),
        ("[[call]]\ntool = \"a\"\nargs = { at = 2020-01-01 }\n", &["holds a date"]),
        (
            "[[hook]]\ncomponent = \"g\"\nevent = \"PreToolUze\"\nexpect.verdict = \"deny\"\n",
            &["a.toml:3", "did you mean \"PreToolUse\"?"],
        ),
        (
            "[[hook]]\ncomponent = \"g\"\nevent = \"PreCompact\"\nexpect.verdict = \"deny\"\n",
            &["nothing sets off `PreCompact`"],
        ),
        (
            "[[hook]]\ncomponent = \"g\"\nevent = \"PreToolUse\"\ntool_name = \"x\"\ninput = { tool = \"x\" }\nexpect.verdict = \"deny\"\n",
            &["a.toml:5", "tool_name", "write it into `input`"],
        ),
        (
            "[[hook]]\ncomponent = \"g\"\nevent = \"Stop\"\nexpect.verdict = \"block it\"\n",
            &["`verdict` cannot be `block it`"],
        ),
        ("[[hook]]\ncomponent = \"g\"\nevent = \"Stop\"\nexpect.reason = \"x\"\n", &["has no `verdict`"]),
        ("[[session]]\nexpect.status = \"idle\"\n", &["has no `messages`"]),
        ("[[session]]\nmessages = []\nexpect.status = \"idle\"\n", &["does nothing"]),
        ("[[session]]\nmessages = [\"x\"]\nexpect.status = \"idel\"\n", &["did you mean \"idle\"?"]),
        ("[[session]]\nmessages = [\"x\"]\nexpect = {}\n", &["a.toml:3", "proves nothing"]),
        ("", &["tests/a.toml", "has no cases"]),
        ("[[call]\n", &["not valid TOML"]),
    ] {
        refused(text, words);
    }
}
