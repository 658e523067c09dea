//! Uses of tools, a row each: what was asked for, and in its place how it ended. Rows stay in the order in which
//! they were asked for, however the uses end.

use std::collections::VecDeque;
use std::time::Instant;

use rewake_core::entry::Place;
use rewake_core::fact::{Lost, RequestedUse, ToolCompleted};
use rewake_text::one_line;
use rewake_wire::Outcome;
use serde_json::Value;

use super::row::{Ink, Look, Row, hang, set_in, wrap};
use crate::describe;

/// Characters of a tool's name and of each argument in its row.
const WORD_CHARS_MAX: usize = 60;
/// Arguments that are named in a row.
const WORDS_MAX: usize = 2;
/// Characters and lines of a reason, an input or an output that are shown.
const DETAIL_CHARS_MAX: usize = 4_000;
const DETAIL_LINES_MAX: usize = 60;
/// Arguments that say best what a use is about, the best first.
const TELLING: [&str; 8] = ["pattern", "query", "command", "url", "path", "file", "from", "to"];

/// The uses whose rows can still change.
#[derive(Debug)]
pub(super) struct Tools {
    uses: VecDeque<Use>,
    /// Inputs and outputs are shown too.
    is_unfolded: bool,
}

#[derive(Debug)]
struct Use {
    place: Place,
    /// Its name and what it is about.
    what: String,
    input: String,
    since: Option<Instant>,
    notes: Vec<Row>,
    /// They say why it is denied.
    is_denial_told: bool,
    end: Option<Vec<Row>>,
}

impl Tools {
    pub(super) fn new(is_unfolded: bool) -> Tools {
        Tools { uses: VecDeque::new(), is_unfolded }
    }

    /// A harness asks for one, at a place.
    pub(super) fn requested(&mut self, place: Place, one: &RequestedUse) {
        let what = format!("{} {}", one_line(&one.name, WORD_CHARS_MAX), about(&one.input));
        self.uses.push_back(Use {
            place,
            what: what.trim_end().to_owned(),
            input: one.input.clone(),
            since: None,
            notes: Vec::new(),
            is_denial_told: false,
            end: None,
        });
    }

    pub(super) fn started(&mut self, place: Place, now: Instant) {
        if let Some(one) = self.find(place) {
            one.since = Some(now);
        }
    }

    /// Adds what a hook says of a use, which may be why it is denied; false if it is none of these.
    pub(super) fn note(&mut self, place: Place, rows: Vec<Row>, is_denial: bool) -> bool {
        let Some(one) = self.find(place) else { return false };
        one.notes.extend(rows);
        one.is_denial_told |= is_denial;
        true
    }

    /// A use has ended.
    pub(super) fn completed(&mut self, place: Place, body: &ToolCompleted, columns: usize) {
        let is_unfolded = self.is_unfolded;
        let Some(one) = self.find(place) else { return };
        let mut rows = one.ended(body, columns);
        if is_unfolded {
            let head = Row::new(Look::DIM, "  input: ");
            rows.extend(wrap(&Row::new(Look::DIM, &detail(&one.input)), &head, columns));
            if body.outcome == Outcome::Ok {
                rows.extend(set_in(Look::DIM, &detail(&describe::parts(&body.parts)), columns));
            }
        }
        one.end = Some(rows);
    }

    /// It is not known how a use ended.
    pub(super) fn lost(&mut self, place: Place, why: Lost, columns: usize) {
        if let Some(one) = self.find(place) {
            let line = format!("✗ {}", describe::tool_lost(&one.what, why));
            one.end = Some(hang(&Row::new(Look::ink(Ink::Bad), &line), columns));
        }
    }

    /// The rows of those that will not change any more; with `all`, those without an end too.
    pub(super) fn settled(&mut self, all: bool, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(one) = self.uses.pop_front_if(|one| all || one.end.is_some()) {
            let endless = || hang(&Row::new(Look::DIM, &format!("◌ {}: it has no end", one.what)), columns);
            rows.extend(one.end.unwrap_or_else(endless));
            rows.extend(one.notes);
        }
        rows
    }

