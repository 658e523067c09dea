//! A tool that makes requests, and says how each went.

use rewake_sdk::prelude::*;
use rewake_test_guests::fetching::{self, Fetch};

#[args]
struct Fetches {
    /// The requests, as JSON.
    fetches: serde_json::Value,
}

fn fetch(args: Fetches) -> Result<String, ToolError> {
    let fetches: Vec<Fetch> =
        serde_json::from_value(args.fetches).map_err(|error| ToolError::failed(error.to_string()))?;
    Ok(fetching::run(&fetches).join("\n"))
}

/// Make requests; may not be repeated.
#[tool(effect = once)]
fn fetch_once(args: Fetches) -> Result<String, ToolError> {
    fetch(args)
}

/// Make requests; declared to read only.
#[tool(effect = pure)]
fn fetch_pure(args: Fetches) -> Result<String, ToolError> {
    fetch(args)
}

rewake_sdk::tools![fetch_once, fetch_pure];
