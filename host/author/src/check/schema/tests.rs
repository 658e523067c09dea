//! Schemas and what is most likely not meant in them.

use serde_json::json;

use super::*;

#[test]
fn keywords_are_found_in_their_order() {
    assert!(KEYWORDS.windows(2).all(|two| two[0].0 < two[1].0));
}

#[test]
fn what_is_meant_has_nothing_said_of_it() {
    for schema in [
        json!(true),
        json!({ "type": ["string", "null"], "minLength": 0, "x-mine": 1 }),
        json!({ "properties": { "propertys": { "enum": [] }, "a/b": false }, "required": ["propertys"] }),
        json!({ "$defs": { "itmes": { "$anchor": "here" } }, "not": { "$ref": "#here" } }),
        json!({ "default": { "requird": 1 }, "const": { "itmes": 1 }, "required": ["a"] }),
    ] {
        assert_eq!(hints(&schema), [], "{schema}");
    }
}

#[test]
fn each_hint_is_said_with_its_place() {
    for (schema, pointer, words, help) in [
        (json!({ "propertys": {} }), "/propertys", "`propertys` is not a keyword", "\"properties\""),
        (json!({ "anyOf": [{ "tpye": "null" }] }), "/anyOf/0/tpye", "`tpye` is not a keyword", "\"type\""),
        (
            json!({ "properties": { "a/b": { "items": { "minLenght": 1 } } } }),
            "/properties/a~1b/items/minLenght",
            "is not a keyword",
            "\"minLength\"",
        ),
        (
            json!({ "properties": { "path": {} }, "required": ["pth"] }),
            "/required",
            "requires `pth`",
            "\"path\"",
        ),
        (json!({ "properties": {}, "required": ["a"] }), "/required", "requires `a`", "take it out"),
    ] {
        let said = hints(&schema);
        let [hint] = said.as_slice() else { panic!("{schema}: {said:?}") };
        assert!(hint.pointer == pointer && hint.message.contains(words), "{schema}: {hint:?}");
        assert!(hint.help.contains(help), "{schema}: {hint:?}");
    }
}

#[test]
fn what_is_endless_is_bounded() {
    let deep = (0..LEVELS_MAX + 5).fold(json!({ "tpye": 1 }), |inner, _| json!({ "not": inner }));
    assert_eq!(hints(&deep), []);
    let many: Map<String, Value> = (0..100).map(|n| (format!("p{n}"), json!({ "tpye": 1 }))).collect();
    assert_eq!(hints(&json!({ "properties": many })).len(), SAID_MAX);
}
