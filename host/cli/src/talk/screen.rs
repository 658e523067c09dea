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
    /// Columns of each row that was drawn.
    drawn: Vec<usize>,
    /// Row of them in which the cursor is.
    cursor_row: usize,
    /// All that was drawn, and where the cursor was put: the same again is not written.
    last: (Vec<Row>, (usize, usize)),
}

impl Screen {
    pub(super) fn new(size: (usize, usize), has_looks: bool) -> Screen {
        Screen {
            columns: size.0,
            lines: size.1,
            has_looks,
            drawn: Vec::new(),
            cursor_row: 0,
            last: Default::default(),
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

    /// The terminal has another size. Terminals wrap what was drawn wider than that.
    pub(super) fn resize(&mut self, size: (usize, usize)) {
        let rows = |width: &usize| width.div_ceil(size.0.max(1)).max(1);
        if size.0 < self.columns {
            self.cursor_row = self.drawn.iter().take(self.cursor_row).map(rows).sum();
        }
        (self.columns, self.lines) = size;
        self.last = Default::default();
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
        let next = (below, cursor);
        if above.is_empty() && next == self.last && !self.drawn.is_empty() {
            return String::new();
        }
        let mut frame = format!("{FRAME_BEGINS}{}", self.away());
        for row in above {
            frame.push_str(&row.ansi(self.has_looks));
            frame.push_str("\r\n");
        }
        let (below, cursor) = &next;
        let shown: Vec<String> = below.iter().map(|row| row.ansi(self.has_looks)).collect();
        frame.push_str(&shown.join("\r\n"));
        let row = cursor.0.min(below.len().saturating_sub(1));
        let up = below.len().saturating_sub(1) - row;
        if up > 0 {
            frame.push_str(&format!("\x1b[{up}A"));
        }
        frame.push('\r');
        let column = cursor.1.min(self.columns());
        if column > 0 {
            frame.push_str(&format!("\x1b[{column}C"));
        }
        frame.push_str(FRAME_ENDS);
        self.drawn = below.iter().map(Row::width).collect();
        self.cursor_row = row;
        self.last = next;
        frame
    }

    fn away(&mut self) -> String {
        if self.drawn.is_empty() {
            return String::new();
        }
        let up = std::mem::take(&mut self.cursor_row);
        self.drawn.clear();
        self.last = Default::default();
        let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
        format!("{up}\r\x1b[J")
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

    #[test]
    fn a_narrower_terminal_has_wrapped_what_was_drawn() {
        let mut screen = Screen::new((40, 8), false);
        screen.frame(&[], &rows(&[&"x".repeat(30), "> "]), (1, 2));
        screen.resize((20, 8));
        assert!(screen.frame(&[], &rows(&["> "]), (0, 2)).contains("\x1b[2A"), "two rows up");
        screen.resize((40, 8));
        assert!(!screen.frame(&[], &rows(&["> "]), (0, 2)).contains('A'));
    }
}
