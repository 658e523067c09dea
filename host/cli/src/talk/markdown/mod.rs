//! Markdown as it comes: text is pushed in pieces cut anywhere, and rows come out that look the same however it
//! was cut. Lightly: headings, lists, quotes, fences, emphasis, code and links; every line of the text begins a row
//! of its own. Where looks are not wanted the text stays as it was written.

#[cfg(test)]
mod tests;

use super::row::{Ink, Look, Row, wrap};

/// Bytes of a line that is looked through for emphasis; a longer one is shown as it is.
const INLINE_BYTES_MAX: usize = 16 << 10;
/// How deep emphasis is looked for within emphasis.
const DEPTH_MAX: u32 = 4;
const CODE: Look = Look::ink(Ink::Code);

/// A text that grows, and its rows so far.
#[derive(Debug)]
pub(super) struct Markdown {
    columns: usize,
    has_looks: bool,
    /// Rows of the lines that are complete.
    rows: Vec<Row>,
    /// The line that is not.
    line: String,
    /// What the fence that is open was made of.
    fence: Option<String>,
}

impl Markdown {
    pub(super) fn new(columns: usize, has_looks: bool) -> Markdown {
        Markdown { columns, has_looks, rows: Vec::new(), line: String::new(), fence: None }
    }

    /// The rows of a whole text.
    pub(super) fn whole(text: &str, columns: usize, has_looks: bool) -> Vec<Row> {
        let mut markdown = Markdown::new(columns, has_looks);
        markdown.push(text);
        markdown.finish();
        markdown.rows
    }

    /// Adds a piece. A line is made safe as a whole when it becomes rows, so it does not matter where it is cut.
    pub(super) fn push(&mut self, piece: &str) {
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(end) => {
                    self.line.push_str(end);
                    self.end_line();
                }
                None => self.line.push_str(part),
            }
        }
    }

    /// There is no more.
    pub(super) fn finish(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }

    /// Rows of the lines that are complete.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Rows of the line that is not: what is open in it is taken for what it will be.
    pub(super) fn partial(&self) -> Vec<Row> {
        let line = self.line.strip_suffix('\r').unwrap_or(&self.line);
        if line.is_empty() { Vec::new() } else { self.block(line, true) }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        let rows = self.block(line, false);
        self.rows.extend(rows);
        let mark = fence_mark(line);
        match (&self.fence, mark) {
            (None, Some(mark)) => self.fence = Some(mark.to_owned()),
            (Some(open), Some(mark)) if mark.starts_with(open.as_str()) && line.trim() == mark => {
                self.fence = None;
            }
            _ => {}
        }
    }

    fn block(&self, line: &str, is_open: bool) -> Vec<Row> {
        let inset = Row::new(Look::default(), "  ");
        let fits = |look: Look, line: &str| wrap(&Row::new(look, line), &inset, self.columns);
        if !self.has_looks {
            return fits(Look::default(), line);
        }
        if fence_mark(line).is_some() {
            return fits(Look::DIM, line);
        }
        if self.fence.is_some() {
            return fits(CODE, line);
        }
        let text = line.trim_start_matches(' ');
        let indent = " ".repeat(2 + (line.len() - text.len()).min(self.columns / 3));
        let styled = |look: Look, text: &str| inline(text, look, is_open, 0);
        if let Some(title) = heading(text) {
            return wrap(&styled(Look::BOLD, title), &inset, self.columns);
        }
        if is_rule(text) {
            return vec![Row::new(
                Look::DIM,
                &format!("  {}", "─".repeat(self.columns.saturating_sub(4).min(40))),
            )];
        }
        if let Some(quoted) = text.strip_prefix('>') {
            let first = Row::new(Look::DIM, &format!("{indent}│ "));
            return quote(&styled(Look::DIM, quoted.trim_start()), &first, self.columns);
        }
        if let Some((mark, item)) = item(text) {
            let first = Row::new(Look::default(), &format!("{indent}{mark} "));
            return wrap(&styled(Look::default(), item), &first, self.columns);
        }
        wrap(&styled(Look::default(), text), &Row::new(Look::default(), &indent), self.columns)
    }
}

/// Each row of a quotation has its mark.
fn quote(line: &Row, first: &Row, columns: usize) -> Vec<Row> {
    let inside = wrap(line, &Row::default(), columns.saturating_sub(first.width()).max(2));
    inside.iter().map(|row| first.clone().and(row)).collect()
}

/// The back quotes or tildes that a fence begins with.
fn fence_mark(line: &str) -> Option<&str> {
    let text = line.trim_start();
    ['`', '~'].into_iter().find_map(|c| {
        let length = text.chars().take_while(|found| *found == c).count();
        // Code within a line may begin with as many.
        let is_fence = length >= 3 && (c == '~' || !text[length..].contains('`'));
        is_fence.then(|| &text[..length])
    })
}

