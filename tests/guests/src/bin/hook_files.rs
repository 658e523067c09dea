//! A hook that does the file operations of its configuration before every tool, and says how each went.

use rewake_sdk::prelude::*;
use rewake_test_guests::fileops::{self, FileOp};

#[derive(Deserialize)]
struct Config {
    ops: String,
}

#[hook]
fn before_tool(event: PreToolUse) -> Result<Verdict> {
    let config: Config = event.common.config()?;
    let ops: Vec<FileOp> = serde_json::from_str(&config.ops)?;
    Ok(Verdict::context(fileops::run(&ops).join("\n")))
}

rewake_sdk::hooks![before_tool];