    /// The rows of the others, as they are now.
    pub(super) fn rows(&self, now: Instant, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for one in &self.uses {
            match &one.end {
                Some(end) => rows.extend(end.iter().take(1).cloned()),
                None => rows.push(one.running(now, columns)),
            }
            rows.extend(one.notes.iter().cloned());
        }
        rows
    }

    fn find(&mut self, place: Place) -> Option<&mut Use> {
        self.uses.iter_mut().find(|one| one.place == place && one.end.is_none())
    }
}

impl Use {
    /// One row, since it changes every second. What it is about is cut, so that how long it takes is seen.
    fn running(&self, now: Instant, columns: usize) -> Row {
        let seconds = self.since.map_or(0, |since| now.saturating_duration_since(since).as_secs());
        let taken = if seconds > 0 { format!(" {seconds} s") } else { String::new() };
        let mut row = Row::new(Look::DIM, "→ ");
        row.push(Look::default(), &self.what);
        row.push(Look::DIM, " …");
        row = row.cut(columns.saturating_sub(taken.len()));
        row.push(Look::DIM, &taken);
        row
    }

    fn ended(&self, body: &ToolCompleted, columns: usize) -> Vec<Row> {
        let (mark, how) = describe::outcome(body);
        if body.outcome == Outcome::Ok {
            let mut row = Row::new(Look::ink(Ink::Good), &format!("{mark} "));
            row.push(Look::default(), &self.what);
            row.push(Look::DIM, &format!(" {how}"));
            return hang(&row, columns);
        }
        let why = detail(&describe::parts(&body.parts));
        let is_told = body.outcome == Outcome::Denied && self.is_denial_told;
        let mut lines = if is_told { "" } else { why.trim() }.lines();
        let first = lines.next().map_or_else(String::new, |line| format!(": {line}"));
        let line = Row::new(Look::ink(Ink::Bad), &format!("{mark} {}: {how}{first}", self.what));
        let mut rows = hang(&line, columns);
        let rest: Vec<&str> = lines.collect();
        rows.extend(set_in(Look::ink(Ink::Bad), &rest.join("\n"), columns));
        rows
    }
}

/// What a use is about, from its input: the arguments that say it best.
fn about(input: &str) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str(input) else {
        return one_line(input, WORD_CHARS_MAX);
    };
    let telling = TELLING.iter().filter_map(|name| arguments.get_key_value(*name));
    let others = arguments.iter().filter(|(name, _)| !TELLING.contains(&name.as_str()));
    let words = telling.chain(others).filter_map(|(name, value)| match value {
        Value::String(text) => {
            let text = one_line(text, WORD_CHARS_MAX);
            let is_plain = TELLING[3..].contains(&name.as_str()) && !text.is_empty() && !text.contains(' ');
            Some(if is_plain { text } else { format!("\"{text}\"") })
        }
        Value::Number(_) | Value::Bool(_) => Some(one_line(&format!("{name}={value}"), WORD_CHARS_MAX)),
        _ => None,
    });
    words.take(WORDS_MAX).collect::<Vec<_>>().join(" ")
}

