//! Schemas and what is said of them.

use serde_json::json;

use super::*;

#[test]
fn keywords_are_found_in_their_order() {
    assert!(KEYWORDS.windows(2).all(|two| two[0].0 < two[1].0));
}

#[test]
fn what_is_a_schema_has_no_flaw() {
    for schema in [
        json!(true),
        json!({}),
        json!({ "type": ["string", "null"], "minLength": 0, "maxLength": 3.0, "x-mine": 1 }),
        json!({ "properties": { "type": { "enum": [] }, "a/b": false }, "required": ["type"] }),
        json!({ "$defs": { "a": { "$anchor": "here" } }, "items": { "$ref": "#/$defs/a" }, "not": { "$ref": "#here" } }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "null" }], "dependencies": { "a": ["b"], "c": {} } }),
        json!({ "prefixItems": [{ "$ref": "#" }], "multipleOf": 0.5, "default": { "type": "no type" } }),
    ] {
        assert_eq!(flaws(&schema), [], "{schema}");
    }
}

#[test]
fn each_flaw_is_said_with_its_place() {
    for (schema, pointer, words, is_error) in [
        (json!(3), "", "is no schema", true),
        (json!({ "type": "strnig" }), "/type", "there is no type `strnig`", true),
        (json!({ "type": ["null", "null"] }), "/type", "stands twice", true),
        (json!({ "type": 1 }), "/type", "must be a type's name", true),
        (
            json!({ "properties": { "a/b": { "minLength": -1 } } }),
            "/properties/a~1b/minLength",
            "whole number",
            true,
        ),
        (
            json!({ "properties": ["a"] }),
            "/properties",
            "must be an object with a schema for each name",
            true,
        ),
        (json!({ "anyOf": [] }), "/anyOf", "and is an empty list", true),
        (json!({ "anyOf": [1] }), "/anyOf/0", "is no schema", true),
        (json!({ "items": [{}] }), "/items", "is a list of them", true),
        (json!({ "exclusiveMinimum": true }), "/exclusiveMinimum", "must be a number, and is true", true),
        (json!({ "required": ["a", "a"] }), "/required", "none of them twice", true),
        (json!({ "additionalProperties": "no" }), "/additionalProperties", "is no schema", true),
        (json!({ "not": { "$ref": "#/$defs/a" } }), "/not/$ref", "there is nothing", true),
        (json!({ "$ref": "#gone" }), "/$ref", "there is nothing", true),
        (json!({ "propertys": {} }), "/propertys", "is no keyword", false),
        (json!({ "properties": { "path": {} }, "required": ["pth"] }), "/required", "requires `pth`", false),
    ] {
        let said = flaws(&schema);
        let [flaw] = said.as_slice() else { panic!("{schema}: {said:?}") };
        assert!(flaw.pointer == pointer && flaw.message.contains(words), "{schema}: {flaw:?}");
        assert_eq!(flaw.is_error, is_error, "{schema}");
    }
    assert!(flaws(&json!({ "type": "strnig" }))[0].help.contains("\"string\""));
}

#[test]
fn what_is_endless_is_bounded() {
    let deep = (0..LEVELS_MAX + 5).fold(json!({}), |inner, _| json!({ "not": inner }));
    let said = flaws(&deep);
    assert!(said.len() == 1 && said[0].message.contains("inside one another"), "{said:?}");
    let many: Map<String, Value> = (0..100).map(|n| (format!("p{n}"), json!(1))).collect();
    assert_eq!(flaws(&json!({ "properties": many })).len(), SAID_MAX);
}
