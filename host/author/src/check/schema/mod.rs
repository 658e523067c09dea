//! What is most likely not meant in a tool's input schema that is one: a keyword that nobody heeds, and an argument
//! that must be given and is not described. Whether it is a schema is `rewake_schema`'s to say.

mod keywords;
#[cfg(test)]
mod tests;

use rewake_toml::{nearest, quote};
use serde_json::{Map, Value};

use self::keywords::{Holds, KEYWORDS};

/// Schemas inside one another that are looked into.
const LEVELS_MAX: usize = 64;
/// Things that are said of one schema.
const SAID_MAX: usize = 20;

/// One thing that is most likely not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    /// Where: a JSON pointer.
    pub(super) pointer: String,
    /// What.
    pub(super) message: String,
    /// What to do.
    pub(super) help: String,
}

/// Everything to say about a schema, up to a bound.
pub(super) fn hints(schema: &Value) -> Vec<Hint> {
    let mut said = Vec::new();
    look(schema, "", LEVELS_MAX, &mut said);
    said.truncate(SAID_MAX);
    said
}

fn look(schema: &Value, at: &str, levels: usize, said: &mut Vec<Hint>) {
    let Value::Object(fields) = schema else { return };
    if levels == 0 || said.len() >= SAID_MAX {
        return;
    }
    for (key, value) in fields {
        let pointer = below(at, key);
        let Some((_, holds)) = KEYWORDS.iter().find(|(keyword, _)| keyword == key) else {
            said.extend(misspelt(key, pointer));
            continue;
        };
        match (holds, value) {
            (Holds::Schema, value) => look(value, &pointer, levels - 1, said),
            (Holds::Schemas, Value::Array(all)) => {
                let all = all.iter().enumerate();
                all.for_each(|(n, one)| look(one, &format!("{pointer}/{n}"), levels - 1, said));
            }
            (Holds::SchemasByName, Value::Object(all)) => {
                all.iter().for_each(|(name, one)| look(one, &below(&pointer, name), levels - 1, said));
            }
            // No schemas; or no schema at all, which is another's to say.
            (Holds::Other | Holds::Schemas | Holds::SchemasByName, _) => {}
        }
    }
    said.extend(undescribed(fields, at));
}

fn misspelt(key: &str, pointer: String) -> Option<Hint> {
    let near = nearest(key, KEYWORDS.iter().map(|(keyword, _)| *keyword))?;
    let message = format!("{} is not a keyword, and is not heeded", quote(key));
    Some(Hint { pointer, message, help: format!("did you mean \"{near}\"?") })
}

/// A model cannot give what it is not told of.
fn undescribed(fields: &Map<String, Value>, at: &str) -> Vec<Hint> {
    let properties = fields.get("properties").and_then(Value::as_object);
    let required = fields.get("required").and_then(Value::as_array);
    let (Some(properties), Some(required)) = (properties, required) else { return Vec::new() };
    let missing = required.iter().filter_map(Value::as_str).filter(|name| !properties.contains_key(*name));
    let hint = |name| {
        let help = match nearest(name, properties.keys().map(String::as_str)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "describe it in \"properties\", or take it out".to_owned(),
        };
        let message = format!("requires {}, which \"properties\" does not have", quote(name));
        Hint { pointer: below(at, "required"), message, help }
    };
    missing.map(hint).collect()
}

fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}
