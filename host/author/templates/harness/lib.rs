//! A harness: the agent's loop. Each step is one model call, and the tool calls that the model asks for.

use rewake_sdk::{model::Role, prelude::*};

/// Steps of one turn: a model that goes round in circles is stopped.
const STEPS_MAX: u32 = 50;

/// All that the agent remembers. It is saved after every step and loaded before the next one, which may run
/// on another machine.
#[derive(Default, Serialize, Deserialize)]
struct Agent {
    conversation: Vec<Message>,
}

impl Harness for Agent {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        if input.step > STEPS_MAX {
            return Err(Failure::turn("too_many_steps", format!("the turn is not done after {STEPS_MAX} steps")));
        }
        self.hear(news(&input));

        let completion = cx.model(Request {
            system: Some(cx.info().instructions),
            messages: self.conversation.clone(),
            tools: cx.tools(),
            ..Request::default()
        })?;
        let uses = completion.tool_uses();
        let said = completion.text();
        if !said.is_empty() {
            cx.say(said);
        }
        self.conversation.push(Message::assistant(completion.content));
        if uses.is_empty() {
            return Ok(Next::Done);
        }

        let results = cx.call_tools(&uses).into_iter().map(ToolResult::in_words).collect();
        self.conversation.push(Message::tool_results(results));
        Ok(Next::More)
    }
}

rewake_sdk::harness!(Agent);

impl Agent {
    /// Adds something for the model to read. Models want the two roles to take turns, so it joins what the
    /// model has not answered yet.
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

/// What has come in since the last step: how the turn before this one ended, if not well; what hooks say;
/// what people say and answer.
fn news(input: &Input) -> Vec<Part> {
    let unfinished = input.unfinished.iter().map(|before| format!("[the turn before this one: {}]", before.how));
    let context = input.context.iter().map(|text| format!("[note of the host: {text}]"));
    let notes = unfinished.chain(context).map(Part::text);
    let messages = input.messages.iter().flat_map(|message| message.parts.clone());
    let answers = input.answers.iter().map(|answer| {
        Part::text(format!("[answer to the question `{}`: {}]", answer.question, answer.value))
    });
    notes.chain(messages).chain(answers).collect()
}

#[cfg(test)]
mod tests {
    use rewake_sdk::testing::{self, Fake};
    use serde_json::json;

    use super::*;

    #[test]
    fn it_calls_the_tools_that_the_model_asks_for() {
        let host = Fake::new()
            .tool("word_count", "a.txt has 3 words")
            .reply_use("word_count", json!({ "path": "a.txt" }))
            .reply("Three words.");
        let mut agent = Agent::default();
        assert_eq!(host.turn(&mut agent, testing::input("How many words?")), Ok(Next::Done));
        assert_eq!(host.said(), ["Three words."]);
        assert_eq!(host.uses().len(), 1);
        assert_eq!(agent.conversation.len(), 4);
    }
}
