//! What a plan may be, and how it is shown.

use rewake_sdk::{
    json::JsonText,
    testing,
    tool::{ToolContext, run},
};

use super::*;

fn update(input: &str) -> Result<String, ToolError> {
    let parts = run::<update_plan>(&JsonText::from_text(input.to_owned()), &ToolContext::default())?;
    Ok(rewake_sdk::part::text_of(&parts))
}

fn problem(input: &str) -> String {
    match update(input) {
        Err(ToolError::InvalidInput(message)) => message,
        other => panic!("{input}: {other:?}"),
    }
}

#[test]
fn a_plan_is_shown_as_it_stands() {
    let input = r#"{"items": [
        {"text": "Read the parser", "status": "done"},
        {"text": " Mend it ", "status": "in_progress"},
        {"text": "Run the tests", "status": "pending"}
    ], "note": "The bug is in `next`."}"#;
    let shown = "plan: 1 of 3 done\n[x] Read the parser\n[>] Mend it\n[ ] Run the tests\n\
                 note: The bug is in `next`.\n";
    assert_eq!(update(input), Ok(shown.to_owned()));
}

#[test]
fn a_plan_can_be_finished_and_dropped() {
    let done = update(r#"{"items": [{"text": "Done", "status": "done"}]}"#);
    assert_eq!(done, Ok("plan: 1 of 1 done\n[x] Done\n".to_owned()));
    assert_eq!(update(r#"{"items": []}"#), Ok("there is no plan any more\n".to_owned()));
}

#[test]
fn one_item_at_most_is_in_progress() {
    let item = |status: &str| format!(r#"{{"text": "a", "status": "{status}"}}"#);
    let items = [item("in_progress"), item("done"), item("in_progress")].join(",");
    let message = problem(&format!(r#"{{"items": [{items}]}}"#));
    assert!(message.starts_with("items 1, 3 are all `in_progress`"), "{message}");
}

#[test]
fn sizes_are_bounded() {
    let items = |count: usize, text: &str| {
        let item = format!(r#"{{"text": "{text}", "status": "pending"}}"#);
        format!(r#"{{"items": [{}]}}"#, vec![item; count].join(","))
    };
    assert!(update(&items(ITEMS_MAX, &"ä".repeat(TEXT_CHARS_MAX))).is_ok());
    assert!(problem(&items(ITEMS_MAX + 1, "a")).starts_with("51 items are too many"));
    let long = "ä".repeat(TEXT_CHARS_MAX + 1);
    assert_eq!(problem(&items(2, &long)), "item 1: its `text` has 201 characters: say it in 200 at most");
    assert_eq!(problem(&items(1, " ")), "item 1: its `text` is empty");
    assert_eq!(problem(&items(1, "a\\nb")), "item 1: its `text` must be a single line");
    let note = "n".repeat(NOTE_CHARS_MAX + 1);
    assert!(problem(&format!(r#"{{"items": [], "note": "{note}"}}"#)).starts_with("`note` has 1001"));
    assert_eq!(problem(r#"{"items": [], "note": ""}"#), "`note` is empty");
}

#[test]
fn what_is_no_plan_is_refused_with_the_field() {
    for (input, part) in [
        (r#"{}"#, "items"),
        (r#"{"items": [{"text": "a"}]}"#, "status"),
        (r#"{"items": [{"text": "a", "status": "doing"}]}"#, "in_progress"),
        (r#"{"items": [], "plan": ""}"#, "plan"),
        (r#"{"items": [{"text": "a", "status": "done", "id": 1}]}"#, "id"),
    ] {
        let message = problem(input);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn models_are_told_what_a_plan_is() {
    let def = testing::tool_def::<update_plan>();
    assert_eq!((def.name.as_str(), def.effect), ("update_plan", Effect::Pure));
    let schema = def.input_schema.as_str();
    assert!(schema.contains(r#""pending","in_progress","done""#), "{schema}");
    assert!(!schema.contains("$ref"), "{schema}");
}
