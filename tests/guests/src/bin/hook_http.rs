//! A hook that makes the requests of its configuration before every tool, and says how each went.

use rewake_sdk::prelude::*;
use rewake_test_guests::fetching::{self, Fetch};

#[derive(Deserialize)]
struct Config {
    fetches: String,
}

#[hook]
fn before_tool(event: PreToolUse) -> Result<Verdict> {
    let config: Config = event.common.config()?;
    let fetches: Vec<Fetch> = serde_json::from_str(&config.fetches)?;
    Ok(Verdict::context(fetching::run(&fetches).join("\n")))
}

rewake_sdk::hooks![before_tool];