/// A longer text within its bounds.
fn detail(text: &str) -> String {
    let chars: String = text.chars().take(DETAIL_CHARS_MAX).collect();
    let lines: Vec<&str> = chars.lines().take(DETAIL_LINES_MAX).collect();
    let shown = lines.join("\n");
    if shown.len() < text.trim_end().len() { format!("{shown} …") } else { shown }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rewake_core::ids::Digest;
    use rewake_wire::Part;

    use super::*;

    const PLACE: Place = Place { turn: 1, step: 1, ordinal: 2, index: 0 };

    fn requested(uses: &[(&str, &str)], is_unfolded: bool) -> Tools {
        let one = |(name, input): &(&str, &str)| RequestedUse {
            id: "u".into(),
            name: (*name).to_owned(),
            input: (*input).to_owned(),
            arguments: Digest::default(),
            hooks: vec![],
            after: vec![],
        };
        let mut tools = Tools::new(is_unfolded);
        for (index, asked) in (0..).zip(uses) {
            tools.requested(PLACE.at_index(index), &one(asked));
        }
        tools
    }

    fn completed(outcome: Outcome, text: &str) -> ToolCompleted {
        ToolCompleted { ms: 12, ..ToolCompleted::new(None, outcome, vec![Part::text(text)]) }
    }

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn a_row_becomes_its_outcome_in_the_order_asked_for() {
        let now = Instant::now();
        let mut tools =
            requested(&[("grep", r#"{"pattern":"foo","path":"src"}"#), ("read", r#"{"path":"a b"}"#)], false);
        tools.started(PLACE, now);
        tools.started(PLACE.at_index(1), now);
        assert_eq!(texts(&tools.rows(now, 80)), ["→ grep \"foo\" src …", "→ read \"a b\" …"]);
        let later = now + Duration::from_secs(3);
        assert_eq!(texts(&tools.rows(later, 80))[0], "→ grep \"foo\" src … 3 s");
        tools.completed(PLACE.at_index(1), &completed(Outcome::Ok, "out"), 80);
        assert!(tools.settled(false, 80).is_empty(), "the one before it runs");
        assert_eq!(texts(&tools.rows(now, 80)), ["→ grep \"foo\" src …", "✓ read \"a b\" 12 ms"]);
        tools.completed(PLACE, &completed(Outcome::Ok, "out"), 80);
        assert_eq!(texts(&tools.settled(false, 80)), ["✓ grep \"foo\" src 12 ms", "✓ read \"a b\" 12 ms"]);
        assert!(tools.rows(now, 80).is_empty());
    }

    #[test]
    fn how_long_a_use_takes_is_seen_however_long_its_name() {
        let now = Instant::now();
        let mut tools = requested(&[("words", r#"{"path":"a/b/c"}"#)], false);
        assert_eq!(texts(&tools.rows(now, 12)), ["→ words a/b…"]);
        tools.started(PLACE, now);
        assert_eq!(texts(&tools.rows(now + Duration::from_secs(70), 12)), ["→ word… 70 s"]);
    }

    #[test]
    fn what_went_wrong_is_shown_in_full() {
        let mut tools = requested(&[("a", "{}"), ("b", "[1]"), ("c", "{}"), ("d", "{}")], false);
        let why = format!("line one\nline \x1b[2Jtwo {}", "x".repeat(200));
        tools.completed(PLACE, &completed(Outcome::Error, &why), 300);
        tools.note(PLACE.at_index(1), vec![Row::new(Look::DIM, "⊘ guard denies b: no")], true);
        tools.note(PLACE.at_index(2), vec![Row::new(Look::DIM, "guard asks")], false);
        tools.completed(PLACE.at_index(1), &completed(Outcome::Denied, "no"), 300);
        tools.completed(PLACE.at_index(2), &completed(Outcome::Denied, "not granted"), 300);
        let shown = texts(&tools.settled(true, 80));
        assert_eq!(
            shown[..2],
            ["✗ a: error: line one".to_owned(), format!("  line \\u{{1b}}[2Jtwo {}", "x".repeat(200))]
        );
        assert_eq!(
            shown[2..],
            [
                "⊘ b [1]: denied",
                "⊘ guard denies b: no",
                "⊘ c: denied: not granted",
                "guard asks",
                "◌ d: it has no end"
            ]
        );
    }

    #[test]
    fn a_use_is_told_by_the_arguments_that_say_most() {
        for (input, expected) in [
            (r#"{"content":"x y","path":"/a"}"#, r#"/a "x y""#),
            (r#"{"ms":15,"deep":{"a":1},"more":true,"rest":1}"#, "ms=15 more=true"),
            ("{}", ""),
            ("no json", "no json"),
        ] {
            assert_eq!(about(input), expected);
        }
    }

    #[test]
    fn unfolded_inputs_and_outputs_are_shown_within_bounds() {
        let mut tools = requested(&[("a", r#"{"path":"x"}"#)], true);
        tools.completed(PLACE, &completed(Outcome::Ok, &"line\n".repeat(100)), 40);
        let shown = texts(&tools.settled(false, 80));
        assert_eq!(shown[..3], ["✓ a x 12 ms", "  input: {\"path\":\"x\"}", "  line"]);
        assert_eq!(shown.len(), 2 + DETAIL_LINES_MAX);
        assert!(shown.last().is_some_and(|last| last.ends_with('…')));
    }
}
