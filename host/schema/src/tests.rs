//! Schemas as tools have them, and as somebody would write them who means harm.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Problem, Schema};

fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    let schema = Schema::compile(&schema.to_string()).expect("a schema");
    schema.validate(value).map_err(|problem| problem.to_string())
}

#[track_caller]
fn check(schema: Value, fitting: &[Value], missing: &[(Value, &str)]) {
    for value in fitting {
        assert_eq!(validate(&schema, value), Ok(()), "{value}");
    }
    for (value, why) in missing {
        assert_eq!(validate(&schema, value), Err((*why).to_owned()), "{value}");
    }
}

#[test]
fn objects_say_which_field_is_wrong() {
    check(
        json!({ "type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": { "type": "string" }, "mode": { "enum": ["a", "b"] }, "size": { "type": ["integer", "null"] },
            "lines": { "type": "array", "items": { "properties": { "n": { "type": "integer" } } } } } }),
        &[
            json!({ "path": "x" }),
            json!({ "path": "x", "mode": "a", "size": null, "lines": [{ "n": 1 }, { "other": true }] }),
            json!({ "path": "x", "size": 2.0 }),
        ],
        &[
            (json!([]), "it must be of type object"),
            (json!({}), "`/path` is missing"),
            (json!({ "path": 1 }), "`/path` must be of type string"),
            (json!({ "path": "x", "mode": "c" }), "`/mode` must be one of [\"a\",\"b\"]"),
            (json!({ "path": "x", "size": 1.5 }), "`/size` must be of type null or integer"),
            (
                json!({ "path": "x", "lines": [{ "n": 1 }, { "n": "1" }] }),
                "`/lines/1/n` must be of type integer",
            ),
            (json!({ "path": "x", "a/b~c": 1 }), "`/a~1b~0c` is not known"),
        ],
    );
    check(
        json!({ "patternProperties": { "^x-": { "type": "string" } }, "additionalProperties": { "type": "number" },
            "propertyNames": { "maxLength": 4 }, "maxProperties": 2 }),
        &[json!({ "x-a": "b", "n": 1 })],
        &[
            (json!({ "x-a": 1 }), "`/x-a` must be of type string"),
            (json!({ "n": "1" }), "`/n` must be of type number"),
            (json!({ "n-long": 1 }), "`/n-long` has 6 characters, and may have at most 4"),
            (json!({ "a": 1, "b": 1, "c": 1 }), "it has 3 fields, and may have at most 2"),
        ],
    );
    check(
        json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "c": { "required": ["d"] } } }),
        &[json!({ "b": 1 }), json!({ "a": 1, "b": 1, "c": 1, "d": 1 })],
        &[(json!({ "a": 1 }), "`/b` is missing, and `a` needs it"), (json!({ "c": 1 }), "`/d` is missing")],
    );
}

#[test]
fn numbers_texts_and_lists_have_their_bounds() {
    check(
        json!({ "minimum": 1, "exclusiveMaximum": 3, "multipleOf": 0.1 }),
        &[json!(1), json!(2.9), json!("no number")],
        &[
            (json!(0), "it must be at least 1"),
            (json!(3), "it must be less than 3"),
            (json!(1.25), "it must be a multiple of 0.1"),
        ],
    );
    check(
        json!({ "minLength": 2, "pattern": "b" }),
        &[json!("äb")],
        &[
            (json!("b"), "it has 1 characters, and needs at least 2"),
            (json!("aa"), "it must match the pattern \"b\""),
        ],
    );
    check(
        json!({ "prefixItems": [{ "const": 1 }], "items": { "type": "string" }, "uniqueItems": true,
            "contains": { "const": "x" }, "maxItems": 3 }),
        &[json!([1, "x"]), json!([1.0, "y", "x"])],
        &[
            (json!([2, "x"]), "`/0` must be 1"),
            (json!([1, 2]), "`/1` must be of type string"),
            (json!([1, "x", "x"]), "`/2` is there twice"),
            (json!([1]), "it has 0 items of those that it must have, and needs at least 1"),
            (json!([1, "x", "y", "z"]), "it has 4 items, and may have at most 3"),
        ],
    );
}

#[test]
fn schemas_combine() {
    check(
        json!({ "anyOf": [{ "type": "string" }, { "type": "object", "required": ["a"] }] }),
        &[json!("x"), json!({ "a": 1 })],
        &[(json!({}), "it fits none of the schemas that it may; not the last, as `/a` is missing")],
    );
    check(
        json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 2 }], "not": { "const": 7 } }),
        &[json!(0), json!(3)],
        &[
            (json!(1), "it must fit one of 2 schemas, and fits 2"),
            (json!(7), "it fits a schema that it must not fit"),
        ],
    );
    check(
        json!({ "if": { "type": "string" }, "then": { "minLength": 1 }, "else": { "type": "null" } }),
        &[json!("x"), json!(null)],
        &[(json!(""), "it has 0 characters, and needs at least 1"), (json!(1), "it must be of type null")],
    );
}

