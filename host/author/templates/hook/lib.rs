//! A hook: a decision on what happens in a session. This one keeps private keys out of files.

use rewake_sdk::prelude::*;

/// How the text form of a private key begins.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// What matters here of the input of a tool that writes. `write_file` has `content`, `edit_file` has `new`.
#[derive(Deserialize)]
struct Written {
    #[serde(alias = "new")]
    content: String,
}

#[hook]
fn no_private_keys(event: PreToolUse) -> Result<Verdict> {
    if event.input::<Written>()?.content.contains(PRIVATE_KEY) {
        return Ok(Verdict::deny("this looks like a private key, and those are not written to files"));
    }
    Ok(Verdict::none())
}

rewake_sdk::hooks![no_private_keys];

#[cfg(test)]
mod tests {
    use rewake_sdk::testing;
    use serde_json::json;

    use super::*;

    fn decision(content: &str) -> Decision {
        let event = testing::event(
            json!({
                "tool_name": "write_file",
                "tool_input": { "path": "a", "content": content },
                "tool_use_id": "1",
            }),
            json!({}),
        );
        no_private_keys(event).expect("a verdict").decision
    }

    #[test]
    fn a_private_key_is_denied_and_other_text_is_not() {
        assert_eq!(decision("-----BEGIN OPENSSH PRIVATE KEY-----"), Decision::Deny);
        assert_eq!(decision("# Keys\n"), Decision::None);
    }
}
