//! Text of others (models, tools, bundles, files, servers) made safe for a terminal. Characters that a terminal obeys
//! or shows nothing for are escaped visibly, as `\u{1b}`, and never dropped: a reader sees that they are there, and
//! two texts that differ in them look different.
//!
//! Knows characters, not what a text is about. Depends on nothing, so that every crate can use it.

mod table;

#[cfg(test)]
mod generate;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// Whether a character does not show itself: a terminal obeys it, shows nothing for it, turns the reading direction
/// because of it, or has no agreed sign for it (private use).
pub fn is_hidden(c: char) -> bool {
    !matches!(c, ' '..='~') && is_in(table::HIDDEN, c)
}

/// Whether a reader cannot tell a character from another one or from none: a hidden one; a joiner or a variation
/// selector, which scripts and emoji need; a space that is not U+0020.
pub fn is_ambiguous(c: char) -> bool {
    !matches!(c, ' '..='~') && (is_in(table::HIDDEN, c) || is_in(table::LOOKALIKES, c))
}

/// Text of any number of lines. Line feeds and tabs stay, and a carriage return before a line feed is part of the
/// line's end.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_escaped = |c| is_hidden(c) && !matches!(c, '\n' | '\t');
    if text.contains("\r\n") {
        return Cow::Owned(escaped(&text.replace("\r\n", "\n"), is_escaped, visible).into_owned());
    }
    escaped(text, is_escaped, visible)
}

/// Text in one row, such as the name of a file: line feeds and tabs are escaped as well.
pub fn row(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, visible)
}

/// Prose in one row: each run of blanks and ends of lines is one blank, and what is over `chars_max` is cut.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut room = chars_max;
    for (at, word) in text.split_whitespace().enumerate() {
        let blank = if at > 0 { " " } else { "" };
        for c in blank.chars().chain(row(word).chars()) {
            if room == 0 {
                line.push('…');
                return line;
            }
            line.push(c);
            room -= 1;
        }
    }
    line
}

/// JSON without line breaks between its tokens. Its escapes lose nothing, so ambiguous characters are escaped too.
pub fn json(text: &str) -> Cow<'_, str> {
    escaped(text, is_ambiguous, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

fn visible(c: char, out: &mut String) {
    out.extend(c.escape_default());
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_escaped(c) {
            escape(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_in(ranges: &[(char, char)], c: char) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= ranges[after - 1].1
}