#[test]
fn references_lead_to_places_of_the_schema() {
    let tree = json!({ "$ref": "#/$defs/a~1b%20c", "$defs": {
        "a/b c": { "properties": { "next": { "$ref": "#" }, "leaf": { "$ref": "#leaf" } } },
        "leaf": { "$anchor": "leaf", "type": "integer" } } });
    check(
        tree,
        &[json!({ "next": { "next": { "leaf": 1 } } })],
        &[(json!({ "next": { "leaf": "x" } }), "`/next/leaf` must be of type integer")],
    );
    for (reference, why) in [
        ("https://example.com/schema.json", "which is not in the schema itself: nothing is fetched"),
        ("file:///etc/passwd", "which is not in the schema itself: nothing is fetched"),
        ("other.json#/a", "which is not in the schema itself: nothing is fetched"),
        ("#/nowhere", "and there is no schema there"),
        ("#%zz", "and there is no schema there"),
    ] {
        let problems = Schema::compile(&json!({ "items": { "$ref": reference } }).to_string()).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].at, "/items/$ref");
        assert!(problems[0].what.ends_with(why), "{}", problems[0]);
    }
}

#[test]
fn what_is_no_schema_is_told_with_its_place() {
    let problems = Schema::compile(
        &json!({ "type": "text", "required": "a", "properties": { "a": 1, "b": { "minLength": -1, "pattern": "(" } },
            "anyOf": [], "multipleOf": 0, "unevaluatedProperties": false })
        .to_string(),
    )
    .unwrap_err();
    let places: Vec<&str> = problems.iter().map(|problem| problem.at.as_str()).collect();
    let expected = [
        "/unevaluatedProperties",
        "/type",
        "/multipleOf",
        "/required",
        "/properties/a",
        "/properties/b/minLength",
        "/properties/b/pattern",
        "/anyOf",
    ];
    assert_eq!(places, expected);
    assert!(problems[6].what.starts_with("is a pattern that does not compile: "), "{}", problems[6]);
    assert!(Schema::compile("{").unwrap_err()[0].what.starts_with("is not JSON"));
}

/// A schema of two kilobytes can ask for more visits than there is time, and so can a pattern.
#[test]
fn a_check_that_takes_too_much_is_given_up() {
    let since = Instant::now();
    let doubling: serde_json::Map<String, Value> = (0..64)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/{}", n + 1) });
            (n.to_string(), json!({ "allOf": [next, next] }))
        })
        .chain([("64".to_owned(), json!({ "type": "integer" }))])
        .collect();
    let deep = (0..60).fold(json!({}), |inner, _| json!({ "a": inner }));
    let both = json!({ "properties": { "a": { "$ref": "#" } } });
    for (schema, value, why) in [
        (json!({ "$ref": "#/$defs/0", "$defs": doubling }), json!(1), "takes too much to check"),
        (json!({ "allOf": [both.clone(), both] }), deep, "takes too much to check"),
        (
            json!({ "$ref": "#" }),
            json!(1),
            "cannot be checked: schema and value lead too deep into each other",
        ),
        (json!({ "pattern": "(a+)+$" }), json!("a".repeat(1 << 20)), "takes too much to check"),
        (json!({ "uniqueItems": true }), json!((0..20_000).collect::<Vec<i32>>()), "takes too much to check"),
    ] {
        let schema = Schema::compile(&schema.to_string()).expect("a schema");
        assert_eq!(schema.validate(&value), Err(Problem { at: String::new(), what: why.into() }));
    }
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    let large = json!({ "pattern": "(a{1000}){1000}" }).to_string();
    assert!(Schema::compile(&large).unwrap_err()[0].what.contains("too large"));
    assert!(Schema::compile(&json!({ "pattern": "(?=a)" }).to_string()).is_err(), "no look-around");
}

/// What is told of a value that does not fit, counts and names cost as well: each of these took minutes, or all of the
/// memory.
#[test]
fn nothing_is_looked_through_for_nothing() {
    let since = Instant::now();
    let many = |one: Value| vec![one; 20_000];
    let names: Vec<String> = (0..5_000).map(|n| format!("n{n}")).collect();
    let named: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!(1))).collect();
    let text = "x".repeat(1 << 20);
    let referring = json!({ "$ref": "#/$defs/one" });
    for (schema, value) in [
        (json!({ "contains": { "enum": [text, 1] } }), json!(many(json!("")))),
        (json!({ "contains": { "pattern": format!("^{}$", "x".repeat(150)) } }), json!(many(json!("")))),
        (json!({ "allOf": many(json!({ "minLength": 1 })) }), json!(text)),
        (
            json!({ "$defs": { "one": { "required": names } }, "allOf": many(referring.clone()) }),
            named.clone().into(),
        ),
        (
            json!({ "$defs": { "one": { "not": { "const": { text.as_str(): 1 } } } }, "allOf": many(referring) }),
            json!({ text.as_str(): 2 }),
        ),
    ] {
        let schema = Schema::compile(&schema.to_string()).expect("a schema");
        let problem = schema.validate(&value).unwrap_err();
        assert!(problem.to_string().len() < 5_000, "{} bytes are told", problem.to_string().len());
    }
    for (schema, why) in [
        (
            json!({ "properties": { "x".repeat(100_000): { "allOf": many(json!(true)) } } }),
            "under names as long",
        ),
        (json!({ "allOf": vec![json!({ "pattern": "\\pL".repeat(1_000) }); 7] }), "too large together"),
        (json!({ "pattern": "a".repeat(5_000) }), "too large"),
    ] {
        let problems = Schema::compile(&schema.to_string()).unwrap_err();
        assert!(problems.iter().any(|problem| problem.what.contains(why)), "{}", problems[0].what);
        assert!(problems.len() <= 20, "{}", problems.len());
        assert!(problems.iter().all(|problem| problem.to_string().len() < 5_000));
    }
    assert!(since.elapsed() < Duration::from_secs(120), "{:?}", since.elapsed());
}
