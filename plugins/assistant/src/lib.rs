//! A small harness: each step is one model call and the tool calls that it asks for.
//!
//! Knows how a conversation is kept and what the model must be told truthfully. Does not know the
//! model, the tools, or how steps are made durable: a host that dies runs the step again.

mod words;

#[cfg(test)]
mod tests;

use rewake_sdk::{model::Role, prelude::*};
use serde::{Deserialize, Serialize};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 64;

/// The agent, and all that it remembers: the conversation as the model sees it.
#[derive(Default, Serialize, Deserialize)]
pub struct Assistant {
    conversation: Vec<Message>,
}

impl Harness for Assistant {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        if self.conversation.is_empty() {
            name_session(&input, cx);
        }
        if let Some(unfinished) = &input.unfinished {
            self.hear(vec![Part::Text(words::of_unfinished(unfinished, cx))]);
        }
        self.hear(input.context.iter().map(|text| Part::text(words::of_context(text))).collect());
        self.hear(input.messages.into_iter().flat_map(words::of_message).collect());
        self.hear(input.answers.iter().map(|answer| Part::text(words::of_answer(answer))).collect());

        cx.set_activity("thinking");
        let completion = cx.model(Request {
            system: Some(cx.info().instructions),
            messages: self.conversation.clone(),
            tools: cx.tools(),
            ..Request::default()
        })?;
        let uses = completion.tool_uses();
        let said = words::of_completion(&completion);
        if !said.is_empty() {
            cx.say(said);
        }
        self.conversation.push(Message::assistant(completion.content));
        if uses.is_empty() {
            return Ok(Next::Done);
        }

        cx.set_activity(&words::of_uses(&uses));
        let results = cx.call_tools(&uses);
        let results = results.into_iter().map(ToolResult::in_words).collect();
        self.conversation.push(Message::tool_results(results));
        Ok(Next::More)
    }
}

rewake_sdk::harness!(Assistant);

impl Assistant {
    /// Adds something for the model to read. Providers want the two roles to take turns, so it
    /// joins what the model has not answered yet.
    fn hear(&mut self, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        let mut heard = Message::user_parts(parts);
        match self.conversation.last_mut() {
            Some(last) if last.role == Role::User => last.content.append(&mut heard.content),
            _ => self.conversation.push(heard),
        }
    }
}

/// Names the session after its first message.
fn name_session(input: &Input, cx: &Session) {
    let text = input.text();
    if let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) {
        cx.set_title(&line.chars().take(TITLE_CHARS_MAX).collect::<String>());
    }
}
