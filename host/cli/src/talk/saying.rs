//! What a model is saying, before the journal has it: its text in pieces, shown as it comes. What is said is what
//! the agent's message says; until then all of this may turn out to be void.

use super::markdown::Markdown;
use super::row::Row;

/// The text of one attempt.
#[derive(Debug)]
pub(super) struct Saying {
    /// Seq of the call's start.
    pub(super) start: u64,
    /// Attempts before this one.
    pub(super) attempt: u32,
    text: String,
    markdown: Markdown,
    /// Rows that were given away to stay.
    given: usize,
    /// The completion is known, and this is its text.
    is_whole: bool,
}

impl Saying {
    pub(super) fn new(start: u64, attempt: u32, columns: usize, has_looks: bool) -> Saying {
        let markdown = Markdown::new(columns, has_looks);
        Saying { start, attempt, text: String::new(), markdown, given: 0, is_whole: false }
    }

    pub(super) fn push(&mut self, piece: &str) {
        if !self.is_whole {
            self.text.push_str(piece);
            self.markdown.push(piece);
        }
    }

    /// The terminal has another size. What was given away stays as it is, and so do rows that go with it.
    pub(super) fn resize(&mut self, columns: usize, has_looks: bool) {
        if self.given == 0 {
            self.markdown = Markdown::new(columns, has_looks);
            self.markdown.push(&self.text);
            if self.is_whole {
                self.markdown.finish();
            }
        }
    }

    /// The completion has this text. False, if what was given away is not how it begins.
    pub(super) fn complete(&mut self, text: &str, columns: usize, has_looks: bool) -> bool {
        if !is_same(&self.text, text) {
            match rest_of(text, &self.text) {
                // Pieces at the end were missed.
                Some(rest) => self.push(rest),
                None if self.given == 0 => {
                    *self = Saying::new(self.start, self.attempt, columns, has_looks);
                    self.push(text);
                }
                None => return false,
            }
        }
        self.markdown.finish();
        self.is_whole = true;
        true
    }

    /// Whether it is all of this text, and known to be.
    pub(super) fn is(&self, text: &str) -> bool {
        self.is_whole && is_same(&self.text, text)
    }

    /// Whether the completion is known.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether rows of it stay whatever comes.
    pub(super) fn is_given(&self) -> bool {
        self.given > 0
    }

    /// Whether there is anything of it.
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The rows that are not given away.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = self.markdown.rows()[self.given..].to_vec();
        rows.extend(self.markdown.partial());
        rows
    }

    /// Gives rows away so that at most so many are left, as far as they cannot change any more.
    pub(super) fn give(&mut self, rows_max: usize) -> Vec<Row> {
        let over = self.rows().len().saturating_sub(rows_max);
        let count = over.min(self.markdown.rows().len() - self.given);
        let rows = self.markdown.rows()[self.given..self.given + count].to_vec();
        self.given += count;
        rows
    }

    /// There is no more: the rows that are left.
    pub(super) fn end(mut self) -> Vec<Row> {
        self.markdown.finish();
        self.markdown.rows()[self.given..].to_vec()
    }
}

/// Whether two texts have the same words; providers and harnesses differ in the blanks between blocks.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let marks = |text: &str| -> Vec<char> { text.chars().filter(|c| !c.is_whitespace()).collect() };
    marks(one) == marks(other)
}

/// What of a text follows its beginning, if that is one.
fn rest_of<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let mut rest = text.char_indices();
    let mut end = 0;
    for mark in beginning.chars().filter(|c| !c.is_whitespace()) {
        let (at, found) = rest.by_ref().find(|(_, c)| !c.is_whitespace())?;
        if found != mark {
            return None;
        }
        end = at + found.len_utf8();
    }
    Some(&text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&str]) -> Saying {
        let mut saying = Saying::new(3, 0, 20, false);
        pieces.iter().for_each(|piece| saying.push(piece));
        saying
    }

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn the_text_is_told_by_its_words() {
        let mut saying = said(&["one\n", "two"]);
        assert!(!saying.is("one two"), "it may go on");
        assert!(saying.complete("one two", 20, false) && saying.is("one\n\ntwo") && !saying.is("one"));
        assert_eq!(texts(&saying.end()), ["  one", "  two"]);
    }

    #[test]
    fn pieces_that_were_missed_are_made_up_for() {
        let mut saying = said(&["one ", "tw"]);
        assert!(saying.complete("one two three", 20, false));
        assert_eq!(texts(&saying.rows()), ["  one two three"]);
        let mut saying = said(&["two"]);
        assert!(saying.complete("one two", 20, false), "nothing of it stays");
        assert_eq!(texts(&saying.rows()), ["  one two"]);
        let mut saying = said(&["two\n", "three"]);
        assert_eq!(texts(&saying.give(1)), ["  two"]);
        assert!(!saying.complete("one two three", 20, false), "the beginning is missing above");
    }

    #[test]
    fn what_still_changes_is_wrapped_to_another_size() {
        let mut saying = said(&["a row that is ", "wrapped"]);
        assert_eq!(texts(&saying.rows()), ["  a row that is", "  wrapped"]);
        saying.resize(12, false);
        assert_eq!(texts(&saying.rows()), ["  a row that", "  is wrapped"]);
        saying.push(" ends\nx");
        assert_eq!(texts(&saying.give(1)), ["  a row that", "  is wrapped", "  ends"]);
        saying.resize(20, false);
        assert_eq!(texts(&saying.rows()), ["  x"], "what was given away is not given again");
    }

    #[test]
    fn rows_that_can_change_are_not_given_away() {
        let mut saying = said(&["one\ntwo\nthree is a row that is wrapped"]);
        assert_eq!(texts(&saying.give(3)), ["  one"]);
        assert!(saying.is_given());
        assert_eq!(texts(&saying.give(0)), ["  two"], "not those of a line that goes on");
        assert_eq!(texts(&saying.end()), ["  three is a row", "  that is wrapped"]);
    }
}
