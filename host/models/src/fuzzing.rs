//! What must hold of whatever a provider sends: the door of fuzzers to what only this folder knows.

use rewake_core::fact::{Fact, ModelCompleted, ModelContent, ModelOutcome};
use rewake_core::limits::PAYLOAD_BYTES_MAX;
use rewake_core::money::Usd;
use rewake_wire::Part;
use serde_json::Value;

use super::fault::Faults;
use super::request::Maker;
use super::spec::{Protocol, Spec};
use super::sse::{Parser, TooLong};
use super::stream::{Answer, events_of, reader};
use super::{Attempt, Delta};
use rewake_egress::{ModelAddress, Scrubber};
use rewake_policy::config::KeySource;

/// Bytes of a text that is looked through for a key in every way in which it can be written.
const SCRUBBED_BYTES_MAX: usize = 16 << 10;
/// A key that nothing may show.
const KEY: &str = "sk-canary-7f3a9b";

/// Ends of lines that a stream of events may have.
const ENDS: [&str; 3] = ["\n\n", "\r\n\r\n", "\r\r"];

/// A stream of events, cut anywhere, is the same events; and the events of an answer, streamed or whole, are read. The
/// first line names the protocol, each later one is the data of an event.
pub fn stream(text: &str) {
    let whole = parsed(text, text.len());
    assert!([1, 7].iter().all(|size| parsed(text, *size) == whole), "cut or whole it is the same");
    let (protocol, frames) = text.split_once('\n').unwrap_or((text, ""));
    let protocol = if protocol.starts_with('a') { Protocol::Anthropic } else { Protocol::OpenAi };
    let frames: Vec<String> = frames.lines().map(|line| line.replace('\r', " ")).collect();
    let sent = frames.iter().zip(ENDS.iter().cycle()).map(|(frame, end)| format!("data:{frame}{end}"));
    let Ok(events) = parsed(&sent.collect::<String>(), 5) else { return };
    let written = frames.iter().map(|frame| frame.trim()).filter(|frame| !frame.is_empty());
    assert_eq!(events, written.collect::<Vec<_>>(), "what is sent arrives");
    for event in &events {
        let whole = serde_json::from_str(event).ok().and_then(|answer| events_of(protocol, answer));
        if let Some(whole) = whole {
            answer(protocol, &whole.iter().map(Value::to_string).collect::<Vec<_>>());
        }
    }
    answer(protocol, &events);
}

/// Parses in pieces of so many bytes.
fn parsed(text: &str, size: usize) -> Result<Vec<String>, TooLong> {
    let (mut parser, mut events) = (Parser::default(), Vec::new());
    for piece in text.as_bytes().chunks(size.max(1)) {
        parser.push(piece, &mut events)?;
    }
    parser.finish(&mut events)?;
    Ok(events)
}

/// An answer is what was shown of it, and fits into an entry; what is none is told in bounded words.
fn answer(protocol: Protocol, events: &[String]) {
    let spec = spec(protocol);
    let scrubber = Scrubber::default();
    let faults = Faults { spec: &spec, scrubber: &scrubber };
    let mut reader = reader(protocol);
    let mut pieces = Vec::new();
    for event in events {
        match reader.take(event) {
            Ok(more) => pieces.extend(more),
            Err(trouble) => return told(faults.trouble(trouble, reader.has_begun())),
        }
        if reader.is_over() {
            assert!(reader.is_whole(), "what is over is whole");
            break;
        }
    }
    if reader.is_whole() {
        let answer = reader.answer(&Maker::of(&spec), 7);
        is_what_was_shown(&answer, &pieces);
        fits(answer);
    }
}

