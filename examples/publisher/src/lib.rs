//! A tool that must not run twice: it publishes a document, which here is a line in a log.

use std::{fs::OpenOptions, io::Write as _, thread, time::Duration};

use rewake_sdk::{
    prelude::*,
    workspace::{WORKSPACE, explain, place},
};

/// The log, in the workspace.
const LOG: &str = "published.log";
/// How long the world takes to hear of it.
const TAKES: Duration = Duration::from_secs(3);

#[args]
struct Publish {
    /// The document, relative to the workspace.
    path: String,
}

/// Publish a document. It cannot be undone, and must not be done twice.
#[tool(effect = once)]
fn publish(args: Publish, cx: &ToolContext) -> Result<String, ToolError> {
    let document = place(WORKSPACE.as_ref(), &args.path)?;
    let text = std::fs::read_to_string(&document.path).map_err(|error| explain(&document, &error))?;
    let log = place(WORKSPACE.as_ref(), LOG)?;
    let mut file = OpenOptions::new().create(true).append(true).open(&log.path)?;
    writeln!(file, "{} ({} bytes) {}", document.name, text.len(), cx.idempotency_key)?;
    thread::sleep(TAKES);
    Ok(format!("{} is published", document.name))
}

rewake_sdk::tools![publish];

#[cfg(test)]
mod tests {
    use rewake_sdk::testing;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_outside_of_the_workspace_is_refused() {
        let answer = testing::call_tool::<publish>(json!({ "path": "../secret" }), &ToolContext::default());
        assert!(matches!(answer, Err(ToolError::InvalidInput(_))), "{answer:?}");
    }
}
