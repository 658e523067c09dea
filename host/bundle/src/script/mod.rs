//! The scripted model's script: the replies that it gives, in order.
//!
//! Knows the script as data. Does not play it: the provider does, and the reply it gives is told by
//! how many assistant messages the request already holds, so that a replayed session gets the same.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::Deserialize;

use rewake_toml::{Error, Invalid, SourceText, quote};

/// The longest that one reply may be held back, in milliseconds.
const DELAY_MS_MAX: u64 = 10 * 60 * 1000;
/// Replies of one script.
const REPLIES_MAX: usize = 10_000;

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
    /// Attempts that get no answer before it, as when a provider is busy.
    pub unavailable: u32,
}

/// A call of a tool that the model makes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedUse {
    /// The tool's name in the session; any name, since a model can be wrong.
    pub tool: String,
    /// The input, as JSON.
    pub input: serde_json::Value,
}

/// The script as it is written; `V` is the form's own value of any type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript<V> {
    reply: Vec<RawReply<V>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReply<V> {
    text: Option<String>,
    #[serde(default = "Vec::new", rename = "use")]
    uses: Vec<RawUse<V>>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    unavailable: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUse<V> {
    tool: String,
    input: Option<V>,
}

impl Script {
    /// Reads a script: JSON if its first character is `{`, else TOML. `path` is the name that
    /// errors show.
    ///
    /// # Errors
    /// If it is malformed, has an unknown key or no replies, or a reply holds nothing.
    pub fn parse(text: &str, path: &str) -> Result<Script, Error> {
        let source = SourceText::new(path, text);
        let replies = if text.trim_start().starts_with('{') {
            replies(read_json(&source)?, Ok)
        } else {
            replies(read_toml(&source)?, json_of)
        };
        let replies = replies.and_then(|replies| match replies.len() {
            0 => Err(Invalid::new("the script has no replies").help("add a [[reply]] with a `text`")),
            1..=REPLIES_MAX => Ok(replies),
            _ => Err(Invalid::new(format!("the script has more than {REPLIES_MAX} replies"))),
        });
        let replies = replies.map_err(|invalid| Error::whole_file(path, invalid.message, invalid.help))?;
        Ok(Script { replies })
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

fn replies<V>(
    raw: RawScript<V>,
    json: impl Fn(V) -> Result<serde_json::Value, &'static str>,
) -> Result<Vec<Reply>, Invalid> {
    let numbered = raw.reply.into_iter().enumerate();
    numbered.map(|(index, raw)| reply(raw, index + 1, &json)).collect()
}

fn reply<V>(
    raw: RawReply<V>,
    number: usize,
    json: &impl Fn(V) -> Result<serde_json::Value, &'static str>,
) -> Result<Reply, Invalid> {
    if raw.text.is_none() && raw.uses.is_empty() {
        return Err(Invalid::new(format!("reply {number} of the script holds nothing"))
            .help("give it a `text`, or a `use` of a tool"));
    }
    if raw.delay_ms > DELAY_MS_MAX {
        return Err(Invalid::new(format!("`delay_ms` of reply {number} is {}", raw.delay_ms))
            .help(format!("the longest delay is {DELAY_MS_MAX} ms")));
    }
    let mut uses = Vec::new();
    for RawUse { tool, input } in raw.uses {
        let of = || format!("the input of {} in reply {number}", quote(&tool));
        let input = match input.map(json) {
            None => serde_json::Value::Object(serde_json::Map::new()),
            Some(Ok(input @ serde_json::Value::Object(_))) => input,
            Some(Ok(_)) => {
                return Err(Invalid::new(format!("{} is not an object", of()))
                    .help("write the tool's arguments by name: input = { path = \"a.txt\" }"));
            }
            Some(Err(what)) => {
                return Err(Invalid::new(format!("{} holds {what}, which there is not in JSON", of()))
                    .help("write it as a string"));
            }
        };
        uses.push(ScriptedUse { tool, input });
    }
    let delay = Duration::from_millis(raw.delay_ms);
    Ok(Reply { text: raw.text, uses, delay, unavailable: raw.unavailable })
}

/// A TOML value as JSON; or what in it JSON has no form for.
fn json_of(value: toml::Value) -> Result<serde_json::Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Float(number) => {
            serde_json::Number::from_f64(number).ok_or("a number that is not finite")?.into()
        }
        toml::Value::Datetime(_) => return Err("a date"),
        toml::Value::Array(values) => values.into_iter().map(json_of).collect::<Result<_, _>>()?,
        toml::Value::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| Ok::<_, &'static str>((key, json_of(value)?)));
            serde_json::Value::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}

fn read_json(source: &SourceText) -> Result<RawScript<serde_json::Value>, Error> {
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

fn read_toml(source: &SourceText) -> Result<RawScript<toml::Value>, Error> {
    toml::from_str(source.text()).map_err(|error| {
        let invalid = Invalid::new(format!("not a script: {}", error.message()));
        source.problem(error.span().unwrap_or(0..0), invalid).into()
    })
}
