//! Shortening the conversation when the model's context is nearly full.
//!
//! Knows where a conversation can be cut (never between a use and its result), what must not be
//! forgotten, and what is journaled of it. The entries that were replaced stay in the journal. Does
//! not change the context: the fold of the journaled entry does, here as after a crash.

use rewake_sdk::{
    model::{Content, ModelError, Role},
    part::text_of,
    prelude::*,
};
use serde::{Deserialize, Serialize};

use crate::{
    Config,
    context::{Context, Item},
    words,
};

/// The entry that stands before the call that summarises: its answer is no part of the conversation.
pub(crate) const COMPACTING: &str = "custom.context.compacting";
/// The entry that says what was replaced, and by what.
pub(crate) const COMPACTED: &str = "custom.context.compacted";

/// The conversation is shortened when it takes so much of what the model has room for.
const FULL_PERCENT: u64 = 80;
/// Bytes of a conversation that is shortened whatever the model has room for: its state must be kept.
const WINDOW_BYTES_MAX: usize = 4 << 20;
/// Answers between two times, unless the model refuses the request as too large.
const ANSWERS_BETWEEN: u32 = 3;
/// Text that is shortened in what is kept has at least so many bytes left.
const TEXT_BYTES_MIN: usize = 2_000;
/// Tokens of a summary.
const SUMMARY_TOKENS_MAX: u32 = 8_192;
/// Characters of a summary that are kept.
const SUMMARY_CHARS_MAX: usize = 40_000;
/// Bytes that are given to be summarised, where the model's room is not known.
const GIVEN_BYTES_MAX: usize = 200_000;
/// Characters of one tool's input, of one result and of one message in that.
const INPUT_CHARS_MAX: usize = 600;
const RESULT_CHARS_MAX: usize = 1_500;
const TEXT_CHARS_MAX: usize = 6_000;
/// The tool whose newest result is kept: the plan.
const PLAN: &str = "update_plan";

/// How a summary is asked for.
const PROMPT: &str = include_str!("../compact.md");

/// What was replaced, as it is journaled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Compacted {
    /// The first entry whose messages were replaced.
    pub(crate) from_seq: u32,
    /// The last one.
    pub(crate) to_seq: u32,
    /// Messages that were replaced.
    pub(crate) messages: u32,
    /// Tokens that the request would have had, about.
    pub(crate) tokens_before: u64,
    /// The summary; none: there is none, and the messages are dropped.
    pub(crate) summary: Option<String>,
    /// The message that opened the session.
    pub(crate) first: Option<String>,
    /// The message that opened the turn which was cut.
    pub(crate) task: Option<String>,
    /// The plan as it was last.
    pub(crate) plan: Option<String>,
    /// Each longer text in what is kept was shortened to so many bytes.
    pub(crate) texts_bytes_max: Option<usize>,
}

/// What is about to be replaced.
#[derive(Serialize)]
struct Replaces {
    from_seq: u32,
    to_seq: u32,
}

/// What to do about a conversation that has no room.
#[derive(Debug)]
pub(crate) enum Due {
    /// Nothing: it has.
    Nothing,
    /// Shorten it so.
    Shorten(Compacted),
    /// It cannot be made shorter.
    TooLarge,
}

/// Whether the conversation is to be shortened before the model is asked.
pub(crate) fn due(context: &Context, config: &Config) -> Due {
    let limit = room(context, config);
    if context.last.too_large {
        if context.last.untried {
            return Due::TooLarge;
        }
        return plan(context, limit).map_or(Due::TooLarge, Due::Shorten);
    }
    let is_full = limit.is_some_and(|limit| context.tokens() >= limit.saturating_mul(FULL_PERCENT) / 100)
        || context.bytes() > WINDOW_BYTES_MAX;
    let is_early = context.meter.since.is_some_and(|since| since < ANSWERS_BETWEEN);
    if !is_full || is_early {
        return Due::Nothing;
    }
    plan(context, limit).map_or(Due::Nothing, Due::Shorten)
}

/// Tokens that the model has room for.
fn room(context: &Context, config: &Config) -> Option<u64> {
    let known = context.meter.context_tokens.into_iter().chain(config.context_tokens);
    known.filter(|tokens| *tokens > 0).min()
}

