//! The most that a request can be in tokens, so that its cost can be reserved before it is sent (journal.md R5).
//! It follows from the request and the journal alone: every host reserves the same at the same price.
//!
//! Why it is a bound. The tokenizers of these models work on bytes: a token is at least one byte of the text, so a
//! text has at most as many tokens as bytes. What a provider puts around the text (roles, tags, its own words
//! about tools) is bounded by a constant for each thing that it is put around. Bytes are several times what a text
//! really is in tokens, which would make long conversations look unaffordable; so where the provider has counted
//! the request of before, and this one begins with it, its count stands for that part: messages are tokenized
//! each for itself, so what is appended does not change what is before it. The answer's tokens are counted
//! in, because reasoning that is sent back may stand in the request as less than it was.
//!
//! It is not cut to the context that rules name: an operator may name less than a model has.

use rewake_bindings::model::{Content, Message, Request};
use rewake_bindings::types::Part;

/// Tokens of what a provider puts around a request, beyond its messages and tools.
const REQUEST_TOKENS_MAX: u64 = 1_024;
/// Tokens of what it puts around a message, a piece of one, or a tool.
const AROUND_TOKENS_MAX: u64 = 64;
/// Tokens of an image: above what any of the providers' published rules make of the largest one.
const IMAGE_TOKENS_MAX: u64 = 50_000;

/// Tokens of a request, at most. `counted`: messages it begins with that its provider has counted, with system
/// text and tools, and the tokens of that.
pub(super) fn input_tokens_max(request: &Request, counted: Option<(u32, u64)>) -> u64 {
    let (known, base) = match counted {
        Some((messages, tokens)) => (messages as usize, tokens.saturating_add(REQUEST_TOKENS_MAX)),
        None => (0, before_messages(request)),
    };
    let appended = request.messages.iter().skip(known).map(message);
    appended.fold(base, u64::saturating_add)
}

fn before_messages(request: &Request) -> u64 {
    let system = request.system.as_ref().map_or(0, String::len) as u64;
    let tools = request.tools.iter().map(|tool| {
        (tool.name.len() + tool.description.len() + tool.input_schema.len()) as u64 + AROUND_TOKENS_MAX
    });
    REQUEST_TOKENS_MAX + system + tools.sum::<u64>()
}

fn message(message: &Message) -> u64 {
    AROUND_TOKENS_MAX + message.content.iter().map(content).sum::<u64>()
}

fn content(content: &Content) -> u64 {
    let own = match content {
        Content::Part(piece) => part(piece),
        Content::Thinking(json) => json.len() as u64,
        Content::ToolUse(one) => (one.id.len() + one.name.len() + one.input.len()) as u64,
        Content::ToolResult(result) => {
            let context: usize = result.context.iter().map(String::len).sum();
            let around = (result.parts.len() + result.context.len()) as u64 * AROUND_TOKENS_MAX;
            let parts: u64 = result.parts.iter().map(part).sum();
            (result.id.len() + context) as u64 + around + parts
        }
    };
    own + AROUND_TOKENS_MAX
}

fn part(part: &Part) -> u64 {
    match part {
        Part::Text(text) | Part::Json(text) => text.len() as u64,
        Part::Blob(blob) if is_image(&blob.media_type) => IMAGE_TOKENS_MAX,
        Part::BlobRef(blob) if is_image(&blob.media_type) => IMAGE_TOKENS_MAX,
        // Named, never sent.
        Part::Blob(blob) => blob.media_type.len() as u64 + AROUND_TOKENS_MAX,
        Part::BlobRef(blob) => (blob.media_type.len() + blob.digest.len()) as u64 + AROUND_TOKENS_MAX,
    }
}

fn is_image(media_type: &str) -> bool {
    media_type.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("image/"))
}

#[cfg(test)]
mod tests {
    use rewake_bindings::model::Role;
    use rewake_bindings::types::{Blob, Effect, Outcome, ToolDef, ToolResult, ToolUse};

    use super::*;

    fn text(text: &str) -> Content {
        Content::Part(Part::Text(text.to_owned()))
    }

    fn request(contents: Vec<Content>) -> Request {
        Request {
            model: None,
            system: None,
            messages: contents
                .into_iter()
                .map(|content| Message { role: Role::User, content: vec![content] })
                .collect(),
            tools: vec![],
            max_tokens: None,
            options: None,
        }
    }

    #[test]
    fn every_byte_of_text_counts() {
        let empty = input_tokens_max(&request(vec![text("")]), None);
        let bytes = "é".repeat(500);
        let tool_use = |size: usize| {
            Content::ToolUse(ToolUse {
                id: "i".repeat(size),
                name: "n".repeat(size),
                input: "j".repeat(size),
            })
        };
        let result = |size: usize| {
            Content::ToolResult(ToolResult {
                id: "i".repeat(size),
                outcome: Outcome::Ok,
                parts: vec![Part::Json("j".repeat(size))],
                context: vec!["c".repeat(size)],
            })
        };
        for (content, less) in [
            (text(&bytes), 1_000),
            (Content::Thinking(bytes.clone()), 1_000),
            (tool_use(1_000), 3_000),
            (result(1_000), 3_000),
        ] {
            let got = input_tokens_max(&request(vec![content.clone()]), None);
            assert!(got >= empty + less && got < empty + less + 200, "{got} for {content:?}");
        }
        let system = Request { system: Some(bytes.clone()), ..request(vec![text("")]) };
        assert_eq!(input_tokens_max(&system, None), empty + 1_000);
        let tool = ToolDef {
            name: "n".repeat(10),
            description: bytes,
            input_schema: "s".repeat(100),
            effect: Effect::Pure,
        };
        let tools = Request { tools: vec![tool], ..request(vec![text("")]) };
        assert_eq!(input_tokens_max(&tools, None), empty + 1_110 + AROUND_TOKENS_MAX);
    }

    #[test]
    fn an_image_counts_as_one_and_other_bytes_by_their_name() {
        let blob = |media_type: &str| {
            let blob = Blob { media_type: media_type.into(), data: vec![0; 1 << 20] };
            input_tokens_max(&request(vec![Content::Part(Part::Blob(blob))]), None)
        };
        assert!(blob("image/png") > IMAGE_TOKENS_MAX && blob("IMAGE/PNG") > IMAGE_TOKENS_MAX);
        assert!(blob("audio/wav") < 2_000);
    }

    #[test]
    fn what_was_counted_stands_for_what_it_was() {
        let long = "x".repeat(100_000);
        let all = request(vec![text(&long), text(&long), text("more")]);
        let counted = input_tokens_max(&all, Some((2, 30_000)));
        assert!((31_024..32_000).contains(&counted), "{counted}");
        assert_eq!(input_tokens_max(&all, Some((3, u64::MAX))), u64::MAX);
    }
}
