//! Scripts, well-formed and not, in both forms.

use std::time::Duration;

use serde_json::json;

use super::Script;

const TOML: &str = r#"
[[reply]]
text = "Let me look."
delay_ms = 250
[[reply.use]]
tool = "read_file"
input = { path = "a.txt", lines = [1, 2], deep = { x = 1.5 } }
[[reply.use]]
tool = "list_files"

[[reply]]
text = "Done."
unavailable = 2
"#;

const JSON: &str = r#"{
  "reply": [
    {
      "text": "Let me look.",
      "delay_ms": 250,
      "use": [
        { "tool": "read_file", "input": { "path": "a.txt", "lines": [1, 2], "deep": { "x": 1.5 } } },
        { "tool": "list_files" }
      ]
    },
    { "text": "Done.", "unavailable": 2 }
  ]
}"#;

#[test]
fn both_forms_say_the_same() {
    let script = Script::parse(TOML, "s.toml").expect("it is well-formed");
    assert_eq!(Script::parse(JSON, "s.json"), Ok(script.clone()));
    let first = script.reply(0).expect("there is a first");
    assert_eq!(first.text.as_deref(), Some("Let me look."));
    assert_eq!(first.delay, Duration::from_millis(250));
    assert_eq!(first.uses[0].tool, "read_file");
    assert_eq!(first.uses[0].input, json!({ "path": "a.txt", "lines": [1, 2], "deep": { "x": 1.5 } }));
    assert_eq!(first.uses[1].input, json!({}));
    assert_eq!((first.unavailable, script.reply(1).map(|reply| reply.unavailable)), (0, Some(2)));
    assert_eq!(script.reply(1).and_then(|reply| reply.text.as_deref()), Some("Done."));
    assert_eq!(script.reply(2), None);
    assert_eq!(script.past_end(), "the script has only 2 replies");
}

#[test]
fn past_the_end_of_one_reply() {
    let script = Script::parse("[[reply]]\ntext = \"\"", "s.toml").expect("it is well-formed");
    assert_eq!(script.past_end(), "the script has only 1 reply");
    assert_eq!(script.reply(0).and_then(|reply| reply.text.as_deref()), Some(""));
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, expected) in [
        ("", "s:1:1: not a script: missing field `reply`"),
        ("reply = []", "s: the script has no replies"),
        ("[[reply]]\n", "s: reply 1 of the script holds nothing"),
        ("[[reply]]\ntext = \"a\"\n[[reply]]\ntex = \"b\"\n", "s:4:1: not a script: unknown field `tex`"),
        ("[[reply]]\ntext = 3\n", "s:2:8: not a script: invalid type: integer `3`, expected a string"),
        ("[[reply]]\ntext = \"a\n", "s:2:10: not a script: invalid basic string"),
        ("[[reply]]\n[[reply.use]]\ninput = {}\n", "s:2:1: not a script: missing field `tool`"),
        (
            "[[reply]]\nuse = [{ tool = \"t\", input = \"x\" }]\n",
            "s: the input of `t` in reply 1 is not an object",
        ),
        ("[[reply]]\ntext = \"a\"\ndelay_ms = 600001\n", "s: `delay_ms` of reply 1 is 600001"),
        ("{\"reply\": [{\"text\": \"a\"},\n {\"tex\": \"b\"}]}", "s:2:7: not a script: unknown field `tex`"),
        ("{\"reply\": [", "s:1:11: not a script: EOF while parsing a list"),
        ("{\"reply\": []} x", "s:1:15: not a script: trailing characters"),
    ] {
        let error = Script::parse(text, "s").expect_err(text).to_string();
        assert!(error.starts_with(expected), "for {text:?}\nexpected {expected}\nfound    {error}");
    }
}

#[test]
fn a_date_or_a_number_that_json_has_not_is_refused_in_an_input() {
    for value in ["1979-05-27", "nan", "[inf]", "{ x = { y = -inf } }"] {
        let text = format!("[[reply]]\nuse = [{{ tool = \"t\", input = {{ v = {value} }} }}]\n");
        let error = Script::parse(&text, "s.toml").expect_err(value);
        assert!(error.to_string().contains("not in JSON"), "{value}: {error}");
    }
}
