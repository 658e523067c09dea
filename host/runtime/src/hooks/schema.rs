//! Whether a tool's input fits its JSON Schema, as far as the schema speaks of types, objects, lists and
//! constants. Other keywords are the tool's own to check, and references are not followed: nothing is fetched.

use serde_json::{Map, Value};

/// Schemas inside one another that are looked into.
const LEVELS_MAX: usize = 32;

/// What does not fit, and where.
pub(super) fn check(schema: &str, input: &str) -> Result<(), String> {
    let (Ok(schema), Ok(input)) = (serde_json::from_str(schema), serde_json::from_str(input)) else {
        return Err("the schema or the input is no JSON".into());
    };
    value(&schema, &input, "", LEVELS_MAX)
}

fn value(schema: &Value, given: &Value, at: &str, levels: usize) -> Result<(), String> {
    let name = || if at.is_empty() { "it".to_owned() } else { format!("`{at}`") };
    let rules = match schema {
        Value::Bool(false) => return Err(format!("{} must not be there", name())),
        Value::Object(rules) if levels > 0 => rules,
        _ => return Ok(()),
    };
    if let Some(wanted) = rules.get("type")
        && !one_of(wanted, |wanted| is_type(wanted, given))
    {
        return Err(format!("{} must be of type {wanted}", name()));
    }
    if let Some(Value::Array(values)) = rules.get("enum")
        && !values.contains(given)
    {
        return Err(format!("{} must be one of {}", name(), Value::Array(values.clone())));
    }
    if let Some(only) = rules.get("const")
        && only != given
    {
        return Err(format!("{} must be {only}", name()));
    }
    match given {
        Value::Object(fields) => object(rules, fields, at, levels - 1),
        Value::Array(items) => match rules.get("items") {
            Some(item) => (0..)
                .zip(items)
                .try_for_each(|(n, given): (usize, _)| value(item, given, &format!("{at}[{n}]"), levels - 1)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn object(
    rules: &Map<String, Value>,
    fields: &Map<String, Value>,
    at: &str,
    levels: usize,
) -> Result<(), String> {
    let path = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    if let Some(Value::Array(required)) = rules.get("required") {
        let missing = required.iter().filter_map(Value::as_str).find(|key| !fields.contains_key(*key));
        if let Some(key) = missing {
            return Err(format!("`{}` is missing", path(key)));
        }
    }
    let known = rules.get("properties").and_then(Value::as_object);
    for (key, given) in fields {
        match (known.and_then(|known| known.get(key)), rules.get("additionalProperties")) {
            (Some(schema), _) => value(schema, given, &path(key), levels)?,
            // Patterns may name it; they are not read here.
            (None, _) if rules.contains_key("patternProperties") => {}
            (None, Some(Value::Bool(false))) => return Err(format!("`{}` is not known", path(key))),
            (None, Some(schema)) => value(schema, given, &path(key), levels)?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn one_of(wanted: &Value, is: impl Fn(&str) -> bool) -> bool {
    match wanted {
        Value::String(wanted) => is(wanted),
        Value::Array(wanted) => wanted.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn is_type(wanted: &str, given: &Value) -> bool {
    match wanted {
        "null" => given.is_null(),
        "boolean" => given.is_boolean(),
        "string" => given.is_string(),
        "array" => given.is_array(),
        "object" => given.is_object(),
        "number" => given.is_number(),
        "integer" => {
            given.is_i64() || given.is_u64() || given.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","required":["path"],"additionalProperties":false,"properties":{
        "path":{"type":"string"},"mode":{"enum":["a","b"]},"size":{"type":["integer","null"]},
        "lines":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}}}"#;

    #[test]
    fn what_fits_passes() {
        for input in [
            r#"{"path":"x"}"#,
            r#"{"path":"x","mode":"a","size":null,"lines":[{"n":1},{"other":true}]}"#,
            r#"{"path":"x","size":2.0}"#,
        ] {
            assert_eq!(check(SCHEMA, input), Ok(()), "{input}");
        }
        assert_eq!(check("{}", r#"{"any":1}"#), Ok(()));
        assert_eq!(check(r##"{"$ref":"#/x"}"##, r#"{"any":1}"#), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (input, why) in [
            ("[]", "it must be of type \"object\""),
            ("{}", "`path` is missing"),
            (r#"{"path":1}"#, "`path` must be of type \"string\""),
            (r#"{"path":"x","mode":"c"}"#, "`mode` must be one of [\"a\",\"b\"]"),
            (r#"{"path":"x","size":1.5}"#, "`size` must be of type [\"integer\",\"null\"]"),
            (r#"{"path":"x","lines":[{"n":1},{"n":"1"}]}"#, "`lines[1].n` must be of type \"integer\""),
            (r#"{"path":"x","other":1}"#, "`other` is not known"),
        ] {
            assert_eq!(check(SCHEMA, input), Err(why.to_owned()), "{input}");
        }
    }
}
