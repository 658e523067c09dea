//! The bottom of the terminal: rows that change in place, with the cursor in them, below all that stays. What stays
//! is written once and is the terminal's from then on, so that its scroll-back reads as a record.
//!
//! What is typed is one of these rows, which is why the line editor is our own: libraries that read lines and print
//! above them print whole lines only, and neither text that comes nor a row that becomes its outcome is one.

use std::io;

use super::row::Row;
use super::tty;

/// Nothing of a frame is shown before all of it is there, where the terminal knows how.
const FRAME_BEGINS: &str = "\x1b[?2026h\x1b[?25l";
const FRAME_ENDS: &str = "\x1b[?25h\x1b[?2026l";

/// The rows that change.
#[derive(Debug)]
pub(super) struct Screen {
    columns: usize,
    lines: usize,
    has_looks: bool,
    /// The rows that were drawn, and row and column of the cursor in them.
    drawn: Vec<Row>,
    cursor: (usize, usize),
    /// They are to be seen as they were drawn, so the same again is not written.
    is_current: bool,
}

impl Screen {
    pub(super) fn new(size: (usize, usize), has_looks: bool) -> Screen {
        Screen {
            columns: size.0,
            lines: size.1,
            has_looks,
            drawn: Vec::new(),
            cursor: (0, 0),
            is_current: false,
        }
    }

    /// Columns that rows may take: the last one stays free, since terminals differ in what follows from it.
    pub(super) fn columns(&self) -> usize {
        self.columns.saturating_sub(1).max(2)
    }

    /// Rows that may change.
    pub(super) fn lines(&self) -> usize {
        self.lines.saturating_sub(1).max(1)
    }

    pub(super) fn has_looks(&self) -> bool {
        self.has_looks
    }

    /// Says which size the terminal has; true if it is another one.
    pub(super) fn resize(&mut self, size: (usize, usize)) -> bool {
        let is_other = size != (self.columns, self.lines);
        (self.columns, self.lines) = size;
        self.is_current &= !is_other;
        is_other
    }

    /// Writes what stays, and below it what changes, with the cursor at a row and column of that.
    pub(super) fn draw(&mut self, above: &[Row], below: &[Row], cursor: (usize, usize)) -> io::Result<()> {
        let frame = self.frame(above, below, cursor);
        if frame.is_empty() { Ok(()) } else { tty::write(frame.as_bytes()) }
    }

    /// Takes away what changes.
    pub(super) fn lift(&mut self) -> io::Result<()> {
        let away = self.away();
        tty::write(away.as_bytes())
    }

    fn frame(&mut self, above: &[Row], below: &[Row], cursor: (usize, usize)) -> String {
        let below: Vec<Row> = below.iter().map(|row| row.cut(self.columns())).collect();
        let cursor = (cursor.0.min(below.len().saturating_sub(1)), cursor.1.min(self.columns()));
        if above.is_empty() && self.is_current && below == self.drawn && cursor == self.cursor {
            return String::new();
        }
        let mut frame = format!("{FRAME_BEGINS}{}", self.away());
        for row in above {
            frame.push_str(&row.ansi(self.has_looks));
            frame.push_str("\r\n");
        }
        let shown: Vec<String> = below.iter().map(|row| row.ansi(self.has_looks)).collect();
        frame.push_str(&shown.join("\r\n"));
        let up = below.len().saturating_sub(1) - cursor.0;
        if up > 0 {
            frame.push_str(&format!("\x1b[{up}A"));
        }
        frame.push('\r');
        if cursor.1 > 0 {
            frame.push_str(&format!("\x1b[{}C", cursor.1));
        }
        frame.push_str(FRAME_ENDS);
        (self.is_current, self.drawn, self.cursor) = (!below.is_empty(), below, cursor);
        frame
    }

    fn away(&mut self) -> String {
        if self.drawn.is_empty() {
            return String::new();
        }
        let up = self.rows_up();
        self.drawn.clear();
        self.is_current = false;
        let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
        format!("{up}\r\x1b[J")
    }

