//! An answer as it comes: the frames of a stream, read into pieces that are shown and into the whole that is
//! recorded.
//!
//! Knows frames; not where they come from. What a provider sends is untrusted: each bound has a name.

mod anthropic;
mod openai;
#[cfg(test)]
mod tests;
mod whole;

use rewake_core::fact::{ModelContent, ModelFinish};
use rewake_wire::Usage;
use serde_json::Value;

pub(super) use self::whole::events as events_of;
use super::Delta;
use super::request::Maker;
use super::spec::Protocol;

/// Bytes of all that a model says in one answer, as JSON writes them: with what that adds once more for reasoning,
/// they fit into an entry.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Blocks, or tool uses, of one answer.
const BLOCKS_MAX: usize = 1_024;

/// Why an answer does not go on.
#[derive(Debug, PartialEq)]
pub(super) enum Trouble {
    /// The answer is larger than one may be: asking again would make another such, and cost as much.
    TooMuch { bytes_max: usize },
    /// Not what the protocol says: what is wrong.
    Malformed(String),
    /// The provider's own error, as it came.
    Said(Value),
}

/// An answer, whole.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// The model that the provider says has answered.
    pub(super) model: Option<String>,
    pub(super) content: Vec<ModelContent>,
    pub(super) finish: ModelFinish,
    /// None: the provider did not count.
    pub(super) usage: Option<Usage>,
}

/// Reads the frames of one protocol.
pub(super) trait Reader: Send {
    /// Reads a frame, and returns what it adds.
    fn take(&mut self, data: &str) -> Result<Vec<Delta>, Trouble>;
    /// Whether anything has come that the provider counts.
    fn has_begun(&self) -> bool;
    /// Whether all has been said; what follows can only be counts.
    fn is_whole(&self) -> bool;
    /// Whether nothing follows.
    fn is_over(&self) -> bool;
    /// All of it; `maker` signs its reasoning. `start` makes names for tool uses that came without one.
    fn answer(self: Box<Self>, maker: &Maker, start: u64) -> Answer;
}

/// A reader of what this protocol sends.
pub(super) fn reader(protocol: Protocol) -> Box<dyn Reader> {
    match protocol {
        Protocol::Anthropic => Box::<anthropic::Frames>::default(),
        Protocol::OpenAi => Box::<openai::Frames>::default(),
    }
}

fn malformed(what: impl Into<String>) -> Trouble {
    Trouble::Malformed(what.into())
}

fn json(data: &str) -> Result<Value, Trouble> {
    match serde_json::from_str(data) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(malformed("an event is not a JSON object")),
        Err(error) => Err(malformed(format!("an event is not JSON: {error}"))),
    }
}

/// Counts what has been said.
#[derive(Default)]
struct Room(usize);

impl Room {
    fn take(&mut self, text: &str) -> Result<(), Trouble> {
        let bytes = text.bytes().map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..=0x1f => 6,
            _ => 1,
        });
        self.0 = self.0.saturating_add(bytes.sum());
        match self.0 > ANSWER_BYTES_MAX {
            true => Err(Trouble::TooMuch { bytes_max: ANSWER_BYTES_MAX }),
            false => Ok(()),
        }
    }
}

/// A tool's input as the model wrote it. Nothing at all means that there are no arguments, and so does `null`, which
/// some local servers send.
fn input(written: String) -> String {
    if matches!(written.trim(), "" | "null") { "{}".into() } else { written }
}