/// Journals the replacement, by a summary that the model is asked for.
///
/// # Errors
/// The host would not take the entry, or the model cannot be asked for anything now: then nothing is replaced, and
/// the next turn tries again.
pub(crate) fn run(context: &Context, plan: Compacted, config: &Config, cx: &Session) -> Result<(), Failure> {
    let replaces = Replaces { from_seq: plan.from_seq, to_seq: plan.to_seq };
    cx.emit(COMPACTING, &replaces)?;
    let mut plan = plan;
    if plan.messages > 0 {
        cx.set_activity("summarising the conversation so far");
        let bytes_max = room(context, config).map_or(GIVEN_BYTES_MAX, |tokens| {
            usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(2).min(WINDOW_BYTES_MAX)
        });
        let request = Request {
            system: Some(PROMPT.to_owned()),
            messages: vec![Message::user(given(context, plan.to_seq, bytes_max))],
            max_tokens: Some(SUMMARY_TOKENS_MAX),
            ..Request::default()
        };
        match cx.model(request) {
            Ok(completion) => {
                let text = words::cut(completion.text().trim(), SUMMARY_CHARS_MAX);
                plan.summary = (!text.is_empty()).then_some(text);
            }
            Err(error @ (ModelError::Budget(_) | ModelError::Unavailable(_))) => {
                return Err(crate::not_asked(error, context, cx));
            }
            Err(error) => cx.log(Level::Warn, format!("there is no summary: {error}")),
        }
    }
    cx.emit(COMPACTED, &plan)?;
    Ok(())
}

/// Where to cut, and what to keep; none: nothing would be won.
fn plan(context: &Context, limit: Option<u64>) -> Option<Compacted> {
    let window = &context.window;
    // Bytes from each message to the end.
    let mut rest: Vec<usize> = window.iter().map(|item| bytes(&item.message)).collect();
    for at in (1..rest.len()).rev() {
        rest[at - 1] += rest[at];
    }
    let total = rest.first().copied().unwrap_or_default();
    // A quarter of the room, at four bytes a token; never more than half of what is there.
    let keep = limit.map_or(total / 4, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX)).min(total / 2);
    let rest = |at: usize| rest.get(at).copied().unwrap_or_default();
    let cuts: Vec<usize> = (1..window.len()).filter(|at| is_cut(&window[*at])).collect();
    let fits = cuts.iter().copied().find(|at| rest(*at) <= keep);
    let whole_turn = |at: &usize| window[*at].asked.is_some() && rest(*at) >= keep / 2;
    let mut cut = fits
        .map(|first| cuts.iter().copied().find(|at| *at >= first && whole_turn(at)).unwrap_or(first))
        .or(cuts.last().copied())
        .unwrap_or(0);
    if total - rest(cut) < total / 8 {
        cut = 0;
    }
    let texts_bytes_max = (rest(cut) > keep).then(|| shortest(&window[cut..], keep)).flatten();
    if cut == 0 && texts_bytes_max.is_none() {
        return None;
    }
    let old = context.compacted.as_ref();
    let (replaced, kept) = window.split_at(cut);
    let opened = |items: &[Item]| items.iter().filter_map(|item| item.asked.clone()).next_back();
    let first =
        old.and_then(|old| old.first.clone()).or_else(|| replaced.iter().find_map(|item| item.asked.clone()));
    let is_cut_turn = kept.iter().all(|item| item.asked.is_none());
    let task = opened(replaced).or_else(|| old.and_then(|old| old.task.clone()));
    let plan = newest_plan(replaced).or_else(|| old.and_then(|old| old.plan.clone()));
    Some(Compacted {
        from_seq: old.map(|old| old.from_seq).or(replaced.first().map(|item| item.seq)).unwrap_or_default(),
        to_seq: if cut == 0 { 0 } else { window[cut].seq - 1 },
        messages: u32::try_from(cut).unwrap_or(u32::MAX),
        tokens_before: context.tokens(),
        summary: None,
        task: task.filter(|task| is_cut_turn && Some(task) != first.as_ref()),
        first,
        plan: plan.filter(|_| newest_plan(kept).is_none()),
        texts_bytes_max,
    })
}

/// Whether the conversation may begin with this message: no result of an earlier use is in it.
fn is_cut(item: &Item) -> bool {
    let is_result = |content: &Content| matches!(content, Content::ToolResult(_));
    item.message.role == Role::Assistant || !item.message.content.iter().any(is_result)
}

