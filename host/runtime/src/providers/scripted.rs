//! The scripted model: answers by how many answers the request already holds, so that the same request
//! always gets the same answer.

use rewake_bindings::model::{Request, Role};
use rewake_core::fact::{ModelContent, ModelFinish, ModelOutcome};
use rewake_wire::{Part, Usage};

use super::script::Script;
use super::{Attempt, Bill, Deltas, SCRIPTED};

/// Plays the reply that is next for this request.
pub(super) async fn attempt(script: &Script, request: &Request, deltas: &Deltas) -> Attempt {
    let index = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let Some(reply) = script.reply(index) else {
        return Attempt::Ended { outcome: ModelOutcome::Rejected(script.past_end()), bill: Bill::Nothing };
    };
    if deltas.attempt < reply.unavailable {
        let why = format!("the script does not answer {} times here", reply.unavailable);
        return Attempt::Again { why, after: None, bill: Bill::Nothing };
    }
    tokio::time::sleep(reply.delay).await;
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

fn size(content: &ModelContent) -> usize {
    match content {
        ModelContent::Part(part) => part.len(),
        ModelContent::Thinking(json) => json.len(),
        ModelContent::ToolUse { name, input, .. } => name.len() + input.len(),
    }
}
