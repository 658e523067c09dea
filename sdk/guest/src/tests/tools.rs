//! Tools: names, schemas, inputs and outputs.

use serde_json::{Value, json};

use crate::{
    prelude::*,
    testing::{call_tool, tool_context, tool_def},
    tool::{self, ToolEntry},
};

/// Where to look.
#[args]
struct Look {
    /// The path.
    path: String,
    #[serde(default)]
    deep: bool,
    /// What to leave out.
    except: Option<Vec<String>>,
}

/// Look at a path.
///
/// Slowly.
#[tool(effect = pure)]
fn look(args: Look, cx: &ToolContext) -> Result<Json<Value>, ToolError> {
    let seen = json!([args.path, args.deep, args.except, cx.idempotency_key]);
    Ok(Json(seen))
}

/// Say nothing.
#[tool(name = "be-quiet", effect = idempotent)]
fn quiet() -> Result<(), ToolError> {
    Ok(())
}

/// Read the configuration.
#[tool]
fn configured(cx: &ToolContext) -> Result<String, ToolError> {
    #[derive(Deserialize)]
    struct Config {
        word: String,
    }
    Ok(cx.config::<Config>()?.word)
}

/// Fail with any error.
#[tool]
fn fails() -> Result<Vec<Part>, ToolError> {
    std::fs::read("/no/such/file")?;
    Ok(Vec::new())
}

crate::tools![look, quiet, configured, fails];

fn check(input: Value, expected: Result<Value, &str>) {
    let answer = call_tool::<look>(input, &tool_context(json!({})));
    match (answer, expected) {
        (Ok(parts), Ok(value)) => assert_eq!(parts, [Part::json(value.to_string())]),
        (Err(ToolError::InvalidInput(message)), Err(part)) => {
            assert!(message.starts_with("the input does not fit the schema of `look`: "));
            assert!(message.contains(part), "{message}");
        }
        (answer, expected) => panic!("{answer:?} is not {expected:?}"),
    }
}

#[test]
fn inputs_are_typed() {
    check(json!({ "path": "a" }), Ok(json!(["a", false, null, "key"])));
    check(json!({ "path": "a", "deep": true, "except": ["b"] }), Ok(json!(["a", true, ["b"], "key"])));
}

#[test]
fn what_does_not_fit_is_said_so_that_a_model_can_mend_it() {
    check(json!({}), Err("missing field `path`"));
    check(json!({ "path": 1 }), Err("invalid type: integer `1`, expected a string"));
    check(json!({ "pth": "a" }), Err("unknown field `pth`, expected one of `path`, `deep`, `except`"));
    check(json!("a"), Err("expected struct Look"));
}

#[test]
fn a_tools_name_description_effect_and_schema_are_the_functions() {
    let def = tool_def::<look>();
    assert_eq!((def.name.as_str(), def.effect), ("look", Effect::Pure));
    assert_eq!(def.description, "Look at a path.\n\nSlowly.");
    let schema: Value = def.input_schema.parse().expect("a schema");
    let expected = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The path." },
            "deep": { "type": "boolean", "default": false },
            "except": {
                "type": ["array", "null"],
                "items": { "type": "string" },
                "description": "What to leave out.",
            },
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    assert_eq!(schema, expected);

    let def = tool_def::<quiet>();
    assert_eq!((def.name.as_str(), def.effect), ("be-quiet", Effect::Idempotent));
    assert_eq!(tool_def::<fails>().effect, Effect::Once, "the default");
}

#[test]
fn a_tool_takes_its_input_its_context_both_or_neither() {
    let cx = tool_context(json!({ "word": "yes" }));
    assert_eq!(call_tool::<quiet>(json!({}), &cx), Ok(vec![]));
    assert_eq!(call_tool::<configured>(json!({}), &cx), Ok(vec![Part::text("yes")]));
    let answer = call_tool::<configured>(json!({}), &tool_context(json!({})));
    assert_eq!(
        answer,
        Err(ToolError::failed("the bundle's configuration: missing field `word` at line 1 column 2"))
    );
    assert!(matches!(call_tool::<quiet>(json!({ "x": 1 }), &cx), Err(ToolError::InvalidInput(_))));
}

#[test]
fn any_error_is_a_failure() {
    let answer = call_tool::<fails>(json!({}), &ToolContext::default());
    assert!(matches!(answer, Err(ToolError::Failed(why)) if why.contains("No such file")));
}

#[test]
fn a_component_finds_its_tools_by_name() {
    let tools = [ToolEntry::of::<look>(), ToolEntry::of::<quiet>()];
    let names: Vec<String> = tool::list(&tools).into_iter().map(|def| def.name).collect();
    assert_eq!(names, ["look", "be-quiet"]);
    let call = |name| tool::call(&tools, name, &JsonText::default(), &ToolContext::default());
    assert_eq!(call("be-quiet"), Ok(vec![]));
    assert_eq!(
        call("shout"),
        Err(ToolError::invalid_input("this component has no tool `shout`; it has look, be-quiet"))
    );
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let (look, quiet) = (ToolEntry::of::<look>(), ToolEntry::of::<quiet>());
    assert!(ToolEntry::all_differ(&[look, quiet]));
    assert!(!ToolEntry::all_differ(&[look, quiet, look]));
}
