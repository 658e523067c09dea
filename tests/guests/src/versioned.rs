//! The two harnesses that differ on the same input: what a changed component looks like to a
//! journal that another one wrote.

use rewake_sdk::prelude::*;
use serde_json::json;

/// One call of the tool `echo` with the version in its input, then one message with it.
///
/// # Errors
/// Never; the type is a step's.
pub fn step(version: u32, cx: &Session) -> Result<Next, Failure> {
    let echo = ToolUse::new("1", "echo", json!({ "version": version }));
    let results = cx.call_tools(&[echo]);
    let outcome = results.first().map_or_else(String::new, |result| result.outcome.to_string());
    cx.say(format!("version {version}: {outcome}"));
    Ok(Next::Done)
}
