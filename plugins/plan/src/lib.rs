//! The tool `update_plan`: a list of what an agent has to do.
//!
//! Checks a list and renders it. Keeps nothing: the plan is the result of the last call, which the
//! session's journal has, and a harness carries that one across compaction.

use std::fmt::Write as _;

use rewake_sdk::prelude::*;

#[cfg(test)]
mod tests;

/// Items of one plan.
const ITEMS_MAX: usize = 50;
/// Text of one item.
const TEXT_CHARS_MAX: usize = 200;
/// Text of a note.
const NOTE_CHARS_MAX: usize = 1000;

#[args]
struct Plan {
    /// All items, in order; each call replaces the whole plan. Empty: there is no plan any more.
    items: Vec<Item>,
    /// Why the plan changed, or what to bear in mind.
    note: Option<String>,
}

#[args]
struct Item {
    /// One step, such as `Make the parser accept empty files`. A single line.
    text: String,
    /// At most one item is `in_progress`.
    status: Status,
}

/// How far an item is.
#[args]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Done,
}

/// Keep the plan of work that has several steps: call this with all items when you begin, and
/// again whenever one is begun or done, or the plan changes. Set an item `in_progress` before you
/// work on it, and `done` only when it is. The answer is the plan as people see it. Leave it for
/// work of one or two steps.
#[tool(effect = pure)]
fn update_plan(args: Plan) -> Result<String, ToolError> {
    check(&args)?;
    Ok(render(&args))
}

rewake_sdk::tools![update_plan];

fn check(plan: &Plan) -> Result<(), ToolError> {
    if plan.items.len() > ITEMS_MAX {
        return Err(ToolError::invalid_input(format!(
            "{} items are too many: put them together into {ITEMS_MAX} at most",
            plan.items.len()
        )));
    }
    for (number, item) in (1..).zip(&plan.items) {
        let what = format!("item {number}: its `text`");
        fits(&what, &item.text, TEXT_CHARS_MAX)?;
        if item.text.trim().contains(['\n', '\r']) {
            return Err(ToolError::invalid_input(format!("{what} must be a single line")));
        }
    }
    if let Some(note) = &plan.note {
        fits("`note`", note, NOTE_CHARS_MAX)?;
    }
    let in_progress = (1..).zip(&plan.items).filter(|(_, item)| item.status == Status::InProgress);
    let in_progress: Vec<String> = in_progress.map(|(number, _): (usize, _)| number.to_string()).collect();
    if in_progress.len() > 1 {
        return Err(ToolError::invalid_input(format!(
            "items {} are all `in_progress`: one at most can be; set the others `pending` or `done`",
            in_progress.join(", ")
        )));
    }
    Ok(())
}

fn fits(what: &str, text: &str, chars_max: usize) -> Result<(), ToolError> {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        return Err(ToolError::invalid_input(format!("{what} is empty")));
    }
    if chars > chars_max {
        let message = format!("{what} has {chars} characters: say it in {chars_max} at most");
        return Err(ToolError::invalid_input(message));
    }
    Ok(())
}

fn render(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.items.is_empty() {
        text.push_str("there is no plan any more\n");
    } else {
        let done = plan.items.iter().filter(|item| item.status == Status::Done).count();
        let _ = writeln!(text, "plan: {done} of {} done", plan.items.len());
    }
    for item in &plan.items {
        let sign = match item.status {
            Status::Pending => ' ',
            Status::InProgress => '>',
            Status::Done => 'x',
        };
        let _ = writeln!(text, "[{sign}] {}", item.text.trim());
    }
    if let Some(note) = &plan.note {
        let _ = writeln!(text, "note: {}", note.trim());
    }
    text
}
