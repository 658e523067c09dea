//! The frames of OpenAI's chat completions: chunks with one choice, a last one with counts, `[DONE]`. Others speak
//! it with accents, which are understood where they can mean one thing only.

use rewake_core::fact::{ModelContent, ModelFinish};
use rewake_wire::{Part, Usage};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{Answer, BLOCKS_MAX, Reader, Room, Trouble, input, json as read, malformed};
use crate::Delta;
use crate::request::Maker;

/// What has come so far.
#[derive(Default)]
pub(super) struct Frames {
    room: Room,
    has_begun: bool,
    is_over: bool,
    model: Option<String>,
    finish_reason: Option<String>,
    has_refused: bool,
    pieces: Vec<Piece>,
    usage: Option<Usage>,
    /// Whether that is of the whole answer: some servers count with every chunk.
    is_counted: bool,
}

enum Piece {
    Text(String),
    Thinking(String),
    Call { index: u64, id: Option<String>, name: String, written: String },
}

impl Frames {
    fn delta(&mut self, delta: &Value) -> Result<Vec<Delta>, Trouble> {
        let mut deltas = Vec::new();
        let thought = delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str());
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            self.room.take(text)?;
            match self.pieces.iter_mut().find_map(Piece::thinking) {
                Some(whole) => whole.push_str(text),
                None => self.pieces.push(Piece::Thinking(text.to_owned())),
            }
            deltas.push(Delta::Thinking(text.to_owned()));
        }
        let refusal = delta["refusal"].as_str().filter(|text| !text.is_empty());
        self.has_refused |= refusal.is_some();
        for text in said(&delta["content"]).into_iter().chain(refusal) {
            self.room.take(text)?;
            match self.pieces.iter_mut().find_map(Piece::text) {
                Some(whole) => whole.push_str(text),
                None => self.pieces.push(Piece::Text(text.to_owned())),
            }
            deltas.push(Delta::Text(text.to_owned()));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            deltas.extend(self.call(call)?);
        }
        Ok(deltas)
    }

    /// A piece of a tool call: the first has its name, all have its index. Where a server numbers all its calls
    /// alike, another id is another call. Where it sends no ids either, a name begins another call if it differs, or
    /// if the input so far is whole and more comes.
    fn call(&mut self, piece: &Value) -> Result<Option<Delta>, Trouble> {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, name) = (text(&piece["id"]), text(&piece["function"]["name"]));
        let arguments = match &piece["function"]["arguments"] {
            Value::String(text) => text.clone(),
            object @ Value::Object(_) => object.to_string(),
            _ => String::new(),
        };
        for text in [id.as_deref(), name.as_deref(), Some(arguments.as_str())].into_iter().flatten() {
            self.room.take(text)?;
        }
        let index = piece["index"].as_u64().unwrap_or_default();
        let open = self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Call { index: other, id, name, written } if *other == index => Some((id, name, written)),
            _ => None,
        });
        if let Some((open_id, open_name, written)) = open {
            let is_over = |name: &String| {
                let is_whole = || serde_json::from_str::<IgnoredAny>(written).is_ok();
                !open_name.is_empty() && (open_name != name || !arguments.is_empty() && is_whole())
            };
            let is_another = match (&*open_id, &id) {
                (Some(open), Some(id)) => open != id && name.is_some(),
                (Some(_), None) => false,
                (None, _) => name.as_ref().is_some_and(is_over),
            };
            if !is_another {
                *open_id = open_id.take().or(id);
                if open_name.is_empty() {
                    *open_name = name.unwrap_or_default();
                }
                written.push_str(&arguments);
                return Ok(None);
            }
        }
        if self.pieces.len() >= BLOCKS_MAX {
            return Err(malformed(format!("the answer has more than {BLOCKS_MAX} tool calls")));
        }
        let name = name.unwrap_or_default();
        self.pieces.push(Piece::Call { index, id, name: name.clone(), written: arguments });
        Ok((!name.is_empty()).then_some(Delta::ToolUse(name)))
    }
}

impl Piece {
    fn text(&mut self) -> Option<&mut String> {
        match self {
            Piece::Text(text) => Some(text),
            _ => None,
        }
    }

    fn thinking(&mut self) -> Option<&mut String> {
        match self {
            Piece::Thinking(text) => Some(text),
            _ => None,
        }
    }
}

impl Reader for Frames {
    fn take(&mut self, data: &str) -> Result<Vec<Delta>, Trouble> {
        if data == "[DONE]" {
            self.is_over = self.finish_reason.is_some();
            return match self.is_over {
                true => Ok(Vec::new()),
                false => Err(malformed("it ends without saying why")),
            };
        }
        let data = read(data)?;
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(Trouble::Said(error.clone()));
        }
        if self.model.is_none() {
            self.model = data["model"].as_str().filter(|model| !model.is_empty()).map(str::to_owned);
        }
        let choice = data["choices"].as_array().and_then(|choices| choices.first());
        let reason = choice.and_then(|choice| choice["finish_reason"].as_str());
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason.to_owned());
        }
        if let Some(counted) = usage(&data["usage"]) {
            self.usage = Some(counted);
            self.is_counted = self.finish_reason.is_some();
        }
        match choice {
            Some(choice) => {
                self.has_begun = true;
                self.delta(&choice["delta"])
            }
            None if data["choices"].is_array() || data["usage"].is_object() => Ok(Vec::new()),
            None => Err(malformed("an event has no choices")),
        }
    }

    fn has_begun(&self) -> bool {
        self.has_begun
    }

    fn is_whole(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn answer(self: Box<Self>, maker: &Maker, start: u64) -> Answer {
        let calls = self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }));
        let finish = match self.finish_reason.as_deref() {
            Some("stop") if self.has_refused => ModelFinish::Refused,
            Some("stop") if calls => ModelFinish::ToolUse,
            Some("stop") => ModelFinish::End,
            Some("tool_calls" | "function_call") => ModelFinish::ToolUse,
            Some("length") => ModelFinish::MaxTokens,
            Some("content_filter") => ModelFinish::Refused,
            _ => ModelFinish::Other,
        };
        let content = self.pieces.into_iter().zip(1_u32..).map(|(piece, nth)| match piece {
            Piece::Text(text) => ModelContent::Part(Part::text(text)),
            Piece::Thinking(text) => ModelContent::Thinking(maker.sign(json!({ "reasoning_content": text }))),
            Piece::Call { id, name, written, .. } => ModelContent::ToolUse {
                id: id.unwrap_or_else(|| format!("call_{start}_{nth}")),
                name,
                input: input(written),
            },
        });
        let usage = self.usage.filter(|_| self.is_counted || self.is_over);
        Answer { model: self.model, content: content.collect(), finish, usage }
    }
}

/// Text is a string, or, with some, pieces of it.
fn said(content: &Value) -> Vec<&str> {
    let pieces = content.as_array().into_iter().flatten().filter_map(|piece| piece["text"].as_str());
    content.as_str().into_iter().chain(pieces).filter(|text| !text.is_empty()).collect()
}

/// What OpenAI counts as input holds what came from its cache.
fn usage(counts: &Value) -> Option<Usage> {
    let (input, output) = (counts["prompt_tokens"].as_u64()?, counts["completion_tokens"].as_u64()?);
    let details = &counts["prompt_tokens_details"];
    let read = details["cached_tokens"].as_u64().or_else(|| counts["prompt_cache_hit_tokens"].as_u64());
    let read = read.unwrap_or_default().min(input);
    let write = details["cache_write_tokens"].as_u64().unwrap_or_default().min(input - read);
    Some(Usage {
        input_tokens: input - read - write,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
    })
}
