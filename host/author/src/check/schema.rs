//! Whether a tool's input schema is a JSON Schema: each keyword with what it must hold, wherever it stands. Knows
//! the keywords of the drafts in use (4 to 2020-12) and follows references inside the schema; fetches nothing.

mod keywords;
#[cfg(test)]
mod tests;

use rewake_runtime::bundle::{nearest, quote, quote_all};
use serde_json::{Map, Value};

use self::keywords::{Holds, KEYWORDS, TYPES};

/// Schemas inside one another that are looked into.
const LEVELS_MAX: usize = 64;
/// Things that are said of one schema.
const SAID_MAX: usize = 20;

/// One thing that is wrong with a schema, or most likely not meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    /// Where: a JSON pointer; empty at the schema's top.
    pub(super) pointer: String,
    /// What.
    pub(super) message: String,
    /// What to do.
    pub(super) help: String,
    /// It is no JSON Schema because of it.
    pub(super) is_error: bool,
}

/// Everything that is wrong with a schema, up to a bound.
pub(super) fn flaws(schema: &Value) -> Vec<Flaw> {
    let mut reading = Reading { root: schema, said: Vec::new() };
    reading.schema(schema, "", LEVELS_MAX);
    reading.said
}

struct Reading<'a> {
    root: &'a Value,
    said: Vec<Flaw>,
}

