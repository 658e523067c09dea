//! Rows of text for a terminal: how they look, how wide they are, how they are wrapped and cut. What is harmful
//! in a terminal is escaped in one. Knows no sessions.

use rewake_text::plain;
use unicode_width::UnicodeWidthChar as _;

use crate::out::Style;

/// What a tab is shown as.
const TAB: &str = "    ";

/// How a piece of a row looks, where looks are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) is_bold: bool,
    pub(super) is_dim: bool,
    pub(super) is_italic: bool,
    pub(super) ink: Ink,
}

/// Its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ink {
    /// The terminal's own.
    #[default]
    Own,
    /// Of what went wrong.
    Bad,
    /// Of what went well.
    Good,
    /// Of code.
    Code,
}

impl Look {
    pub(super) const DIM: Look = Look { is_bold: false, is_dim: true, is_italic: false, ink: Ink::Own };
    pub(super) const BOLD: Look = Look { is_bold: true, is_dim: false, is_italic: false, ink: Ink::Own };

    pub(super) const fn ink(ink: Ink) -> Look {
        Look { is_bold: false, is_dim: false, is_italic: false, ink }
    }

    fn codes(self) -> String {
        let colour = match self.ink {
            Ink::Own => None,
            Ink::Bad => Some("31"),
            Ink::Good => Some("32"),
            Ink::Code => Some("36"),
        };
        let all =
            [self.is_bold.then_some("1"), self.is_dim.then_some("2"), self.is_italic.then_some("3"), colour];
        all.into_iter().flatten().collect::<Vec<_>>().join(";")
    }
}

impl From<Style> for Look {
    fn from(style: Style) -> Look {
        match style {
            Style::Plain => Look::default(),
            Style::Dim => Look::DIM,
            Style::Bad => Look::ink(Ink::Bad),
            Style::Strong => Look::BOLD,
        }
    }
}

/// A row, or a line that is to be wrapped into rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row(Vec<(Look, String)>);

impl Row {
    /// One piece.
    pub(super) fn new(look: impl Into<Look>, text: &str) -> Row {
        let mut row = Row::default();
        row.push(look.into(), text);
        row
    }

    /// Adds a piece, made safe for a terminal; a line feed is a blank.
    pub(super) fn push(&mut self, look: Look, text: &str) {
        let text = plain(text).replace('\t', TAB).replace('\n', " ");
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some((before, last)) if *before == look => last.push_str(&text),
            _ => self.0.push((look, text)),
        }
    }

    /// The same with another row's pieces.
    pub(super) fn and(mut self, other: &Row) -> Row {
        for (look, text) in &other.0 {
            self.push(*look, text);
        }
        self
    }

    /// The text alone.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.cells().map(|(c, _)| width_of(c)).sum()
    }

    /// How often a terminal of so many columns begins a new row within this one, up to what is at column `until`.
    pub(super) fn folds(&self, columns: usize, until: usize) -> usize {
        let (mut folds, mut used, mut at) = (0, 0, 0);
        for (c, _) in self.cells() {
            if at > until {
                break;
            }
            let width = width_of(c);
            if used + width > columns {
                (folds, used) = (folds + 1, 0);
            }
            (used, at) = (used + width, at + width);
        }
        folds
    }

    /// The same within so many columns.
    pub(super) fn cut(&self, columns: usize) -> Row {
        if self.width() <= columns {
            return self.clone();
        }
        let mut row = Row::default();
        let mut used = 1;
        for (c, look) in self.cells() {
            used += width_of(c);
            if used > columns {
                row.push(look, "…");
                break;
            }
            row.push(look, c.encode_utf8(&mut [0; 4]));
        }
        row
    }

    /// The bytes that show it.
    pub(super) fn ansi(&self, has_looks: bool) -> String {
        let mut shown = String::new();
        for (look, text) in &self.0 {
            let codes = look.codes();
            if has_looks && !codes.is_empty() {
                shown.push_str(&format!("\x1b[{codes}m{text}\x1b[0m"));
            } else {
                shown.push_str(text);
            }
        }
        shown
    }

    fn cells(&self) -> impl Iterator<Item = (char, Look)> + '_ {
        self.0.iter().flat_map(|(look, text)| text.chars().map(|c| (c, *look)))
    }
}

/// Columns of a character.
pub(super) fn width_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Columns that a terminal has at least.
const COLUMNS_MIN: usize = 8;

