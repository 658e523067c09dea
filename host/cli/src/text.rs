//! Text that others wrote, made safe for a terminal. Everything that comes from models, guests and bundles
//! passes here before it is shown. Knows characters, not what the text is about.

use std::fmt::Write as _;

use serde::Serialize;

/// Text without what moves the cursor, changes colours or turns the reading direction. Line feeds and tabs
/// stay, and so do zero-width joiners, which scripts and emoji need.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !is_harmful(*c)).collect()
}

/// The same on one line: runs of blanks become one, and what is over the bound is cut.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let word = plain(word);
        if word.is_empty() {
            continue;
        }
        if chars >= chars_max {
            line.push('…');
            return line;
        }
        if chars > 0 {
            line.push(' ');
            chars += 1;
        }
        for c in word.chars() {
            if chars >= chars_max {
                line.push('…');
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line
}

/// A value as one line of JSON. Characters that are harmful in a terminal stand escaped, so nothing is lost.
pub(crate) fn json_line<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    if !json.chars().any(is_escaped) {
        return Ok(json);
    }
    let mut line = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_escaped(c) {
            // All of them are in the first plane, and outside of strings JSON has none of them.
            let _ = write!(line, "\\u{:04x}", u32::from(c));
        } else {
            line.push(c);
        }
    }
    Ok(line)
}

/// What a shell takes as one word.
pub(crate) fn shell_word(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        word.to_owned()
    } else {
        format!("'{}'", plain(word).replace('\'', r"'\''"))
    }
}

fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{feff}' => true,
        c => c.is_control() || is_bidi(c),
    }
}

/// Line separators too: a reader of lines may take them for ends of one.
fn is_escaped(c: char) -> bool {
    is_harmful(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_go_and_text_stays() {
        for (given, expected) in [
            ("a\tb\nc", "a\tb\nc"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"),
            ("\u{1b}]0;title\u{7}x", "]0;titlex"),
            ("\u{9b}2J\u{90}q\u{9c}", "2Jq"),
            ("over\rwritten\u{8}\u{0}\u{7f}", "overwritten"),
            ("\r\n", "\n"),
            ("a\u{202e}b\u{2066}c\u{2069}\u{200e}\u{200f}\u{61c}", "abc"),
            ("\u{feff}x", "x"),
            ("👩\u{200d}🔬 \u{200c}نامه‌ای", "👩\u{200d}🔬 \u{200c}نامه‌ای"),
        ] {
            assert_eq!(plain(given), expected, "{given:?}");
        }
    }

    #[test]
    fn one_line_is_one_line_and_bounded() {
        assert_eq!(one_line("  a \n\t b\u{2028}c\u{85}d ", 20), "a b c d");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("abc", 3), "abc");
        assert_eq!(one_line("abc d", 3), "abc…");
        assert_eq!(one_line("abc d", 4), "abc …");
        assert_eq!(one_line("a \u{1b} b", 3), "a b");
    }

    #[test]
    fn json_keeps_all_and_shows_none_of_the_harmful() {
        let given = "a\u{1b}\u{9b}\u{202e}\u{7f}\u{2028}\u{feff}é\n\"";
        let line = json_line(&given).unwrap();
        assert_eq!(line, r#""a\u001b\u009b\u202e\u007f\u2028\ufeffé\n\"""#);
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), given);
    }

    #[test]
    fn words_for_a_shell_are_quoted_where_needed() {
        assert_eq!(shell_word("/tmp/a-b"), "/tmp/a-b");
        assert_eq!(shell_word("my data"), "'my data'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
