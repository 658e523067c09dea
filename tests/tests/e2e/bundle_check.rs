//! What is said of the tools that a component lists: what providers of models refuse, and what a model cannot
//! work with.

use rewake_author::check::{Severity, listed};
use rewake_bundle::{Bundle, ListedTool};
use rewake_core::effect::Effect;
use rewake_tests::bundles::Draft;

const GOOD: &str = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;

/// What is said of one tool, each with how much it matters.
fn said(name: &str, description: &str, input_schema: &str, effect: Effect) -> Vec<(Severity, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = Bundle::load(&Draft::scripted().write(folder.path())).expect("a bundle");
    let component = bundle.component("tool_probe").expect("its tools");
    let tool = ListedTool {
        name: name.into(),
        description: description.into(),
        input_schema: input_schema.into(),
        effect,
    };
    let findings = listed(&bundle, component, &[tool]);
    findings.into_iter().map(|finding| (finding.severity, finding.problem.message)).collect()
}

#[test]
fn a_good_tool_has_nothing_said_of_it() {
    assert_eq!(said("read", "Reads a file.", GOOD, Effect::Once), []);
    let local = r##"{"type":"object","$defs":{"p":{"type":"string"}},"properties":{"p":{"$ref":"#/$defs/p"},"$ref":{"type":"string","default":"http://a"}}}"##;
    let said = said("read", "Reads a file.", local, Effect::Once);
    assert!(said.iter().all(|(_, message)| message.contains("argument's name `$ref`")), "{said:?}");
}

#[test]
fn each_mistake_is_said_once_and_alone() {
    let long = "x".repeat(1025);
    let refers = r#"{"type":"object","properties":{"p":{"$ref":"https://example.com/p.json"}}}"#;
    let cases: [(&str, &str, &str, Effect, Severity, &str); 12] = [
        ("1st", "d", GOOD, Effect::Once, Severity::Warning, "refuse a name that begins so"),
        ("read", "  ", GOOD, Effect::Once, Severity::Warning, "has no description"),
        ("read", &long, GOOD, Effect::Once, Severity::Warning, "has 1025 characters"),
        ("read", "d", "[]", Effect::Once, Severity::Error, "is not a JSON object"),
        ("read", "d", "{", Effect::Once, Severity::Error, "is not JSON: "),
        ("read", "d", "{}", Effect::Once, Severity::Warning, "does not say \"type\": \"object\""),
        (
            "read",
            "d",
            r#"{"type":"object","anyOf":[{}]}"#,
            Effect::Once,
            Severity::Warning,
            "`anyOf` at its top",
        ),
        (
            "read",
            "d",
            r#"{"type":"object","properties":{"a b":{}}}"#,
            Effect::Once,
            Severity::Warning,
            "`a b`",
        ),
        ("read", "d", refers, Effect::Once, Severity::Error, "refers to \"https://example.com/p.json\""),
        ("read", "d", GOOD, Effect::Pure, Severity::Warning, "declares that it only reads"),
        (
            "read",
            "d",
            r#"{"type":"object","properties":{"p":{"type":"strnig"}}}"#,
            Effect::Once,
            Severity::Error,
            "`/properties/p/type` must be of null",
        ),
        (
            "read",
            "d",
            r#"{"type":"object","properties":{"p":{}},"required":["q"]}"#,
            Effect::Once,
            Severity::Warning,
            "requires `q`, which \"properties\" does not have at `/required`",
        ),
    ];
    for (name, description, schema, effect, severity, words) in cases {
        let said = said(name, description, schema, effect);
        let [(found, message)] = said.as_slice() else { panic!("{words:?}: {said:?}") };
        assert!(*found == severity && message.contains(words), "{words:?}: {said:?}");
    }
}