    /// Rows of the terminal from the first that was drawn to the cursor's. A terminal that became narrower has wrapped
    /// the rows that were wider, the cursor's own too.
    fn rows_up(&self) -> usize {
        let (row, column) = self.cursor;
        let above: usize =
            self.drawn.iter().take(row).map(|row| 1 + row.folds(self.columns, usize::MAX)).sum();
        above + self.drawn.get(row).map_or(0, |row| row.folds(self.columns, column))
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Look;
    use super::*;

    fn terminal(lines: u16, columns: u16, scrollback: usize) -> vt100::Parser {
        let size = |n: u16| n.try_into().unwrap();
        vt100::Parser::new(size(lines), size(columns), scrollback)
    }

    fn rows(texts: &[&str]) -> Vec<Row> {
        texts.iter().map(|text| Row::new(Look::BOLD, text)).collect()
    }

    fn shown(terminal: &vt100::Parser) -> Vec<String> {
        let contents = terminal.screen().contents();
        contents.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn what_changes_is_drawn_in_place_below_what_stays() {
        let mut terminal = terminal(8, 20, 0);
        let mut screen = Screen::new((20, 8), true);
        let mut draw = |above: &[&str], below: &[&str], cursor| {
            let frame = screen.frame(&rows(above), &rows(below), cursor);
            terminal.process(frame.as_bytes());
            (shown(&terminal), terminal.screen().cursor_position())
        };
        assert_eq!(draw(&[], &["> a", "state"], (0, 3)), (vec!["> a".into(), "state".into()], (0, 3)));
        let (lines, cursor) = draw(&["said"], &["tool", "> ab", "state"], (1, 4));
        assert_eq!((lines, cursor), (["said", "tool", "> ab", "state"].map(String::from).to_vec(), (2, 4)));
        let (lines, _) = draw(&["done"], &["> ", "x"], (0, 2));
        assert_eq!(lines, ["said", "done", "> ".trim_end(), "x"]);
        let (lines, _) = draw(&[], &["a row that is wider than that"], (0, 0));
        assert_eq!(lines, ["said", "done", "a row that is wide…"]);
    }

    #[test]
    fn the_same_again_is_not_written() {
        let mut screen = Screen::new((20, 8), false);
        assert!(!screen.frame(&[], &rows(&["a"]), (0, 0)).is_empty());
        assert_eq!(screen.frame(&[], &rows(&["a"]), (0, 0)), "");
        assert!(!screen.frame(&[], &rows(&["a"]), (0, 1)).is_empty());
        screen.away();
        assert!(!screen.frame(&[], &rows(&["a"]), (0, 1)).is_empty());
    }

    #[test]
    fn what_scrolls_out_is_what_stays() {
        let mut terminal = terminal(4, 10, 20);
        let mut screen = Screen::new((10, 4), false);
        for n in 0..9 {
            let frame = screen.frame(&rows(&[&format!("line {n}")]), &rows(&["tool", "> "]), (1, 2));
            terminal.process(frame.as_bytes());
        }
        assert_eq!(shown(&terminal), ["line 7", "line 8", "tool", ">"]);
        terminal.screen_mut().set_scrollback(20);
        assert_eq!(shown(&terminal), ["line 0", "line 1", "line 2", "line 3"]);
    }

    /// N-C1: rows above the cursor are wrapped, and so is the cursor's own up to the cursor.
    #[test]
    fn a_narrower_terminal_has_wrapped_what_was_drawn() {
        let typed = format!("> {}", "x".repeat(76));
        for (columns, below, cursor, up) in [
            (20, rows(&[&"x".repeat(30), "> "]), (1, 2), 2),
            (50, rows(&[&typed, "state"]), (0, 78), 1),
            (50, rows(&["a", &typed]), (1, 10), 1),
            (26, rows(&[&typed]), (0, 78), 2),
            (26, rows(&[&typed]), (0, 52), 2),
            (26, rows(&[&typed]), (0, 51), 1),
            (5, rows(&["日本語日本語"]), (0, 12), 2),
        ] {
            let mut screen = Screen::new((100, 8), false);
            screen.frame(&[], &below, cursor);
            assert!(screen.resize((columns, 8)));
            let frame = screen.frame(&[], &rows(&["> "]), (0, 2));
            assert!(frame.contains(&format!("\x1b[{up}A\r\x1b[J")), "{up} rows up: {frame:?}");
            assert!(screen.resize((100, 8)) && !screen.resize((100, 8)));
            assert!(!screen.frame(&[], &rows(&["> "]), (0, 2)).contains('A'));
        }
    }
}
