//! What the program writes, and to which stream. A reader that goes away ends nothing: a session is not
//! stopped because a pager was closed. Knows no sessions.

use std::io::{self, BufRead as _, ErrorKind, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rewake_text::{json, one_line, plain};
use serde::Serialize;
use tokio::sync::mpsc::UnboundedSender;

use crate::exit::Failure;

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 32 << 10;
/// Characters of the line that says what is being done.
const STATUS_CHARS_MAX: usize = 70;

/// Whether a line on standard error says what is being done, for anyone who writes next.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);
/// Who shows what is said on standard error, while the terminal is somebody's to draw on.
static DIVERSION: Mutex<Option<UnboundedSender<String>>> = Mutex::new(None);

/// How a line looks, where colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// What matters.
    Plain,
    /// What is good to know.
    Dim,
    /// What went wrong.
    Bad,
    /// What asks for an answer.
    Strong,
}

/// Standard output, gathered.
pub(crate) struct Out {
    buffer: String,
    is_styled: bool,
    /// Whether a line on standard error can say what is being done, and go again.
    can_show_status: bool,
    is_closed: bool,
}

impl Out {
    /// Standard output, with colours if it is a terminal and nothing speaks against them.
    pub(crate) fn new() -> Out {
        Out {
            buffer: String::new(),
            is_styled: has_looks(),
            can_show_status: is_drawable() && io::stderr().is_terminal(),
            is_closed: false,
        }
    }

    /// Adds a line, made safe for a terminal.
    pub(crate) fn line(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        let text = plain(text);
        let code = match style {
            _ if !self.is_styled => None,
            Style::Plain => None,
            Style::Dim => Some("2"),
            Style::Bad => Some("31"),
            Style::Strong => Some("1"),
        };
        match code {
            None => self.buffer.push_str(&text),
            Some(code) => self.buffer.push_str(&format!("\x1b[{code}m{text}\x1b[0m")),
        }
        self.buffer.push('\n');
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Adds a value as a line of JSON.
    pub(crate) fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|error| Failure::io("writing JSON", error))?;
        self.raw(&json(&text))
    }

    /// Adds a line as it is.
    pub(crate) fn raw(&mut self, line: &str) -> Result<(), Failure> {
        self.buffer.push_str(line);
        self.buffer.push('\n');
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what was gathered. After the reader has gone, nothing.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        clear_status();
        let bytes = std::mem::take(&mut self.buffer);
        if self.is_closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => Err(Failure::io("writing to standard output", error)),
        }
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Shows what is being done, until something is written.
    pub(crate) fn status(&mut self, text: &str) {
        if self.can_show_status {
            let (on, off) = if self.is_styled { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
            let line = format!("\r\x1b[2K{on}{}{off}", one_line(text, STATUS_CHARS_MAX));
            let _ = io::stderr().lock().write_all(line.as_bytes());
            HAS_STATUS.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether standard output is a terminal that can move its cursor.
pub(crate) fn is_drawable() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether it shows colours and the like, and they are wanted.
pub(crate) fn has_looks() -> bool {
    is_drawable() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// From now on what is said on standard error goes there; none: to standard error again.
pub(crate) fn divert(to: Option<UnboundedSender<String>>) {
    *DIVERSION.lock().unwrap_or_else(PoisonError::into_inner) = to;
}

/// Standard error, for diagnostics; or anyone who shows it meanwhile.
pub(crate) struct Diagnostics;

impl io::Write for Diagnostics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let line = plain(&line);
        match &*DIVERSION.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(to) => {
                let _ = to.send(line.into_owned());
            }
            None => io::stderr().lock().write_all(line.as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// Takes away what [`Out::status`] showed.
pub(crate) fn clear_status() {
    if HAS_STATUS.swap(false, Ordering::Relaxed) {
        let _ = io::stderr().lock().write_all(b"\r\x1b[2K");
    }
}

/// Writes a line to standard error, made safe for a terminal. That nobody reads it changes nothing.
pub(crate) fn note(text: &str) {
    clear_status();
    let line = format!("rewake: {}\n", plain(text).trim_end());
    if let Some(to) = &*DIVERSION.lock().unwrap_or_else(PoisonError::into_inner) {
        let _ = to.send(line);
        return;
    }
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Whether somebody can be asked: what is typed and what is said both belong to a terminal.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Puts a question to the person at the terminal; all but a yes is a no.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    clear_status();
    let asking = |error| Failure::io("asking at the terminal", error);
    let mut stderr = io::stderr().lock();
    stderr.write_all(format!("rewake: {} [y/N] ", plain(question)).as_bytes()).map_err(asking)?;
    stderr.flush().map_err(asking)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(asking)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A table's lines: columns as wide as they must be, two blanks between them, none at the end.
pub(crate) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_and_has_no_trailing_blanks() {
        let rows = [vec!["a".into(), "b".into()], vec!["läng".into(), String::new()]];
        assert_eq!(table(&rows), ["a     b", "läng"]);
        assert!(table(&[]).is_empty());
    }

    #[test]
    fn lines_are_styled_only_where_colours_are_wanted() {
        let mut out =
            Out { buffer: String::new(), is_styled: true, can_show_status: false, is_closed: false };
        out.line(Style::Dim, "a\x1b[31m").unwrap();
        out.line(Style::Plain, "b").unwrap();
        out.is_styled = false;
        out.line(Style::Bad, "c").unwrap();
        assert_eq!(out.buffer, "\x1b[2ma\\u{1b}[31m\x1b[0m\nb\nc\n");
    }
}
