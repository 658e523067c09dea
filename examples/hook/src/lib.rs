//! A hook: a decision on what happens in a session. This one lets small texts be written and denies
//! large ones.

use rewake_sdk::prelude::*;

/// What of `write_file`'s input matters here.
#[derive(Deserialize)]
struct Write {
    content: String,
}

#[hook]
fn deny_large_texts(event: PreToolUse) -> Result<Verdict> {
    let bytes = event.input::<Write>()?.content.len();
    if bytes > 10_000 {
        let reason = format!("{bytes} bytes are too many for one {}: write less at once", event.tool_name);
        return Ok(Verdict::deny(reason));
    }
    Ok(Verdict::none())
}

rewake_sdk::hooks![deny_large_texts];

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
        deny_large_texts(event).expect("a verdict").decision
    }

    #[test]
    fn only_large_texts_are_denied() {
        assert_eq!(decision(10_000), Decision::None);
        assert_eq!(decision(10_001), Decision::Deny);
    }
}
