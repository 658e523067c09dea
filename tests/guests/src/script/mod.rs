//! The scripted harness: a message is a JSON list of operations, done one after another.
//!
//! Knows how to fold all that it learns into a digest, which it says at the end: a step that is
//! run again from its journal must say the same. Does not know which operations a test needs.

mod ops;
#[cfg(test)]
mod tests;

use rewake_sdk::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{digest::Digest, fetching::Fetch, fileops::FileOp};

/// One operation. Text that is not given is empty.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// Calls tools side by side: learns each outcome and what it returned.
    Tools {
        /// The calls.
        uses: Vec<Use>,
    },
    /// Asks the model, in one conversation for all turns: learns its text, and calls what it asks.
    Model {
        /// What to tell it.
        text: String,
        /// Which model; by default that of the session.
        #[serde(default)]
        model: Option<String>,
        /// Learn why there is no answer, and go on; the turn fails otherwise.
        #[serde(default)]
        patient: bool,
    },
    /// Says something.
    Say {
        /// What.
        text: String,
    },
    /// Learns the wall clock, in milliseconds.
    Clock,
    /// Learns 8 random bytes.
    Random,
    /// Sleeps, and learns how long that took by the monotonic clock, in nanoseconds.
    Sleep {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Learns the order in which a hash map gives its keys.
    HashMap,
    /// Learns a file's text.
    Read {
        /// An absolute path.
        path: String,
    },
    /// Does file operations, and learns how each went.
    Files {
        /// The operations.
        ops: Vec<FileOp>,
    },
    /// Makes requests, and learns how each went.
    Fetch {
        /// The requests.
        fetches: Vec<Fetch>,
    },
    /// Reads the blob that the last `http.completed` names, or another one; learns its length and its
    /// beginning.
    Blob {
        /// Its digest.
        digest: Option<String>,
        /// Where to begin.
        #[serde(default)]
        offset: u32,
        /// How many bytes.
        length: u32,
    },
    /// Opens a file and keeps it open to the step's end.
    Hold {
        /// An absolute path.
        path: String,
    },
    /// Learns the next bytes of the file that is held.
    ReadHeld {
        /// How many.
        bytes: u64,
    },
    /// Learns the names of a directory's entries, as the host orders them.
    List {
        /// An absolute path.
        path: String,
    },
    /// Learns the session's settings.
    Info,
    /// Learns the names of the tools.
    ListTools,
    /// Ends the step; the next operation is the next step's.
    More,
    /// Appends an entry of its own kind, and learns its seq.
    Emit {
        /// `custom.…`.
        kind: String,
        /// What it holds.
        #[serde(default)]
        data: serde_json::Value,
    },
    /// Learns the kinds and seqs of journal entries.
    Events {
        /// Only these; all, if none.
        #[serde(default)]
        kinds: Vec<String>,
        /// Only later ones.
        #[serde(default)]
        after: u32,
        /// Only earlier ones.
        before: Option<u32>,
        /// At most so many; 1,000 if not given.
        limit: Option<u32>,
        /// The newest first.
        #[serde(default)]
        newest_first: bool,
        /// Learn their data as well.
        #[serde(default)]
        data: bool,
    },
    /// Names the session.
    Title {
        /// The title.
        text: String,
    },
    /// Shows an activity.
    Activity {
        /// The line.
        text: String,
    },
    /// Writes diagnostics.
    Log {
        /// The line.
        text: String,
        /// How often; once if not given.
        times: Option<u32>,
    },
    /// Writes a line to the standard output.
    Print {
        /// The line.
        text: String,
    },
    /// Ends the step with a question, and learns the answer in the next.
    Ask {
        /// The question's id.
        id: String,
        /// The question.
        text: String,
        /// What can be chosen.
        #[serde(default)]
        choices: Vec<String>,
    },
    /// Ends the step, to go on later.
    Wait {
        /// How much later, in milliseconds by the wall clock; without it, only a message ends it.
        ms: Option<u64>,
        /// Or until a message comes.
        #[serde(default)]
        on_message: bool,
    },
    /// Starts a session of another agent: learns its id, or why there is none.
    Spawn {
        /// The agent.
        agent: String,
        /// Its first message.
        text: String,
    },
    /// Fails.
    Fail {
        /// Whether the session fails with the turn.
        #[serde(default)]
        session: bool,
        /// The code.
        code: String,
    },
    /// Saves a state from here on that it does not cancel.
    Spoil,
    /// Crashes.
    Trap,
    /// Never returns.
    Spin,
    /// Looks for what was not granted, and learns what there is.
    Snoop {
        /// A port of the host.
        port: u16,
    },
    /// Takes memory until there is no more.
    Grow,
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// The tool.
    pub name: String,
    /// Its input.
    #[serde(default)]
    pub input: serde_json::Value,
    /// The input as it is sent, whether it is JSON or not; in place of `input`.
    pub raw: Option<String>,
}

/// The harness: what is left to do, and what it has learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Script {
    ops: Vec<Op>,
    position: usize,
    learned: Vec<String>,
    conversation: Vec<Message>,
    uses: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "refused")]
    is_spoilt: bool,
    #[serde(skip)]
    held: Option<std::fs::File>,
}

fn refused<'de, D: Deserializer<'de>>(_: D) -> Result<bool, D::Error> {
    Err(serde::de::Error::custom("it is spoilt"))
}

/// What is said when all is done.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of all that was learned.
    pub digest: String,
    /// All that was learned, in order.
    pub learned: Vec<String>,
}

impl Harness for Script {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        self.take_in(&input)?;
        while let Some(op) = self.ops.get(self.position).cloned() {
            self.position += 1;
            if let Some(next) = self.perform(op, cx)? {
                return Ok(next);
            }
        }
        let digest = Digest::of_lines(self.learned.iter().map(String::as_str)).hex();
        let report = Report { digest, learned: std::mem::take(&mut self.learned) };
        cx.say_parts(&[JsonText::of(&report)?.into_text().into()]);
        Ok(Next::Done)
    }
}

impl Script {
    fn take_in(&mut self, input: &Input) -> Result<(), Failure> {
        let mut messages = input.messages.iter();
        if input.step == 1
            && let Some(message) = messages.next()
        {
            let text = message.text();
            self.ops = serde_json::from_str(&text).map_err(|error| {
                Failure::turn("bad_script", format!("the message is no list of operations: {error}"))
            })?;
            self.position = 0;
            self.learned.clear();
        }
        if let Some(unfinished) = &input.unfinished {
            let (first, last) = (unfinished.first_seq, unfinished.last_seq);
            self.learn(format!("unfinished: {} {first}-{last}", unfinished.how));
        }
        for context in &input.context {
            self.learn(format!("context: {context}"));
        }
        for message in messages {
            self.learn(format!("heard: {}", message.text()));
        }
        for answer in &input.answers {
            self.learn(format!("answer {}: {}", answer.question, answer.value));
        }
        Ok(())
    }

    fn learn(&mut self, what: impl Into<String>) {
        self.learned.push(what.into());
    }
}
