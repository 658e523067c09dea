//! A harness: the agent's loop. This one has no tools; it remembers, and counts its turns.

use rewake_sdk::prelude::*;
use serde::{Deserialize, Serialize};

/// Saved after every step, loaded before the next one, wherever that runs.
#[derive(Default, Serialize, Deserialize)]
struct Companion {
    turns: u32,
    conversation: Vec<Message>,
}

impl Harness for Companion {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        self.turns += 1;
        self.conversation.push(Message::user(input.text()));
        let completion = cx.model(Request {
            system: Some(cx.info().instructions),
            messages: self.conversation.clone(),
            ..Request::default()
        })?;
        cx.say(format!("{} ({} turns so far)", completion.text(), self.turns));
        self.conversation.push(Message::assistant(completion.content));
        Ok(Next::Done)
    }
}

rewake_sdk::harness!(Companion);

#[cfg(test)]
mod tests {
    use rewake_sdk::testing::{self, Fake};

    use super::*;

    #[test]
    fn it_remembers_from_turn_to_turn() {
        let host = Fake::new().reply("Hello.").reply("Still here.");
        let mut companion = Companion::default();
        for text in ["hi", "and now?"] {
            assert_eq!(host.turn(&mut companion, testing::input(text)), Ok(Next::Done));
        }
        assert_eq!(host.said(), ["Hello. (1 turns so far)", "Still here. (2 turns so far)"]);
        assert_eq!(host.requests()[1].messages.len(), 3);
    }
}
