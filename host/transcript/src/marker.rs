//! Markers of a harness's own kind as a person reads them. Knows what the assistant that comes with Rewake marks;
//! others are shown as they were written. What a marker says is a guest's word, never more than a line.

use rewake_core::fact::Custom;
use serde::Deserialize;

use crate::words::count;

/// Where the assistant says what it does with the conversation.
const CONTEXT: &str = "custom.context.";
/// It says that the conversation was made shorter.
pub const COMPACTED: &str = "custom.context.compacted";

/// What stands for messages that had no room any more.
#[derive(Deserialize)]
struct Compacted {
    messages: u64,
    tokens_before: u64,
    summary: Option<String>,
}

/// The instructions that the model is told of a project.
#[derive(Deserialize)]
struct Project {
    file: String,
    is_cut: bool,
}

/// The sentence of a marker. `shown` says what is shown of a text of others.
pub fn marker(marker: &Custom, shown: fn(&str) -> String) -> String {
    let said = marker.kind.strip_prefix(CONTEXT).and_then(|what| context(what, &marker.data, shown));
    said.unwrap_or_else(|| format!("{} {}", shown(&marker.kind), shown(&marker.data.to_string())))
}

fn context(what: &str, data: &serde_json::Value, shown: fn(&str) -> String) -> Option<String> {
    Some(match what {
        "compacting" => "the conversation has no room any more: it is made shorter".to_owned(),
        "compacted" => {
            let Compacted { messages, tokens_before, summary } = Compacted::deserialize(data).ok()?;
            let older = count(messages, "message", "messages");
            let how = match summary {
                _ if messages == 0 => "long texts are shortened for the model".to_owned(),
                Some(_) => format!("a summary replaces {older} from here on"),
                None => format!("without a summary, the model no longer gets {older}"),
            };
            format!("the conversation is shorter: {how} (it took about {tokens_before} tokens)")
        }
        "project" if data.is_null() => "the project's instructions are gone".to_owned(),
        "project" => {
            let Project { file, is_cut } = Project::deserialize(data).ok()?;
            let cut = if is_cut { ", its beginning only" } else { "" };
            format!("the project's instructions are read: {}{cut}", shown(&file))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(kind: &str, data: Value) -> String {
        marker(&Custom { kind: kind.into(), data }, |text| text.replace('\n', " "))
    }

    #[test]
    fn what_the_assistant_does_with_the_conversation_is_said_in_words() {
        let compacted = |messages: u32, summary: Option<&str>| {
            let data = json!({ "from_seq": 1, "to_seq": 9, "messages": messages, "tokens_before": 4_000,
                "summary": summary, "first": null });
            shown("custom.context.compacted", data)
        };
        assert_eq!(
            compacted(7, Some("s")),
            "the conversation is shorter: a summary replaces 7 messages from here on (it took about 4000 tokens)"
        );
        assert!(compacted(2, None).contains("no longer gets 2 messages"));
        assert!(compacted(0, None).contains("long texts are shortened"));
        assert!(shown("custom.context.compacting", json!({ "from_seq": 1 })).contains("is made shorter"));
        let project = json!({ "file": "AGENTS.md", "text": "many words", "is_cut": true });
        assert_eq!(
            shown("custom.context.project", project),
            "the project's instructions are read: AGENTS.md, its beginning only"
        );
        assert_eq!(shown("custom.context.project", Value::Null), "the project's instructions are gone");
    }

    #[test]
    fn another_marker_is_shown_as_it_was_written_within_a_line() {
        for kind in
            ["custom.note", "custom.context.other", "custom.context.compacted", "custom.context.project"]
        {
            assert_eq!(shown(kind, json!({ "a": 1 })), format!("{kind} {{\"a\":1}}"));
        }
        let file = json!({ "file": "a\nb", "text": "", "is_cut": false });
        assert_eq!(shown("custom.context.project", file), "the project's instructions are read: a b");
    }
}
