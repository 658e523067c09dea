//! The scripted model's script: the replies that it gives, in order.
//!
//! Knows the script as data. Does not play it: the provider does, and the reply it gives is told by
//! how many assistant messages the request already holds, so that a replayed session gets the same.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Deserialize;

use crate::bundle::{Error, Invalid, SourceText};

/// The longest that one reply may be held back, in milliseconds.
pub const DELAY_MS_MAX: u64 = 10 * 60 * 1000;
/// Replies of one script.
pub const REPLIES_MAX: usize = 10_000;

/// Replies in the order in which the model gives them; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    replies: Vec<Reply>,
}

/// One completion.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What the model says.
    pub text: Option<String>,
    /// The tools that it calls, in order.
    pub uses: Vec<ScriptedUse>,
    /// How long it takes.
    pub delay: Duration,
}

/// A call of a tool that the model makes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedUse {
    /// The tool's name in the session; any name, since a model can be wrong.
    pub tool: String,
    /// The input, as JSON.
    pub input: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    reply: Vec<RawReply>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReply {
    text: Option<String>,
    #[serde(default, rename = "use")]
    uses: Vec<RawUse>,
    #[serde(default)]
    delay_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUse {
    tool: String,
    #[serde(default = "no_input")]
    input: serde_json::Value,
}

fn no_input() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

impl Script {
    /// Reads a script: JSON if its first character is `{`, else TOML. `path` is the name that
    /// errors show.
    ///
    /// # Errors
    /// If it is malformed, has an unknown key or no replies, or a reply holds nothing.
    pub fn parse(text: &str, path: &str) -> Result<Script, Error> {
        let source = SourceText::new(path, text);
        let raw = if text.trim_start().starts_with('{') { json(&source)? } else { toml(&source)? };
        let refuse =
            |message: String, help: &str| Err(Error::whole_file(path, message, Some(help.to_owned())));
        if raw.reply.is_empty() {
            return refuse("the script has no replies".to_owned(), "add a [[reply]] with a `text`");
        }
        if raw.reply.len() > REPLIES_MAX {
            return refuse(format!("the script has more than {REPLIES_MAX} replies"), "make it shorter");
        }
        for (index, reply) in raw.reply.iter().enumerate() {
            let number = index + 1;
            if reply.text.is_none() && reply.uses.is_empty() {
                let message = format!("reply {number} of the script holds nothing");
                return refuse(message, "give it a `text`, or a `use` of a tool");
            }
            if reply.delay_ms > DELAY_MS_MAX {
                let message = format!("`delay_ms` of reply {number} is {}", reply.delay_ms);
                return refuse(message, &format!("the longest delay is {DELAY_MS_MAX} ms"));
            }
            if let Some(scripted) = reply.uses.iter().find(|scripted| !scripted.input.is_object()) {
                let message = format!("the input of {:?} in reply {number} is not an object", scripted.tool);
                return refuse(message, "write the tool's arguments by name: input = { path = \"a.txt\" }");
            }
        }
        Ok(Script { replies: raw.reply.into_iter().map(Reply::from).collect() })
    }

    /// The reply to a request that holds `index` assistant messages; none past the end.
    pub fn reply(&self, index: usize) -> Option<&Reply> {
        self.replies.get(index)
    }

    /// What the model says instead of a reply past the end.
    pub fn past_end(&self) -> String {
        match self.replies.len() {
            1 => "the script has only 1 reply".to_owned(),
            count => format!("the script has only {count} replies"),
        }
    }
}

impl From<RawReply> for Reply {
    fn from(raw: RawReply) -> Reply {
        let uses = raw.uses.into_iter().map(|raw| ScriptedUse { tool: raw.tool, input: raw.input });
        Reply { text: raw.text, uses: uses.collect(), delay: Duration::from_millis(raw.delay_ms) }
    }
}

fn json(source: &SourceText) -> Result<RawScript, Error> {
    serde_json::from_str(source.text()).map_err(|error| {
        let line_start: usize =
            source.text().split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = line_start + error.column().saturating_sub(1);
        // serde_json ends its message with the place, which is shown already.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        source.problem(at..at + 1, Invalid::new(format!("not a script: {message}"))).into()
    })
}

fn toml(source: &SourceText) -> Result<RawScript, Error> {
    toml::from_str(source.text()).map_err(|error| {
        let invalid = Invalid::new(format!("not a script: {}", error.message()));
        source.problem(error.span().unwrap_or(0..0), invalid).into()
    })
}
