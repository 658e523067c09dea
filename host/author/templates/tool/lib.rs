//! A tool: a function that a model can call. Its comment is what the model reads.

use rewake_sdk::{
    prelude::*,
    workspace::{WORKSPACE, explain, place},
};

#[args]
struct Count {
    /// A text file, relative to the workspace.
    path: String,
}

/// Count the words of a text file.
#[tool(effect = pure)]
fn word_count(args: Count) -> Result<String, ToolError> {
    let file = place(WORKSPACE.as_ref(), &args.path)?;
    let text = std::fs::read_to_string(&file.path).map_err(|error| explain(&file, &error))?;
    Ok(format!("{} has {} words", file.name, text.split_whitespace().count()))
}

rewake_sdk::tools![word_count];

#[cfg(test)]
mod tests {
    use rewake_sdk::testing;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_outside_of_the_workspace_is_refused() {
        let answer = testing::call_tool::<word_count>(json!({ "path": "../secret" }), &ToolContext::default());
        assert!(matches!(answer, Err(ToolError::InvalidInput(_))), "{answer:?}");
    }
}
