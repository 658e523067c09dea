//! The frames of Anthropic's messages: `message_start`, blocks with their deltas, `message_delta`, `message_stop`.

use rewake_core::fact::{ModelContent, ModelFinish};
use rewake_wire::{Part, Usage};
use serde_json::Value;

use super::{Answer, BLOCKS_MAX, Reader, Room, Trouble, input, json, malformed};
use crate::Delta;
use crate::request::Maker;

/// What has come so far.
#[derive(Default)]
pub(super) struct Frames {
    room: Room,
    has_begun: bool,
    is_over: bool,
    model: Option<String>,
    stop_reason: Option<String>,
    blocks: Vec<(u64, Block)>,
    counts: Counts,
}

enum Block {
    Text(String),
    /// As it came, with what its deltas added.
    Thinking(Value),
    ToolUse {
        id: String,
        name: String,
        begun: Value,
        written: String,
    },
    /// Of a kind that nobody asked for.
    Other,
}

/// The newest of each count.
#[derive(Default)]
struct Counts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    /// Of the whole answer: what the first event says of it is no count.
    output: Option<u64>,
}

impl Frames {
    fn start(&mut self, data: &Value) -> Result<Vec<Delta>, Trouble> {
        let index = index(data)?;
        let block = &data["content_block"];
        if self.blocks.len() >= BLOCKS_MAX || self.blocks.iter().any(|(other, _)| *other == index) {
            return Err(malformed(format!("block {index} begins twice, or is one of too many")));
        }
        self.room.take(&block.to_string())?;
        let mut deltas = Vec::new();
        let block = match block["type"].as_str() {
            Some("text") => {
                let text = block["text"].as_str().unwrap_or_default().to_owned();
                deltas.extend((!text.is_empty()).then(|| Delta::Text(text.clone())));
                Block::Text(text)
            }
            Some("thinking" | "redacted_thinking") => {
                let text = block["thinking"].as_str().unwrap_or_default();
                deltas.extend((!text.is_empty()).then(|| Delta::Thinking(text.to_owned())));
                Block::Thinking(block.clone())
            }
            Some("tool_use") => {
                let text = |key: &str| block[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                let (Some(id), Some(name)) = (text("id"), text("name")) else {
                    return Err(malformed("a tool use has no id, or no name"));
                };
                deltas.push(Delta::ToolUse(name.clone()));
                Block::ToolUse { id, name, begun: block["input"].clone(), written: String::new() }
            }
            _ => Block::Other,
        };
        self.blocks.push((index, block));
        Ok(deltas)
    }

    fn delta(&mut self, data: &Value) -> Result<Vec<Delta>, Trouble> {
        let index = index(data)?;
        let delta = &data["delta"];
        let key = match delta["type"].as_str() {
            Some("text_delta") => "text",
            Some("input_json_delta") => "partial_json",
            Some("thinking_delta") => "thinking",
            Some("signature_delta") => "signature",
            _ => return Ok(Vec::new()),
        };
        let piece = delta[key].as_str().unwrap_or_default();
        self.room.take(piece)?;
        let block = self.blocks.iter_mut().find(|(other, _)| *other == index);
        let Some((_, block)) = block else {
            return Err(malformed(format!("a piece of block {index}, which has not begun")));
        };
        let mut deltas = Vec::new();
        match (block, key) {
            (Block::Text(whole), "text") => {
                whole.push_str(piece);
                deltas.push(Delta::Text(piece.to_owned()));
            }
            (Block::ToolUse { written, .. }, "partial_json") => written.push_str(piece),
            (Block::Thinking(block), "thinking") => {
                append(block, key, piece);
                deltas.push(Delta::Thinking(piece.to_owned()));
            }
            (Block::Thinking(block), "signature") => append(block, key, piece),
            _ => {}
        }
        Ok(deltas)
    }

    fn count(&mut self, usage: &Value, is_last: bool) {
        let newest = |old: &mut Option<u64>, key: &str| *old = usage[key].as_u64().or(*old);
        newest(&mut self.counts.input, "input_tokens");
        newest(&mut self.counts.cache_read, "cache_read_input_tokens");
        newest(&mut self.counts.cache_write, "cache_creation_input_tokens");
        if is_last {
            newest(&mut self.counts.output, "output_tokens");
        }
    }
}

impl Reader for Frames {
    fn take(&mut self, data: &str) -> Result<Vec<Delta>, Trouble> {
        let data = json(data)?;
        match data["type"].as_str() {
            Some("message_start") => {
                self.has_begun = true;
                self.model = data["message"]["model"].as_str().map(str::to_owned);
                self.count(&data["message"]["usage"], false);
                Ok(Vec::new())
            }
            Some("content_block_start") => self.start(&data),
            Some("content_block_delta") => self.delta(&data),
            Some("message_delta") => {
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.count(&data["usage"], true);
                Ok(Vec::new())
            }
            Some("message_stop") => {
                self.is_over = self.has_begun;
                if self.is_over { Ok(Vec::new()) } else { Err(malformed("it ends before it begins")) }
            }
            Some("error") => Err(Trouble::Said(data["error"].clone())),
            // Pings, the ends of blocks, and what later versions of the protocol add.
            Some(_) => Ok(Vec::new()),
            None => match data.get("error") {
                Some(error) => Err(Trouble::Said(error.clone())),
                None => Err(malformed("an event has no type")),
            },
        }
    }

    fn has_begun(&self) -> bool {
        self.has_begun
    }

    fn is_whole(&self) -> bool {
        self.is_over
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn answer(self: Box<Self>, maker: &Maker, _start: u64) -> Answer {
        let finish = match self.stop_reason.as_deref() {
            Some("end_turn" | "stop_sequence") => ModelFinish::End,
            Some("tool_use") => ModelFinish::ToolUse,
            Some("max_tokens" | "model_context_window_exceeded") => ModelFinish::MaxTokens,
            Some("refusal") => ModelFinish::Refused,
            _ => ModelFinish::Other,
        };
        let content = self.blocks.into_iter().filter_map(|(_, block)| match block {
            Block::Text(text) if text.is_empty() => None,
            Block::Text(text) => Some(ModelContent::Part(Part::text(text))),
            Block::Thinking(block) => Some(ModelContent::Thinking(maker.sign(block))),
            Block::ToolUse { id, name, begun, written } => {
                let written =
                    if written.is_empty() && begun.is_object() { begun.to_string() } else { written };
                Some(ModelContent::ToolUse { id, name, input: input(written) })
            }
            Block::Other => None,
        });
        let Counts { input, cache_read, cache_write, output } = self.counts;
        let usage = input.zip(output).map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            cache_read_tokens: cache_read.unwrap_or_default(),
            cache_write_tokens: cache_write.unwrap_or_default(),
        });
        Answer { model: self.model, content: content.collect(), finish, usage }
    }
}

fn index(data: &Value) -> Result<u64, Trouble> {
    data["index"].as_u64().ok_or_else(|| malformed("a block has no index"))
}

fn append(block: &mut Value, key: &str, piece: &str) {
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => block[key] = piece.into(),
    }
}
