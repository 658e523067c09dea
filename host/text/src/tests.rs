//! Tests of what is escaped, and how.

use super::*;

#[test]
fn hidden_characters_are_shown_escaped_and_the_rest_stays() {
    for (given, expected) in [
        ("a\tb\nc", "a\tb\nc"),
        ("\u{1b}[31mred\u{1b}[0m", r"\u{1b}[31mred\u{1b}[0m"),
        ("\u{9b}2J\u{7f}\u{0}", r"\u{9b}2J\u{7f}\u{0}"),
        ("over\rwritten\r\nnext\r\r\n", "over\\rwritten\nnext\\r\n"),
        ("a\u{202e}b\u{2066}c\u{61c}\u{200e}", r"a\u{202e}b\u{2066}c\u{61c}\u{200e}"),
        ("a\u{ad}b\u{200b}c\u{feff}d\u{2060}e\u{3164}", r"a\u{ad}b\u{200b}c\u{feff}d\u{2060}e\u{3164}"),
        ("a\u{2028}b\u{2029}c\u{85}", r"a\u{2028}b\u{2029}c\u{85}"),
        ("\u{e0041}\u{e0100}\u{fe00}", r"\u{e0041}\u{e0100}\u{fe00}"),
        ("\u{e000}\u{10fffd}\u{ffff}", r"\u{e000}\u{10fffd}\u{ffff}"),
        ("👩\u{200d}🔬 ❤\u{fe0f} \u{200c}نامه‌ای", "👩\u{200d}🔬 ❤\u{fe0f} \u{200c}نامه‌ای"),
        ("1\u{a0}000\u{202f}€ 日\u{3000}本 \u{600}", "1\u{a0}000\u{202f}€ 日\u{3000}本 \u{600}"),
    ] {
        assert_eq!(plain(given), expected, "{given:?}");
        assert_eq!(plain(expected), expected, "made safe twice: {given:?}");
    }
}

#[test]
fn a_row_has_no_line_feed_and_no_tab() {
    assert_eq!(row("a\r\nb\tc\u{1b}"), r"a\r\nb\tc\u{1b}");
    assert!(matches!(row("nothing to do"), Cow::Borrowed(_)));
}

#[test]
fn one_line_is_one_line_and_bounded() {
    assert_eq!(one_line("  a \n\t b\u{2028}c\u{85}d ", 20), "a b c d");
    assert_eq!(one_line("abcdef", 3), "abc…");
    assert_eq!(one_line("abc", 3), "abc");
    assert_eq!(one_line("abc d", 3), "abc…");
    assert_eq!(one_line("abc d", 4), "abc …");
    assert_eq!(one_line("a \u{1b}b", 20), r"a \u{1b}b");
    assert_eq!(one_line("a\u{1b}b", 3), r"a\u…");
}

#[test]
fn json_keeps_all_and_shows_what_cannot_be_seen() {
    let given = "\"a\u{1b}\u{9b}\u{202e}\u{7f}\u{2028}\u{feff}é\u{200d}\u{a0}\u{e0041}\"";
    assert_eq!(json(given), r#""a\u001b\u009b\u202e\u007f\u2028\ufeffé\u200d\u00a0\udb40\udc41""#);
}

/// Each of the tables that this crate stands for knew some of these.
#[test]
fn what_deceives_a_reader_is_hidden() {
    let ranges = [
        '\0'..='\u{8}',
        '\u{b}'..='\u{1f}',
        '\u{7f}'..='\u{9f}',
        '\u{200e}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{fff9}'..='\u{fffb}',
        '\u{e0000}'..='\u{e0fff}',
    ];
    let alone = ['\u{ad}', '\u{61c}', '\u{180e}', '\u{200b}', '\u{feff}'];
    for c in ranges.into_iter().flatten().chain(alone) {
        assert!(is_hidden(c) && is_ambiguous(c), "{c:?}");
    }
    for c in ['\u{200c}', '\u{200d}', '\u{a0}', '\u{3000}', '\u{fe0f}'] {
        assert!(!is_hidden(c) && is_ambiguous(c), "{c:?}");
    }
    for c in [' ', '~', 'é', '日', '🔬', '\u{301}', '\u{fffd}'] {
        assert!(!is_ambiguous(c), "{c:?}");
    }
}
