//! Findings in the tools that a component lists: names, descriptions and schemas that providers of models
//! refuse or models cannot work with.

use rewake_bundle::{Bundle, Component, ListedTool};
use rewake_core::effect::Effect;
use rewake_core::grant::Access;
use rewake_schema::Schema;
use rewake_toml::{Invalid, quote};
use serde_json::{Map, Value};

use super::Finding;

/// Characters of a description that every provider takes.
const DESCRIPTION_CHARS_MAX: usize = 1024;
/// Keywords that providers refuse at the top of a tool's schema.
const TOP_LEVEL_REFUSED: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];

/// Everything to say about the tools of one component.
pub fn listed(bundle: &Bundle, component: &Component, tools: &[ListedTool]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let place = component.declared.name.span();
    for tool in tools {
        let mut say = |make: fn(_) -> Finding, message: String, help: String| {
            let invalid = Invalid::new(format!("tool {}: {message}", quote(&tool.name))).help(help);
            findings.push(make(bundle.manifest().problem(place.clone(), invalid)));
        };
        name_and_description(tool, &mut say);
        schema(tool, &mut say);
        let asks = &component.declared.asks;
        let writes = asks.fs.iter().any(|ask| ask.access == Access::ReadWrite);
        if tool.effect == Effect::Pure && writes {
            say(
                Finding::warning,
                "declares that it only reads, and its component asks to write files: it counts as idempotent"
                    .into(),
                "declare what it does, or put what writes into a component of its own".into(),
            );
        }
    }
    findings
}

fn name_and_description(
    tool: &ListedTool,
    say: &mut dyn FnMut(fn(super::Problem) -> Finding, String, String),
) {
    if !tool.name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        say(
            Finding::warning,
            "some providers of models refuse a name that begins so".into(),
            "begin it with a letter or `_`".into(),
        );
    }
    let description = tool.description.trim();
    if description.is_empty() {
        say(
            Finding::warning,
            "has no description, and a model will not know when to use it".into(),
            "say in a sentence what it does; with the Rust SDK that is the function's doc comment".into(),
        );
    }
    let chars = description.chars().count();
    if chars > DESCRIPTION_CHARS_MAX {
        say(
            Finding::warning,
            format!(
                "its description has {chars} characters, and some providers take {DESCRIPTION_CHARS_MAX}"
            ),
            "shorten it; what an argument means belongs into the argument's description".into(),
        );
    }
}

fn schema(tool: &ListedTool, say: &mut dyn FnMut(fn(super::Problem) -> Finding, String, String)) {
    let schema = match serde_json::from_str::<Value>(&tool.input_schema) {
        Ok(Value::Object(schema)) => schema,
        Ok(_) => {
            return say(
                Finding::error,
                "its input schema is not a JSON object".into(),
                "write {\"type\": \"object\"} for a tool without arguments".into(),
            );
        }
        Err(error) => {
            return say(
                Finding::error,
                format!("its input schema is not JSON: {error}"),
                "correct it".into(),
            );
        }
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        say(
            Finding::warning,
            "its input schema does not say \"type\": \"object\", and providers of models refuse it".into(),
            "take the arguments as one object".into(),
        );
    }
    for keyword in TOP_LEVEL_REFUSED.into_iter().filter(|keyword| schema.contains_key(*keyword)) {
        say(
            Finding::warning,
            format!("its input schema has {} at its top, and some providers refuse that", quote(keyword)),
            "move the choice into a property".into(),
        );
    }
    for name in properties(&schema).filter(|name| !is_property_name(name)) {
        say(
            Finding::warning,
            format!("some providers refuse the argument's name {}", quote(name)),
            "use up to 64 letters, digits, `_`, `-` and `.`".into(),
        );
    }
    for problem in Schema::compile(&tool.input_schema).err().unwrap_or_default() {
        say(
            Finding::error,
            format!("unsupported input schema: {problem}"),
            "correct it; what is shared goes into \"$defs\", and \"#/$defs/NAME\" refers to it".into(),
        );
    }
    for hint in super::schema::hints(&Value::Object(schema)) {
        let message = format!("its input schema: {} at {}", hint.message, quote(&hint.pointer));
        say(Finding::warning, message, hint.help);
    }
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = &String> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

fn is_property_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