impl Reading<'_> {
    fn say(&mut self, is_error: bool, pointer: &str, message: impl Into<String>, help: impl Into<String>) {
        if self.said.len() < SAID_MAX {
            let (message, help) = (message.into(), help.into());
            self.said.push(Flaw { pointer: pointer.to_owned(), message, help, is_error });
        }
    }

    fn schema(&mut self, schema: &Value, at: &str, levels: usize) {
        let fields = match schema {
            Value::Bool(_) => return,
            Value::Object(_) if levels == 0 => {
                let help = "take apart what is nested so deep, with \"$defs\"";
                return self.say(
                    true,
                    at,
                    format!("more than {LEVELS_MAX} schemas inside one another"),
                    help,
                );
            }
            Value::Object(fields) => fields,
            _ => return self.say(true, at, "is no schema", "write an object, true or false"),
        };
        for (key, value) in fields {
            let pointer = below(at, key);
            match KEYWORDS.iter().find(|(keyword, _)| keyword == key) {
                Some((_, holds)) => self.keyword(*holds, value, &pointer, levels - 1),
                None => {
                    let Some(near) = nearest(key, KEYWORDS.iter().map(|(keyword, _)| *keyword)) else {
                        continue;
                    };
                    let message = format!("{} is no keyword, and is not heeded", quote(key));
                    self.say(false, &pointer, message, format!("did you mean \"{near}\"?"));
                }
            }
        }
        self.required_is_there(fields, at);
    }

    fn keyword(&mut self, holds: Holds, value: &Value, at: &str, levels: usize) {
        let fits = match holds {
            Holds::Anything => true,
            Holds::Type => return self.types(value, at),
            Holds::Text => value.is_string(),
            Holds::Truth => value.is_boolean(),
            Holds::Number => value.is_number(),
            Holds::PositiveNumber => value.as_f64().is_some_and(|number| number > 0.0),
            Holds::Count => is_count(value),
            Holds::List => value.is_array(),
            Holds::Names => is_names(value),
            Holds::NamesByName => value.as_object().is_some_and(|fields| fields.values().all(is_names)),
            Holds::Object => value.is_object(),
            Holds::Schema => return self.schema(value, at, levels),
            Holds::Items if value.is_array() => return self.list_of_items(value, at, levels),
            Holds::Items => return self.schema(value, at, levels),
            Holds::Schemas => match value.as_array().filter(|schemas| !schemas.is_empty()) {
                Some(schemas) => return self.each(schemas, at, levels),
                None => false,
            },
            Holds::SchemasByName => match value.as_object() {
                Some(schemas) => {
                    return schemas.iter().for_each(|(name, schema)| {
                        self.schema(schema, &below(at, name), levels);
                    });
                }
                None => false,
            },
            Holds::Dependencies => match value.as_object() {
                Some(of) => {
                    let schemas = of.iter().filter(|(_, needs)| !is_names(needs));
                    return schemas.for_each(|(name, schema)| self.schema(schema, &below(at, name), levels));
                }
                None => false,
            },
            Holds::Reference => return self.reference(value, at),
        };
        if !fits {
            let found = short(value);
            self.say(true, at, format!("must be {}, and is {found}", holds.words()), "correct it");
        }
    }

    fn each(&mut self, schemas: &[Value], at: &str, levels: usize) {
        for (n, schema) in schemas.iter().enumerate() {
            self.schema(schema, &format!("{at}/{n}"), levels);
        }
    }

    fn types(&mut self, value: &Value, at: &str) {
        let names: Vec<&Value> = match value {
            Value::Array(names) if !names.is_empty() => names.iter().collect(),
            name => vec![name],
        };
        for (n, name) in names.iter().enumerate() {
            let Some(text) = name.as_str() else {
                let message = format!("must be a type's name or a list of them, and is {}", short(value));
                return self.say(true, at, message, format!("types are {}", quote_all(TYPES)));
            };
            if !TYPES.contains(&text) {
                let help = match nearest(text, TYPES) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("types are {}", quote_all(TYPES)),
                };
                self.say(true, at, format!("there is no type {}", quote(text)), help);
            } else if names[..n].contains(name) {
                self.say(true, at, format!("{} stands twice in it", quote(text)), "take one out");
            }
        }
    }

    /// Until 2019-09 the items of a list could be told one by one.
    fn list_of_items(&mut self, value: &Value, at: &str, levels: usize) {
        let draft = self.root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        if !["draft-04", "draft-06", "draft-07", "2019-09"].iter().any(|old| draft.contains(old)) {
            let help = "name them in \"prefixItems\", or give one schema for all of them";
            return self.say(true, at, "must be one schema, and is a list of them", help);
        }
        self.each(value.as_array().map_or(&[], Vec::as_slice), at, levels);
    }

    /// A reference that leads out is another finding.
    fn reference(&mut self, value: &Value, at: &str) {
        let Some(target) = value.as_str() else {
            return self.say(true, at, format!("must be a text, and is {}", short(value)), "correct it");
        };
        let Some(inside) = target.strip_prefix('#') else { return };
        let is_there = match inside {
            "" => true,
            // Written for URLs: such a name is found by nobody but a program, and is left to it.
            _ if inside.contains('%') => true,
            _ if inside.starts_with('/') => self.root.pointer(inside).is_some(),
            name => has_anchor(self.root, name, LEVELS_MAX),
        };
        if !is_there {
            let message = format!("refers to {}, and there is nothing", quote(target));
            self.say(
                true,
                at,
                message,
                "put what is meant into \"$defs\" and refer to it as \"#/$defs/NAME\"",
            );
        }
    }

    /// A model cannot give what it is not told of.
    fn required_is_there(&mut self, fields: &Map<String, Value>, at: &str) {
        let (Some(properties), Some(required)) = (
            fields.get("properties").and_then(Value::as_object),
            fields.get("required").filter(|names| is_names(names)).and_then(Value::as_array),
        ) else {
            return;
        };
        for name in required.iter().filter_map(Value::as_str).filter(|name| !properties.contains_key(*name)) {
            let help = match nearest(name, properties.keys().map(String::as_str)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "describe it in \"properties\", or take it out".to_owned(),
            };
            let message = format!("requires {}, which \"properties\" does not have", quote(name));
            self.say(false, &below(at, "required"), message, help);
        }
    }
}

fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn is_count(value: &Value) -> bool {
    // 3.0 is the integer 3, for JSON Schema.
    value.is_u64() || value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

/// A list of texts, none of them twice.
fn is_names(value: &Value) -> bool {
    let Some(names) = value.as_array() else { return false };
    names.iter().enumerate().all(|(n, name)| name.is_string() && !names[..n].contains(name))
}

fn has_anchor(schema: &Value, name: &str, levels: usize) -> bool {
    let is_named = |fields: &Map<String, Value>| {
        ["$anchor", "$dynamicAnchor"].iter().any(|key| fields.get(*key).is_some_and(|found| found == name))
    };
    match schema {
        _ if levels == 0 => false,
        Value::Object(fields) => {
            is_named(fields) || fields.values().any(|value| has_anchor(value, name, levels - 1))
        }
        Value::Array(items) => items.iter().any(|value| has_anchor(value, name, levels - 1)),
        _ => false,
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "an empty list".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        Value::String(text) => quote(text),
        other => other.to_string(),
    }
}