/// All text that was shown is in the answer, and the other way round; so are the names of tools.
fn is_what_was_shown(answer: &Answer, pieces: &[Delta]) {
    let shown = |is: fn(&Delta) -> Option<&str>| pieces.iter().filter_map(is).map(str::len).sum::<usize>();
    let text = shown(|piece| match piece {
        Delta::Text(text) => Some(text),
        _ => None,
    });
    let said = answer.content.iter().map(|content| match content {
        ModelContent::Part(Part::Text { text }) => text.len(),
        _ => 0,
    });
    assert_eq!(said.sum::<usize>(), text, "{answer:?} after {pieces:?}");
    let named = pieces.iter().filter(|piece| matches!(piece, Delta::ToolUse(_))).count();
    let used =
        answer.content.iter().filter(|content| matches!(content, ModelContent::ToolUse { .. })).count();
    assert!(named <= used, "{answer:?} after {pieces:?}");
    for content in &answer.content {
        if let ModelContent::ToolUse { id, input, .. } = content {
            assert!(!id.is_empty() && !input.trim().is_empty(), "{answer:?}");
        }
        if let ModelContent::Thinking(signed) = content {
            serde_json::from_str::<Value>(signed).expect("reasoning is kept as JSON");
        }
    }
}

fn fits(answer: Answer) {
    let outcome = ModelOutcome::Completion {
        model: answer.model.unwrap_or_default().chars().take(256).collect(),
        content: answer.content,
        finish: answer.finish,
        usage: answer.usage.unwrap_or_default(),
        context_tokens: None,
    };
    let fact = Fact::from(ModelCompleted { start: 1, outcome, cost: Usd::ZERO, ms: 0 });
    let payload = fact.encode();
    assert!(payload.len() <= PAYLOAD_BYTES_MAX, "{} bytes are to be recorded", payload.len());
    assert_eq!(Fact::decode(fact.kind(), fact.version(), &payload), Ok(fact), "it is read as it was written");
}

fn told(attempt: Attempt) {
    let why = match attempt {
        Attempt::Again { why, .. } => why,
        Attempt::Ended { outcome: ModelOutcome::Rejected(why) | ModelOutcome::TooLarge(why), .. } => why,
        other => panic!("no answer, and {other:?}"),
    };
    assert!(!why.is_empty() && why.len() < 16 << 10, "{} bytes", why.len());
    assert!(!why.chars().any(char::is_control), "{why:?}");
}

/// Text that comes in pieces, one a line, from somebody who repeats a key; nothing of it is shown, however it is
/// dressed or cut.
pub fn scrubbed(text: &str) {
    let text = &text[..text.floor_char_boundary(SCRUBBED_BYTES_MAX)];
    let mut scrubber = Scrubber::default();
    scrubber.learn(KEY);
    let whole: String = text.lines().collect();
    let clean = scrubber.scrub_text(&whole);
    assert!(!scrubber.finds(clean.as_bytes()), "a key is left in {clean:?}");
    assert!(!clean.contains(KEY));
    let (mut held, mut shown) = (String::new(), String::new());
    for piece in text.lines() {
        held.push_str(piece);
        let mut settled = scrubber.settled(held.as_bytes());
        while !held.is_char_boundary(settled) {
            settled -= 1;
        }
        let rest = held.split_off(settled);
        shown += &scrubber.scrub_text(&held);
        held = rest;
    }
    shown += &scrubber.scrub_text(&held);
    assert_eq!(shown, clean, "cut or whole it is the same");
}

/// Some model of a protocol.
pub(super) fn spec(protocol: Protocol) -> Spec {
    Spec {
        protocol,
        model: "m-1".into(),
        address: ModelAddress::parse("https://api.example.com/v1").expect("it is a URL"),
        key: Some(KeySource::Env("SOME_KEY".into())),
        timeout: std::time::Duration::from_secs(60),
        idle_timeout: None,
        thinking: None,
        options: Vec::new(),
        cache: true,
        place: "[models.fast]".into(),
    }
}

#[cfg(test)]
mod tests {
    use rewake_untrusted::Samples;

    use super::*;

    #[test]
    fn answers_of_models() {
        Samples::corpus("stream")
            .words(&["\"index\":0", "[DONE]", "\"type\":"])
            .check_json_lines(1_500, stream);
    }

    #[test]
    fn keys_in_answers() {
        Samples::corpus("scrubbed")
            .words(&["sk-canary-7f3a9b", "sk-can", "ary-7f3a9b", "%73", "&#115;", "\\u0073"])
            .check_text(200, scrubbed);
    }
}
