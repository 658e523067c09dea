//! The scripted model: answers by how many answers the request already holds, so that the same request
//! always gets the same answer. It says it in pieces, as providers do, over the time that the reply takes.

use std::time::Duration;

use rewake_bindings::model::{Request, Role};
use rewake_core::fact::{ModelContent, ModelFinish, ModelOutcome};
use rewake_wire::{Part, Usage};

use super::{Attempt, Bill, Delta, Deltas, SCRIPTED};
use rewake_bundle::{Reply, Script};

/// Pieces that a text is shown in, at most.
const PIECES_MAX: usize = 32;

/// Plays the reply that is next for this request.
pub(super) async fn attempt(script: &Script, request: &Request, deltas: Deltas<'_>) -> Attempt {
    let index = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let Some(reply) = script.reply(index) else {
        return Attempt::Ended { outcome: ModelOutcome::Rejected(script.past_end()), bill: Bill::Nothing };
    };
    if deltas.attempt < reply.unavailable {
        let why = format!("the script does not answer {} times here", reply.unavailable);
        return Attempt::Again { why, after: None, bill: Bill::Nothing };
    }
    say(reply, deltas).await;
    let text = reply.text.iter().map(|text| ModelContent::Part(Part::text(text)));
    let uses = reply.uses.iter().enumerate().map(|(at, one)| ModelContent::ToolUse {
        id: format!("use_{}_{}", index + 1, at + 1),
        name: one.tool.clone(),
        input: one.input.to_string(),
    });
    let content: Vec<ModelContent> = text.chain(uses).collect();
    let said: usize = content.iter().map(size).sum();
    // Four bytes a token: no tokenizer, but a figure that grows with the text.
    let usage = Usage {
        input_tokens: (serde_json::to_vec(request).map_or(0, |bytes| bytes.len()) / 4) as u64,
        output_tokens: said.div_ceil(4) as u64,
        ..Usage::default()
    };
    let finish = if reply.uses.is_empty() { ModelFinish::End } else { ModelFinish::ToolUse };
    let outcome =
        ModelOutcome::Completion { model: SCRIPTED.into(), content, finish, usage, context_tokens: None };
    Attempt::Ended { outcome, bill: Bill::Tokens(usage) }
}

/// Shows the reply's text piece by piece; all of it takes as long as the reply does.
async fn say(reply: &Reply, deltas: Deltas<'_>) {
    let pieces = pieces(reply.text.as_deref().unwrap_or_default());
    let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX).saturating_add(1);
    let pause = reply.delay / count;
    for piece in pieces {
        rest(pause).await;
        deltas.show(Delta::Text(piece.to_owned())).await;
    }
    for one in &reply.uses {
        deltas.show(Delta::ToolUse(one.tool.clone())).await;
    }
    rest(reply.delay.saturating_sub(pause * (count - 1))).await;
}

async fn rest(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

/// A text cut after blanks into at most so many pieces of about the same length.
fn pieces(text: &str) -> Vec<&str> {
    let piece_bytes = text.len().div_ceil(PIECES_MAX).max(1);
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if c.is_whitespace() && end - start >= piece_bytes {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

fn size(content: &ModelContent) -> usize {
    match content {
        ModelContent::Part(part) => part.len(),
        ModelContent::Thinking(json) => json.len(),
        ModelContent::ToolUse { name, input, .. } => name.len() + input.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_after_blanks_and_make_up_the_text() {
        assert_eq!(pieces(""), Vec::<&str>::new());
        assert_eq!(pieces("one two\nthree"), ["one ", "two\n", "three"]);
        let long = "word of é ".repeat(400);
        let cut = pieces(&long);
        assert!(cut.len() <= PIECES_MAX, "{}", cut.len());
        assert_eq!(cut.concat(), long);
    }
}