fn heading(text: &str) -> Option<&str> {
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    (1..=6).contains(&level).then(|| title.strip_prefix(' ')).flatten()
}

fn is_rule(text: &str) -> bool {
    let text = text.trim_end();
    let is_of = |c: char| text.len() >= 3 && text.chars().all(|found| found == c);
    is_of('-') || is_of('*') || is_of('_')
}

/// The mark of a list's item, and the item.
fn item(text: &str) -> Option<(String, &str)> {
    for mark in ["- ", "* ", "+ "] {
        if let Some(item) = text.strip_prefix(mark) {
            return Some(("•".to_owned(), item));
        }
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let item = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    (1..=4).contains(&digits).then(|| (format!("{number}{}", &rest[..1]), item))
}

/// A line's text with its emphasis. `is_open`: there may be more of the line.
fn inline(text: &str, look: Look, is_open: bool, depth: u32) -> Row {
    let mut row = Row::default();
    if depth > DEPTH_MAX || text.len() > INLINE_BYTES_MAX {
        row.push(look, text);
        return row;
    }
    let mut before = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\\' => escaped(rest).map(|(length, text)| (length, Row::new(look, text))),
            '`' => code(rest, is_open),
            '*' | '_' => emphasis(rest, before, look, is_open, depth),
            '[' => link(rest, look),
            _ => None,
        };
        let (length, piece) = taken.unwrap_or_else(|| {
            let end = rest[c.len_utf8()..]
                .find(['\\', '`', '*', '_', '['])
                .map_or(rest.len(), |at| at + c.len_utf8());
            (end, Row::new(look, &rest[..end]))
        });
        before = rest[..length].chars().next_back();
        row = row.and(&piece);
        rest = &rest[length..];
    }
    row
}

fn escaped(rest: &str) -> Option<(usize, &str)> {
    let next = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
    Some((1 + next.len_utf8(), &rest[1..=next.len_utf8()]))
}

fn code(rest: &str, is_open: bool) -> Option<(usize, Row)> {
    let length = rest.bytes().take_while(|byte| *byte == b'`').count();
    let inside = &rest[length..];
    let mut at = 0;
    while let Some(found) = inside[at..].find('`').map(|found| found + at) {
        let run = inside[found..].bytes().take_while(|byte| *byte == b'`').count();
        if run == length {
            return Some((length + found + run, Row::new(CODE, inside[..found].trim_matches(' '))));
        }
        at = found + run;
    }
    (is_open && !inside.is_empty()).then(|| (rest.len(), Row::new(CODE, inside)))
}

/// Emphasis that `rest` begins with. Underscores within a word are none.
fn emphasis(rest: &str, before: Option<char>, look: Look, is_open: bool, depth: u32) -> Option<(usize, Row)> {
    let mark = if rest.starts_with("**") || rest.starts_with("__") { &rest[..2] } else { &rest[..1] };
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_underscore = mark.starts_with('_');
    let inside = &rest[mark.len()..];
    if inside.chars().next().is_none_or(char::is_whitespace) || (is_underscore && is_word(before)) {
        return None;
    }
    let inner = match mark.len() {
        2 => Look { is_bold: true, ..look },
        _ => Look { is_italic: true, ..look },
    };
    let places = inside.char_indices().map(|(at, _)| at).filter(|at| inside[*at..].starts_with(mark));
    let end = places.into_iter().find(|at| {
        let (within, after) = (&inside[..*at], &inside[at + mark.len()..]);
        // The last ones of a row of marks are what ends it; one alone is none of two.
        let is_last = !after.starts_with(&mark[..1]) && (mark.len() == 2 || !within.ends_with(mark));
        let ends_word = !within.is_empty() && !within.ends_with(char::is_whitespace);
        is_last && ends_word && !(is_underscore && is_word(after.chars().next()))
    });
    match end {
        Some(end) => {
            let length = mark.len() * 2 + end;
            Some((length, inline(&inside[..end], inner, false, depth + 1)))
        }
        None if is_open && mark.len() == 2 => Some((rest.len(), inline(inside, inner, true, depth + 1))),
        None => None,
    }
}

/// A link: what it says, and where it leads.
fn link(rest: &str, look: Look) -> Option<(usize, Row)> {
    let (title, after) = rest[1..].split_once("](")?;
    let (target, _) = after.split_once(')')?;
    if title.contains(['[', ']']) || target.contains(char::is_whitespace) {
        return None;
    }
    let mut row = Row::new(look, title);
    if title != target {
        row.push(Look { is_dim: true, ..look }, &format!(" ({target})"));
    }
    Some((1 + title.len() + 2 + target.len() + 1, row))
}
