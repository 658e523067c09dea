//! A tool that does file operations, and says how each went.

use rewake_sdk::prelude::*;
use rewake_test_guests::fileops::{self, FileOp};

#[args]
struct Files {
    /// The operations, as JSON.
    ops: serde_json::Value,
}

/// Do file operations.
#[tool(effect = once)]
fn files(args: Files) -> Result<String, ToolError> {
    let ops: Vec<FileOp> =
        serde_json::from_value(args.ops).map_err(|error| ToolError::failed(error.to_string()))?;
    Ok(fileops::run(&ops).join("\n"))
}

rewake_sdk::tools![files];