/// How short long texts must be so that all fit; none: no text is long.
fn shortest(items: &[Item], keep: usize) -> Option<usize> {
    let longest = items.iter().flat_map(|item| &item.message.content).map(longest_text).max()?;
    let mut bytes_max = longest / 2;
    while bytes_max > TEXT_BYTES_MIN {
        let shortened = |item: &Item| {
            let mut message = item.message.clone();
            shorten(&mut message, bytes_max);
            bytes(&message)
        };
        if items.iter().map(shortened).sum::<usize>() <= keep {
            break;
        }
        bytes_max /= 2;
    }
    (longest > TEXT_BYTES_MIN).then_some(bytes_max.max(TEXT_BYTES_MIN))
}

fn longest_text(content: &Content) -> usize {
    let parts = match content {
        Content::Part(part) => std::slice::from_ref(part),
        Content::ToolResult(result) => &result.parts,
        Content::ToolUse(one) => return one.input.as_str().len(),
        Content::Thinking(_) => return 0,
    };
    parts.iter().map(part_bytes).max().unwrap_or(0)
}

/// Shortens every text of a message that is longer.
pub(crate) fn shorten(message: &mut Message, bytes_max: usize) {
    for content in &mut message.content {
        let parts = match content {
            Content::Part(part) => std::slice::from_mut(part),
            Content::ToolResult(result) => &mut result.parts,
            Content::ToolUse(one) => {
                if one.input.as_str().len() > bytes_max {
                    one.input = words::left_out_input(one.input.as_str().len());
                }
                continue;
            }
            // A provider takes its own thoughts back whole or not at all.
            Content::Thinking(_) => continue,
        };
        for part in parts.iter_mut().filter(|part| part_bytes(part) > bytes_max) {
            *part = Part::text(match part.as_text() {
                Some(text) => words::middle_left_out(text, bytes_max),
                None => words::bytes_left_out(part_bytes(part)),
            });
        }
    }
}

/// Bytes of a message, about.
pub(crate) fn bytes(message: &Message) -> usize {
    let of = |content: &Content| match content {
        Content::Part(part) => part_bytes(part),
        Content::Thinking(json) => json.as_str().len(),
        Content::ToolUse(one) => one.name.len() + one.input.as_str().len(),
        Content::ToolResult(result) => result.parts.iter().map(part_bytes).sum(),
    };
    message.content.iter().map(|content| of(content) + 32).sum()
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Blob { data, .. } => data.len(),
        part => part.as_text().map_or(0, str::len),
    }
}

/// The newest result of the tool that keeps the plan.
fn newest_plan(items: &[Item]) -> Option<String> {
    let contents = || items.iter().flat_map(|item| &item.message.content);
    let is_plan = |id: &str| {
        contents().any(|content| matches!(content, Content::ToolUse(one) if one.id == id && one.name == PLAN))
    };
    let results = contents().filter_map(|content| match content {
        Content::ToolResult(result) if result.outcome == Outcome::Ok => Some(result),
        _ => None,
    });
    let newest = results.rev().find(|result| is_plan(&result.id))?;
    Some(words::cut(&text_of(&newest.parts), TEXT_CHARS_MAX))
}

/// What is to be summarised, as text: the older part, with each piece cut to what a summary needs.
fn given(context: &Context, to_seq: u32, bytes_max: usize) -> String {
    let mut text = String::new();
    if let Some(before) = &context.compacted {
        text.push_str(&words::of_compacted(before));
        text.push('\n');
    }
    for item in context.window.iter().filter(|item| item.seq <= to_seq) {
        for content in &item.message.content {
            text.push_str(&line(item.message.role, content));
            text.push('\n');
        }
    }
    words::middle_left_out(&text, bytes_max)
}

fn line(role: Role, content: &Content) -> String {
    match content {
        Content::Part(part) => {
            let who = if role == Role::User { "people" } else { "you" };
            format!("{who}: {}", words::cut(part.as_text().unwrap_or("[bytes]"), TEXT_CHARS_MAX))
        }
        Content::Thinking(_) => String::new(),
        Content::ToolUse(one) => {
            format!("you call {}: {}", one.name, words::cut(one.input.as_str(), INPUT_CHARS_MAX))
        }
        Content::ToolResult(result) => {
            let text = words::cut(&text_of(&result.parts), RESULT_CHARS_MAX);
            format!("result ({}): {text}", result.outcome)
        }
    }
}
