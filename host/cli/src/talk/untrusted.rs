//! Bytes that nobody should trust, at the terminal: keys that are pressed and pasted, text of models, and entries
//! of a journal, corrupted. Whatever comes, a row holds nothing that a terminal obeys, and is as wide as it may be.

use std::time::Instant;

use rewake_core::entry::Place;
use rewake_core::fact::{Fact, KINDS};
use rewake_runtime::live::Delta;
use rewake_text::{is_ambiguous, is_hidden, json, one_line, plain};
use rewake_untrusted::proptest::strategy::{Strategy as _, Union};
use rewake_untrusted::{Samples, check};

use super::editor::{Edited, Editor};
use super::keys::{Decoder, Key};
use super::markdown::Markdown;
use super::row::{Look, Row};
use super::transcript::Transcript;
use crate::stream::tests::entry;
use crate::stream::{lines, transcript};

/// Payloads of every kind of entry.
const GOLDEN: &str = include_str!("../../../core/tests/laws/golden.txt");

/// What must hold of what a row says.
fn text_holds(row: &Row) -> String {
    let text = row.ansi(false);
    assert_eq!(harmful(&text), None, "{text:?}");
    assert!(!text.contains(['\n', '\t']), "a row is one row: {text:?}");
    text
}

/// What must hold of a row.
fn row_holds(row: &Row, columns: usize) {
    let text = text_holds(row);
    assert!(row.width() <= columns, "{} columns of {columns}: {text:?}", row.width());
}

/// A character that no text that is shown may have.
fn harmful(text: &str) -> Option<char> {
    text.chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t'))
}

#[test]
fn keys_are_the_same_however_they_are_cut() {
    Samples::corpus("keys").check(100, |bytes| {
        let whole = Decoder::default().push(bytes);
        let mut decoder = Decoder::default();
        let one_by_one: Vec<Key> = bytes.iter().flat_map(|byte| decoder.push(&[*byte])).collect();
        assert_eq!(one_by_one, whole);
        let (mut decoder, mut pieces) = (Decoder::default(), Vec::new());
        for piece in bytes.chunks(7) {
            pieces.extend(decoder.push(piece));
        }
        assert_eq!(pieces, whole);
        typed(whole);
    });
}

fn typed(keys: Vec<Key>) {
    let mut editor = Editor::new(vec!["é one\ntwo".into(), "👩\u{200d}🔬 three".into()]);
    let prompt = Row::new(Look::default(), "> ");
    for key in keys {
        if let Edited::Done(line) = editor.key(key) {
            editor.keep(&line);
        }
    }
    for (columns, rows_max) in [(20, 3), (4, 1), (80, 10)] {
        let shown = editor.shown(&prompt, columns, rows_max);
        assert!((1..=rows_max).contains(&shown.rows.len()) && shown.cursor.0 < shown.rows.len(), "{shown:?}");
        assert!(shown.cursor.1 <= columns, "{shown:?}");
        // Not its width: characters that are joined to one are as wide as one to the editor, and here as all of them.
        shown.rows.iter().for_each(|row| drop(text_holds(row)));
    }
}

#[test]
fn text_looks_the_same_however_it_is_cut() {
    Samples::corpus("markdown").words(&["**", "__", "```", "](", "[", "\n> ", "\n- ", "\n# "]).check_text(
        400,
        |text| {
            for (columns, has_looks) in [(30, true), (8, false)] {
                let whole = Markdown::whole(text, columns, has_looks);
                whole.iter().for_each(|row| row_holds(row, columns));
                let mut markdown = Markdown::new(columns, has_looks);
                let mut rest = text;
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(rest.ceil_char_boundary(rest.len().div_ceil(3)));
                    markdown.push(piece);
                    markdown.partial().iter().for_each(|row| row_holds(row, columns));
                    rest = after;
                }
                markdown.finish();
                assert_eq!(markdown.rows(), whole);
            }
        },
    );
}

#[test]
fn lines_are_plain_and_bounded() {
    Samples::corpus("markdown").check_text(1_000, |text| {
        assert_eq!(harmful(&plain(text)), None);
        assert_eq!(plain(&plain(text)), plain(text));
        let line = one_line(text, 40);
        assert!(
            line.chars().count() <= 41 && harmful(&line).is_none() && !line.contains(['\n', '\t']),
            "{line:?}"
        );
        let value = serde_json::to_string(text).expect("a text is JSON");
        let shown = json(&value);
        assert_eq!(shown.chars().find(|c| is_ambiguous(*c)), None, "{shown:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).expect("it is read as it was written"), text);
    });
}

/// Whatever an entry holds: somebody may have put it together to be looked at.
#[test]
fn entries_are_shown_in_rows() {
    let payload = |line: &'static str| line.splitn(3, ' ').nth(2).expect("KIND VERSION PAYLOAD");
    let of_kind = |kind: &'static str| {
        let lines = GOLDEN.lines().filter(|line| line.split(' ').next() == Some(kind));
        Samples::of(lines.map(payload)).json().prop_map(move |text| (kind, text)).boxed()
    };
    check(2_000, Union::new(KINDS.iter().map(|(kind, _)| of_kind(kind))), |(kind, text)| {
        if let Ok(fact) = Fact::decode(kind, 1, text.as_bytes()) {
            is_shown(&fact);
        }
    });
}

fn is_shown(fact: &Fact) {
    let place = Place { turn: 1, step: 1, ordinal: 1, index: 0 };
    for (_, line) in lines(&mut transcript(), &entry(place, fact.clone())) {
        assert!(line.len() <= 4 << 20, "{} bytes", line.len());
    }
    for columns in [12, 60] {
        let now = Instant::now();
        let mut transcript = Transcript::new("ann".into(), columns, true, columns == 60);
        transcript.delta(1, 0, &Delta::Text("so\u{1b}[2J far".into()));
        transcript.entry(&entry(place, fact.clone()), now);
        transcript.delta(9, 0, &Delta::Text("x".into()));
        let mut rows = transcript.changing(now, 5);
        rows.extend(transcript.take());
        rows.iter().for_each(|row| row_holds(row, columns));
    }
}
