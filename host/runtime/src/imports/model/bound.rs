//! The most that a request can be in tokens, so that its cost can be reserved before it is sent (journal.md R5).
//! It follows from the request and the journal alone: every host reserves the same at the same price.
//!
//! Why it is a bound. The tokenizers of these models work on bytes: a token is at least one byte of the text, so a
//! text has at most as many tokens as bytes. Tools and what they are given are shown to a model as JSON, which may
//! be longer than what is sent: each character counts as its longest escape. What a provider puts around the text
//! (roles, tags, its own words about tools) is bounded by a constant for each thing that it is put around. Options
//! can hold text, such as the schema of an answer, and count with every request. Bytes are several times what a text
//! really is in tokens, which would make long conversations look unaffordable; so where the provider has counted
//! the request from before, and this one begins with it, its count stands for that part: messages are tokenized
//! each for itself, so what is appended does not change what is before it. The answer's tokens are counted
//! in, because reasoning that is sent back may stand in the request as less than it was. An image that is named by
//! its digest was maybe not there to be shown when the request was counted, so it counts again each time.
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
        Some((messages, tokens)) => (messages as usize, tokens),
        None => (0, before_messages(request)),
    };
    let (known, appended) = request.messages.split_at(known.min(request.messages.len()));
    let options = request.options.as_deref().map_or(0, as_json);
    let others = [REQUEST_TOKENS_MAX, options, named_images(known)];
    others.into_iter().chain(appended.iter().map(message)).fold(base, u64::saturating_add)
}

/// Images that are named, and maybe were not shown before.
fn named_images(messages: &[Message]) -> u64 {
    let is_named = |part: &&Part| matches!(part, Part::BlobRef(blob) if is_image(&blob.media_type));
    let count = |content: &Content| match content {
        Content::Part(part) => [part].into_iter().filter(is_named).count(),
        Content::ToolResult(result) => result.parts.iter().filter(is_named).count(),
        Content::Thinking(_) | Content::ToolUse(_) => 0,
    };
    let images: usize = messages.iter().flat_map(|message| &message.content).map(count).sum();
    images as u64 * IMAGE_TOKENS_MAX
}

/// Bytes of a text as the longest JSON that holds it; the bytes of another character become no more than three
/// each.
fn as_json(text: &str) -> u64 {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        b' '..=b'~' => 1,
        0..=0x7f => 6,
        _ => 3,
    });
    bytes.sum()
}

fn before_messages(request: &Request) -> u64 {
    let system = request.system.as_ref().map_or(0, String::len) as u64;
    let tools = request.tools.iter().map(|tool| {
        as_json(&tool.name) + as_json(&tool.description) + as_json(&tool.input_schema) + AROUND_TOKENS_MAX
    });
    system + tools.sum::<u64>()
}

fn message(message: &Message) -> u64 {
    AROUND_TOKENS_MAX + message.content.iter().map(content).sum::<u64>()
}

fn content(content: &Content) -> u64 {
    let own = match content {
        Content::Part(piece) => part(piece),
        Content::Thinking(json) => json.len() as u64,
        Content::ToolUse(one) => as_json(&one.id) + as_json(&one.name) + as_json(&one.input),
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
    use rewake_bindings::types::{Blob, BlobRef, Effect, Outcome, ToolDef, ToolResult, ToolUse};

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
        // What is no object is sent as a JSON string, and providers show a tool's input as JSON.
        let odd = "\u{1}\"\\".repeat(100);
        let odd = Content::ToolUse(ToolUse { id: "i".into(), name: "n".into(), input: odd });
        assert!(input_tokens_max(&request(vec![odd]), None) >= empty + 1_000);
        let options = Request { options: Some("o".repeat(1_000)), ..request(vec![text("")]) };
        assert_eq!(input_tokens_max(&options, None), empty + 1_000);
        assert_eq!(input_tokens_max(&options, Some((1, 10))), 10 + REQUEST_TOKENS_MAX + 1_000);
        let system = Request { system: Some(bytes.clone()), ..request(vec![text("")]) };
        assert_eq!(input_tokens_max(&system, None), empty + 1_000);
        let tool = ToolDef {
            name: "n".repeat(10),
            description: bytes,
            input_schema: "s".repeat(100),
            effect: Effect::Pure,
        };
        let tools = Request { tools: vec![tool], ..request(vec![text("")]) };
        assert_eq!(input_tokens_max(&tools, None), empty + 3_110 + AROUND_TOKENS_MAX);
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

    /// An image that is named by digest is shown from when the session holds it: maybe not when it was counted.
    #[test]
    fn an_image_that_was_counted_as_a_name_may_be_shown_now() {
        let blob = BlobRef { media_type: "image/png".into(), digest: "d".repeat(64), size: 10 };
        let result = |parts| {
            let (id, outcome) = ("a".into(), Outcome::Ok);
            Content::ToolResult(ToolResult { id, outcome, parts, context: vec![] })
        };
        let named = vec![Part::BlobRef(blob.clone())];
        for content in [Content::Part(Part::BlobRef(blob.clone())), result(named)] {
            let known = request(vec![content, text("more")]);
            assert!(input_tokens_max(&known, Some((1, 100))) > IMAGE_TOKENS_MAX);
        }
        let whole = Part::Blob(Blob { media_type: "image/png".into(), data: vec![] });
        let known = request(vec![Content::Part(whole), text("more")]);
        assert!(input_tokens_max(&known, Some((1, 100))) < 2_000);
    }
}