/// Wraps a line between words into rows of at most so many columns: `first` stands before the first row, and
/// blanks as wide before the others.
pub(super) fn wrap(line: &Row, first: &Row, columns: usize) -> Vec<Row> {
    let cells: Vec<(char, Look)> = line.cells().collect();
    // What stands before may be a name as long as somebody likes. Narrower than this no terminal is right.
    let first = if columns < COLUMNS_MIN { first.clone() } else { first.cut(columns - 2) };
    let hanging = Row::new(Look::default(), &" ".repeat(first.width()));
    // A terminal can be narrower than what is set in.
    let room = columns.saturating_sub(first.width()).max(2);
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let (mut end, mut used, mut blank) = (start, 0, None);
        while let Some((c, _)) = cells.get(end) {
            used += width_of(*c);
            if used > room && end > start {
                break;
            }
            if *c == ' ' {
                blank = Some(end);
            }
            end += 1;
        }
        let is_broken = end < cells.len();
        if is_broken && cells[end].0 != ' ' {
            end = blank.filter(|blank| *blank > start).unwrap_or(end);
        }
        let mut row = if rows.is_empty() { first.clone() } else { hanging.clone() };
        for (c, look) in &cells[start..end] {
            row.push(*look, c.encode_utf8(&mut [0; 4]));
        }
        rows.push(row);
        while is_broken && cells.get(end).is_some_and(|(c, _)| *c == ' ') {
            end += 1;
        }
        if end >= cells.len() {
            return rows;
        }
        start = end;
    }
}

/// Wraps a line of this program's own that repeats what others wrote: the rows after the first are set in, so that
/// none of them can pass for another such line, wherever it is that the line is wrapped.
pub(super) fn hang(line: &Row, columns: usize) -> Vec<Row> {
    let (mut first, mut rest) = (Row::default(), Row::default());
    for (at, (c, look)) in line.cells().enumerate() {
        let to = if at < 2 { &mut first } else { &mut rest };
        to.push(look, c.encode_utf8(&mut [0; 4]));
    }
    wrap(&rest, &first, columns)
}

/// Lines of somebody else's text, each wrapped and set in: no row of it can pass for one of this program's own.
pub(super) fn set_in(look: Look, text: &str, columns: usize) -> Vec<Row> {
    let first = Row::new(Look::default(), "  ");
    text.lines().flat_map(|line| wrap(&Row::new(look, line), &first, columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: &[Row]) -> Vec<String> {
        rows.iter().map(Row::text).collect()
    }

    fn wrapped(text: &str, first: &str, columns: usize) -> Vec<String> {
        texts(&wrap(&Row::new(Look::default(), text), &Row::new(Look::default(), first), columns))
    }

    #[test]
    fn lines_are_wrapped_between_words_and_hang() {
        assert_eq!(wrapped("one two three", "- ", 9), ["- one two", "  three"]);
        assert_eq!(wrapped("abcdefgh ij", "", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("ab   cd", "", 3), ["ab ", "cd"]);
        assert_eq!(wrapped("", "> ", 9), ["> "]);
        assert_eq!(wrapped("日本語", "", 4), ["日本", "語"]);
        assert_eq!(wrapped("abc", "  ", 1), ["  ab", "  c"], "as narrow as none is");
    }

    #[test]
    fn no_row_of_a_line_passes_for_another_line() {
        let line = Row::new(Look::DIM, "✗ tool: error: no such file › yes");
        assert_eq!(texts(&hang(&line, 24)), ["✗ tool: error: no such", "  file › yes"]);
        assert_eq!(texts(&hang(&Row::new(Look::DIM, "short"), 24)), ["short"]);
        assert_eq!(texts(&hang(&Row::default(), 24)), [""]);
    }

    #[test]
    fn nothing_harmful_gets_into_a_row() {
        let row = Row::new(Look::DIM, "a\x1b[2J\tb\u{9b}\nc\u{202e}");
        assert_eq!(row.text(), r"a\u{1b}[2J    b\u{9b} c\u{202e}");
        assert_eq!(row.ansi(true), "\x1b[2ma\\u{1b}[2J    b\\u{9b} c\\u{202e}\x1b[0m");
        assert_eq!(row.ansi(false), r"a\u{1b}[2J    b\u{9b} c\u{202e}");
    }

    #[test]
    fn a_row_is_cut_to_columns() {
        assert_eq!(Row::new(Look::BOLD, "abcdef").cut(4).text(), "abc…");
        assert_eq!(Row::new(Look::BOLD, "日本語").cut(4).text(), "日…");
        assert_eq!(Row::new(Look::BOLD, "abcd").cut(4).text(), "abcd");
    }
}
