//! A door for fuzzers: a schema and a value that nobody vouches for.

use serde_json::Value;

use crate::{Problem, Schema};

/// Bytes that are shown of a problem.
const SHOWN_BYTES_MAX: usize = 32 << 10;

/// A schema on the first line, and a value on the rest.
pub fn schema(text: &str) {
    let (schema, value) = text.split_once('\n').unwrap_or((text, "null"));
    let schema = match Schema::compile(schema) {
        Ok(schema) => schema,
        Err(problems) => {
            assert!(!problems.is_empty(), "a refusal says why");
            return problems.iter().for_each(bounded);
        }
    };
    let Ok(value) = serde_json::from_str::<Value>(value) else { return };
    let fits = schema.validate(&value);
    assert_eq!(schema.validate(&value), fits, "the same value fits or not");
    if let Err(problem) = fits {
        bounded(&problem);
        let is_there = value.pointer(&problem.at).is_some() || problem.what.contains("missing");
        assert!(is_there || problem.what.contains("has") || problem.at.contains('/'), "{problem}");
    }
}

fn bounded(problem: &Problem) {
    assert!(!problem.what.is_empty());
    assert!(problem.to_string().len() <= SHOWN_BYTES_MAX, "{} bytes are told", problem.to_string().len());
}

#[cfg(test)]
mod tests {
    use rewake_untrusted::Samples;

    use super::*;

    #[test]
    fn schemas() {
        Samples::corpus("schema")
            .words(&["\"$ref\":\"#\"", "\"anyOf\"", "\"pattern\"", "\"uniqueItems\":true", "\"const\""])
            .check_text(1_500, schema);
    }
}
