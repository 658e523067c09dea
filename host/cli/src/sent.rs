//! `rewake show --request`: what was sent to a model, from the store alone.

use rewake_core::ids::SessionId;
use rewake_models::request_store::{self, Content, Message, NotSent, Options, Role, Sent};
use rewake_runtime::PROJECT;

use rewake_store::Sessions as _;
use rewake_text::{one_line, plain};

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::journal::not_there;
use crate::out::{Out, Style};

/// Bytes of one piece of content that are shown.
const PIECE_BYTES_MAX: usize = 2_000;

/// Shows the request that the entry `seq` announces.
pub(crate) async fn show(places: &Places, id: &SessionId, seq: u64, json: bool) -> Result<Outcome, Failure> {
    let store = places.read().await?;
    if store.session(id).await?.is_none() {
        return Err(not_there(id));
    }
    let sent =
        request_store::read(store.as_ref(), PROJECT, id, seq).await.map_err(|error| failure(id, error))?;
    let mut out = Out::new();
    if json {
        out.json(&sent)?;
    } else {
        for (style, line) in lines(&sent) {
            out.line(style, &line)?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn failure(id: &SessionId, error: NotSent) -> Failure {
    match error {
        NotSent::Store(error) => error.into(),
        NotSent::Corrupt(corrupt) => Failure::Corrupt { session: id.to_string(), corrupt },
        NotSent::Spoiled { .. } => Failure::Machine(error.to_string()),
        NotSent::NoRequest { .. } | NotSent::NotKept { .. } => Failure::Usage(error.to_string()),
    }
}

fn lines(sent: &Sent) -> Vec<(Style, String)> {
    let mut lines = vec![(Style::Strong, head(sent))];
    if let Some(system) = &sent.system {
        lines.push((Style::Strong, "system".to_owned()));
        lines.extend(indented(system));
    }
    if !sent.tools.is_empty() {
        let names: Vec<String> = sent.tools.iter().map(|tool| one_line(&tool.name, 80)).collect();
        lines.push((Style::Strong, format!("tools  {}", names.join(", "))));
    }
    for (message, number) in sent.messages.iter().zip(1..) {
        lines.extend(message_lines(message, number));
    }
    lines
}

fn head(sent: &Sent) -> String {
    let mut head = format!("request {} to {}", sent.seq, one_line(&sent.model, 80));
    if let Some(provider) = &sent.provider {
        head.push_str(&format!(" ({})", one_line(provider, 120)));
    }
    let Options { max_tokens, options, .. } = &sent.options;
    if let Some(tokens) = max_tokens {
        head.push_str(&format!(", at most {tokens} tokens out"));
    }
    if let Some(options) = options {
        head.push_str(&format!(", options {}", one_line(options, 200)));
    }
    head.push_str(&format!(", {}", describe::count(sent.messages.len() as u64, "message", "messages")));
    head
}

fn message_lines(message: &Message, number: usize) -> Vec<(Style, String)> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut lines = vec![(Style::Strong, format!("[{number}] {role}"))];
    for content in &message.content {
        match content {
            Content::Part(part) => lines.extend(indented(&describe::parts(std::slice::from_ref(part)))),
            Content::Thinking(json) => lines.extend(indented(&format!("thinking: {json}"))),
            Content::ToolUse { id, name, input } => {
                lines.extend(indented(&format!("→ {name} [{id}] {input}")))
            }
            Content::ToolResult { id, outcome, parts, context } => {
                let mut text =
                    format!("← [{id}] {}: {}", describe::outcome_word(*outcome), describe::parts(parts));
                for said in context {
                    text.push_str(&format!("\na hook says: {said}"));
                }
                lines.extend(indented(&text));
            }
        }
    }
    lines
}

fn indented(text: &str) -> Vec<(Style, String)> {
    let cut = rewake_core::limits::cut(text, PIECE_BYTES_MAX);
    let cut = if cut.len() < text.len() { format!("{cut}; --json has it all") } else { cut };
    plain(&cut).lines().map(|line| (Style::Plain, format!("  {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use rewake_wire::{Outcome, Part};

    use super::*;

    fn sent(messages: Vec<Message>) -> Sent {
        Sent {
            seq: 9,
            model: "fast".into(),
            provider: Some("p/m-1".into()),
            system: Some("Be brief.\nAlways.".into()),
            tools: vec![],
            options: Options { max_tokens: Some(100), ..Options::default() },
            messages,
        }
    }

    #[test]
    fn every_kind_of_content_has_its_line() {
        let said = Message {
            role: Role::Assistant,
            content: vec![
                Content::Thinking("{}".into()),
                Content::Part(Part::text("one\ntwo")),
                Content::ToolUse { id: "u1".into(), name: "read".into(), input: "{}".into() },
            ],
        };
        let result = Content::ToolResult {
            id: "u1".into(),
            outcome: Outcome::Denied,
            parts: vec![Part::text("no")],
            context: vec!["because".into()],
        };
        let heard = Message { role: Role::User, content: vec![result] };
        let lines: Vec<String> = lines(&sent(vec![said, heard])).into_iter().map(|(_, line)| line).collect();
        let expected = [
            "request 9 to fast (p/m-1), at most 100 tokens out, 2 messages",
            "system",
            "  Be brief.",
            "  Always.",
            "[1] assistant",
            "  thinking: {}",
            "  one",
            "  two",
            "  → read [u1] {}",
            "[2] user",
            "  ← [u1] denied: no",
            "  a hook says: because",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn long_and_hostile_content_is_cut_and_made_plain() {
        let text = format!("\u{1b}[31m{}", "x".repeat(3 * PIECE_BYTES_MAX));
        let content = vec![Content::Part(Part::text(text))];
        let lines = lines(&sent(vec![Message { role: Role::User, content }]));
        let (_, last) = lines.last().unwrap();
        assert!(last.len() < PIECE_BYTES_MAX + 100 && last.ends_with("--json has it all"), "{last}");
        assert!(!last.contains('\u{1b}'), "{last:?}");
    }
}
