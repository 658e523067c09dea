//! A tool that only reads: for mounts without a write grant.

use std::{thread, time::Duration};

use rewake_sdk::prelude::*;

#[args]
struct Look {
    /// An absolute path.
    path: String,
    /// How long to wait first, in milliseconds.
    #[serde(default)]
    sleep_ms: u64,
}

/// Wait, then read a file.
#[tool(effect = pure)]
fn look(args: Look) -> Result<String, ToolError> {
    thread::sleep(Duration::from_millis(args.sleep_ms));
    Ok(std::fs::read_to_string(args.path)?)
}

rewake_sdk::tools![look];
