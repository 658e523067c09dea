//! A hook: a decision on what happens in a session. This one lets small texts be written and has a
//! person decide on large ones.

use rewake_sdk::prelude::*;

/// What of `write_file`'s input matters here.
#[derive(Deserialize)]
struct Write {
    content: String,
}

#[hook]
fn ask_about_large_texts(event: PreToolUse) -> Result<Verdict> {
    let bytes = event.input::<Write>()?.content.len();
    if bytes > 10_000 {
        return Ok(Verdict::ask(format!("{bytes} bytes are a lot for one {}.", event.tool_name)));
    }
    Ok(Verdict::none())
}

rewake_sdk::hooks![ask_about_large_texts];

#[cfg(test)]
mod tests {
    use rewake_sdk::testing;
    use serde_json::json;

    use super::*;

    fn decision(bytes: usize) -> Decision {
        let event = testing::event(
            json!({
                "tool_name": "write_file",
                "tool_input": { "path": "a", "content": "x".repeat(bytes) },
                "tool_use_id": "1",
            }),
            json!({}),
        );
        ask_about_large_texts(event).expect("a verdict").decision
    }

    #[test]
    fn only_large_texts_are_asked_about() {
        assert_eq!(decision(10_000), Decision::None);
        assert_eq!(decision(10_001), Decision::Ask);
    }
}
