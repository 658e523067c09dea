//! Words for what sessions consist of, as pieces of sentences. Text of others is in them as it is.

use rewake_core::fact::{Lost, Question, ToolCompleted, WaitOn};
use rewake_core::money::Usd;
use rewake_wire::{Outcome, Part, Sender, Usage};

/// Content as text; a blob is named, with its size.
pub fn parts(parts: &[Part]) -> String {
    parts_with(parts, bytes)
}

/// Content as text, with sizes as the caller writes them.
pub fn parts_with(parts: &[Part], size_of: fn(u64) -> String) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text { text } => text.clone(),
        Part::Json { json } => json.clone(),
        Part::Blob { media_type, data } => format!("[{media_type}, {}]", size_of(data.0.len() as u64)),
        Part::BlobRef { media_type, size, .. } => format!("[{media_type}, {}]", size_of(u64::from(*size))),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Who sent something.
pub fn sender(sender: &Sender) -> String {
    match sender {
        Sender::Operator(name) => name.clone(),
        Sender::Agent(session) => format!("session {session}"),
        Sender::Trigger(name) => format!("trigger {name}"),
        Sender::System => "the host".to_owned(),
    }
}

/// Tokens, as far as there are any.
pub fn usage(usage: &Usage) -> String {
    let mut text = format!("{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
    if usage.cache_read_tokens > 0 || usage.cache_write_tokens > 0 {
        text.push_str(&format!(
            " (cache: {} read, {} written)",
            usage.cache_read_tokens, usage.cache_write_tokens
        ));
    }
    text
}

/// Tokens, and what they cost if that is anything.
pub(crate) fn usage_and_cost(tokens: &Usage, cost: Usd) -> String {
    let tokens = usage(tokens);
    if cost.is_zero() { tokens } else { format!("{tokens}, {cost}") }
}

/// Why the end of a call is not known.
pub fn lost(why: Lost) -> &'static str {
    match why {
        Lost::Host => "the host died while it ran",
        Lost::Interrupted => "the turn ended while it ran",
        Lost::Limit => "it was tried too often",
    }
}

/// What is said of a tool of which it is not known how it ended.
pub fn tool_lost(name: &str, why: Lost) -> String {
    format!("{name}: unknown whether it did it: {}. It was not repeated", lost(why))
}

/// What a turn waits for.
pub fn wait(on: &WaitOn) -> String {
    match on {
        WaitOn::Answers(ids) if ids.len() == 1 => "an answer".to_owned(),
        WaitOn::Answers(ids) => format!("{} answers", ids.len()),
        WaitOn::Time { until: Some(until), on_message: true } => format!("a message, until {until}"),
        WaitOn::Time { until: Some(until), on_message: false } => format!("{until}"),
        WaitOn::Time { until: None, on_message: true } => "a message".to_owned(),
        WaitOn::Time { until: None, on_message: false } => "nothing that can come".to_owned(),
    }
}

/// A question with its choices.
pub fn question(asked: &Question) -> String {
    let mut text = format!("[{}] {}", asked.id, asked.text);
    if !asked.choices.is_empty() {
        text.push_str(&format!(" ({})", asked.choices.join(" | ")));
    }
    text
}

/// A mark for how a tool ended, and how that was, in words.
pub fn outcome(body: &ToolCompleted) -> (&'static str, String) {
    match body.outcome {
        Outcome::Ok if body.cut_bytes > 0 => {
            ("✓", format!("{} ms, {} of its output cut", body.ms, bytes(body.cut_bytes)))
        }
        Outcome::Ok => ("✓", format!("{} ms", body.ms)),
        Outcome::Error => ("✗", "error".to_owned()),
        Outcome::Denied => ("⊘", "denied".to_owned()),
        Outcome::TimedOut => ("✗", format!("timed out after {} ms", body.ms)),
        Outcome::Unknown => ("✗", "unknown whether it did it".to_owned()),
    }
}

/// How a tool ended, in a word or two.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Error => "error",
        Outcome::Denied => "denied",
        Outcome::TimedOut => "timed out",
        Outcome::Unknown => "unknown",
    }
}

/// A size that people can read.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    if bytes < 1024 {
        return if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// A number of things.
pub fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

#[cfg(test)]
mod tests {
    use rewake_core::ids::Timestamp;

    use super::*;

    #[test]
    fn sizes_and_counts_are_words() {
        assert_eq!(
            [bytes(1), bytes(1023), bytes(1536), bytes(5 << 30), bytes(1 << 50)],
            ["1 byte", "1023 bytes", "1.5 KiB", "5.0 GiB", "1048576.0 GiB"]
        );
        assert_eq!([count(1, "step", "steps"), count(0, "step", "steps")], ["1 step", "0 steps"]);
    }

    #[test]
    fn costs_are_told_where_there_are_any() {
        let tokens = Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() };
        assert_eq!(usage_and_cost(&tokens, Usd::ZERO), "10 tokens in, 3 out");
        assert_eq!(usage_and_cost(&tokens, "0.0105".parse().unwrap()), "10 tokens in, 3 out, $0.0105");
    }

    #[test]
    fn what_is_waited_for_is_said() {
        let time = |until: Option<i64>, on_message| WaitOn::Time { until: until.map(Timestamp), on_message };
        assert_eq!(wait(&WaitOn::Answers(vec!["q".into()])), "an answer");
        assert_eq!(wait(&WaitOn::Answers(vec!["q".into(), "r".into()])), "2 answers");
        assert_eq!(wait(&time(Some(0), false)), "1970-01-01T00:00:00.000Z");
        assert_eq!(wait(&time(None, true)), "a message");
    }
}
