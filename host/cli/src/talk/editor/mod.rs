//! The line that is being typed: its text, where the cursor stands, what was typed before. Knows no terminal and
//! writes nothing.

#[cfg(test)]
mod tests;

use rewake_core::limits::MESSAGE_BYTES_MAX;
use rewake_text::plain;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::keys::Key;
use super::row::{Look, Row};

/// What came of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The line may look different.
    Line,
    /// The line is to be done: it is taken out.
    Done(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D at an empty line.
    Leave,
    /// The screen is to be drawn again.
    Redraw,
}

/// The line.
#[derive(Debug, Default)]
pub(super) struct Editor {
    text: String,
    /// In bytes, at the beginning of a character as people see it.
    cursor: usize,
    /// What was cut last.
    cut: String,
    /// Lines from before, the newest last.
    past: Vec<String>,
    /// Which of them is shown, and what was being typed before.
    at: Option<(usize, String)>,
}

/// How the line is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) rows: Vec<Row>,
    /// Row and column of the cursor.
    pub(super) cursor: (usize, usize),
}

impl Editor {
    pub(super) fn new(past: Vec<String>) -> Editor {
        Editor { past, ..Editor::default() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Puts a text in the line's place.
    pub(super) fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Keeps a line for later.
    pub(super) fn keep(&mut self, line: &str) {
        if self.past.last().is_none_or(|last| last != line) {
            self.past.push(line.to_owned());
        }
    }

    pub(super) fn key(&mut self, key: Key) -> Edited {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text),
            Key::Newline => self.insert("\n"),
            Key::Enter if self.text[..self.cursor].ends_with('\\') && self.cursor == self.text.len() => {
                self.text.pop();
                self.cursor -= 1;
                self.insert("\n");
            }
            Key::Enter => {
                self.at = None;
                self.cursor = 0;
                return Edited::Done(std::mem::take(&mut self.text));
            }
            Key::Ctrl('c') => return Edited::Interrupt,
            Key::Ctrl('d') if self.text.is_empty() => return Edited::Leave,
            Key::Ctrl('l') => return Edited::Redraw,
            Key::Up | Key::Ctrl('p') => self.up(),
            Key::Down | Key::Ctrl('n') => self.down(),
            Key::Backspace => self.remove(self.before()..self.cursor, false),
            Key::Delete | Key::Ctrl('d') => self.remove(self.cursor..self.after(), false),
            Key::WordBackspace | Key::Ctrl('w') => self.remove(self.word_before()..self.cursor, true),
            Key::Alt('d') => self.remove(self.cursor..self.word_after(), true),
            Key::Ctrl('u') => self.remove(self.line_start()..self.cursor, true),
            Key::Ctrl('k') => self.remove(self.cursor..self.line_end(), true),
            Key::Ctrl('y') => {
                let cut = self.cut.clone();
                self.insert(&cut);
            }
            Key::Left | Key::Ctrl('b') => self.cursor = self.before(),
            Key::Right | Key::Ctrl('f') => self.cursor = self.after(),
            Key::WordLeft | Key::Alt('b') => self.cursor = self.word_before(),
            Key::WordRight | Key::Alt('f') => self.cursor = self.word_after(),
            Key::Home | Key::Ctrl('a') => self.cursor = self.line_start(),
            Key::End | Key::Ctrl('e') => self.cursor = self.line_end(),
            Key::Tab | Key::Escape | Key::Ctrl(_) | Key::Alt(_) => {}
        }
        Edited::Line
    }

    /// The line after a prompt, in rows of at most so many columns. At most `rows_max` of them, around the cursor.
    pub(super) fn shown(&self, prompt: &Row, columns: usize, rows_max: usize) -> Shown {
        let indent = prompt.width();
        let room = columns.saturating_sub(indent).max(2);
        let mut rows = vec![String::new()];
        let (mut used, mut cursor) = (0, (0, indent));
        for (at, cluster) in self.text.grapheme_indices(true) {
            let shown = if cluster == "\t" { "    ".into() } else { plain(cluster) };
            let width = if shown == "\n" { 0 } else { shown.width() };
            if used + width > room {
                rows.push(String::new());
                used = 0;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, indent + used);
            }
            if shown == "\n" {
                rows.push(String::new());
                used = 0;
            } else if let Some(row) = rows.last_mut() {
                row.push_str(&shown);
                used += width;
            }
        }
        if self.cursor == self.text.len() {
            // The cursor stands behind the last column only where there is room for it.
            if used >= room {
                rows.push(String::new());
                used = 0;
            }
            cursor = (rows.len() - 1, indent + used);
        }
        let first =
            cursor.0.saturating_sub(rows_max.saturating_sub(1)).min(rows.len().saturating_sub(rows_max));
        let blank = Row::new(Look::default(), &" ".repeat(indent));
        let row = |(at, text): (usize, &String)| {
            let mut row = if at == 0 { prompt.clone() } else { blank.clone() };
            row.push(Look::default(), text);
            row
        };
        let rows = rows.iter().enumerate().skip(first).take(rows_max).map(row).collect();
        Shown { rows, cursor: (cursor.0 - first, cursor.1) }
    }

    /// Inserts a text as far as a message has room for it: what is put back again and again must not grow without end.
    fn insert(&mut self, text: &str) {
        let room = MESSAGE_BYTES_MAX.saturating_sub(self.text.len());
        let text = &text[..text.floor_char_boundary(room)];
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove(&mut self, range: std::ops::Range<usize>, is_kept: bool) {
        self.cursor = range.start;
        let removed: String = self.text.drain(range).collect();
        if is_kept && !removed.is_empty() {
            self.cut = removed;
        }
    }

    fn before(&self) -> usize {
        let cluster = self.text[..self.cursor].graphemes(true).next_back();
        self.cursor - cluster.map_or(0, str::len)
    }

    fn after(&self) -> usize {
        let cluster = self.text[self.cursor..].graphemes(true).next();
        self.cursor + cluster.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let before = self.text[..self.cursor].trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_after(&self) -> usize {
        let after = self.text[self.cursor..].trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - after.trim_start_matches(char::is_alphanumeric).len()
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// A line up; from the first one, what was typed before.
    fn up(&mut self) {
        let start = self.line_start();
        if start > 0 {
            let above = self.text[..start - 1].rfind('\n').map_or(0, |at| at + 1);
            self.cursor = self.at_same(start, above, start - 1);
            return;
        }
        let newest = self.past.len();
        let (at, typed) = self.at.take().unwrap_or_else(|| (newest, self.text.clone()));
        let at = at.saturating_sub(1).min(newest.saturating_sub(1));
        if let Some(line) = self.past.get(at).cloned() {
            self.set(line);
            self.at = Some((at, typed));
        }
    }

    /// A line down; from the last one, what was typed after.
    fn down(&mut self) {
        let end = self.line_end();
        if end < self.text.len() {
            let below = self.text[end + 1..].find('\n').map_or(self.text.len(), |at| end + 1 + at);
            self.cursor = self.at_same(self.line_start(), end + 1, below);
            return;
        }
        let Some((at, typed)) = self.at.take() else { return };
        match self.past.get(at + 1).cloned() {
            Some(line) => {
                self.set(line);
                self.at = Some((at + 1, typed));
            }
            None => self.set(typed),
        }
    }

    /// The place between `start` and `end` that is as many characters into it as the cursor is behind `from`.
    fn at_same(&self, from: usize, start: usize, end: usize) -> usize {
        let count = self.text[from..self.cursor].graphemes(true).count();
        let line = &self.text[start..end];
        line.grapheme_indices(true).nth(count).map_or(end, |(at, _)| start + at)
    }
}
