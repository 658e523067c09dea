//! What the guard says of uses, and of rules that cannot be read.

mod parsing;
mod paths;
mod protected;
mod rules;

use rewake_sdk::prelude::*;
use rewake_sdk::testing;
use serde_json::{Value, json};

/// What is said of a use of a tool that may do this.
fn judged(tool: &str, input: Value, can: (&str, &[&str]), config: Value) -> Verdict {
    let event = json!({
        "tool_name": tool, "tool_input": input, "tool_use_id": "1", "effect": can.0, "grants": can.1,
    });
    crate::guard(testing::event(event, config)).expect("a verdict")
}
