//! Tests of Markdown that comes in pieces.

use super::*;

const TEXT: &str = "# A *title*\n\nSome **bold words** and `co de`, snake_case_name and 2 * 3 * 4.\n\n- one\n  \
    - two is a longer item that is wrapped\n10. ten\n> said\n\n```rust\nlet **x** = \"é日本\"; // - no item\n```\n\
    See [the page](https://a.b/c_d_e) \\*plain\\*\n---\nend";

fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.ansi(true)).collect()
}

fn line(text: &str) -> String {
    shown(&Markdown::whole(text, 60, true)).join("|")
}

#[test]
fn a_text_looks_as_it_is_meant() {
    let texts: Vec<String> = Markdown::whole(TEXT, 30, true).iter().map(Row::text).collect();
    assert_eq!(
        texts,
        [
            "  A title",
            "  ",
            "  Some bold words and co de,",
            "  snake_case_name and 2 * 3 *",
            "  4.",
            "  ",
            "  • one",
            "    • two is a longer item",
            "      that is wrapped",
            "  10. ten",
            "  │ said",
            "  ",
            "  ```rust",
            "  let **x** = \"é日本\"; // - no",
            "  item",
            "  ```",
            "  See the page",
            "  (https://a.b/c_d_e) *plain*",
            "  ──────────────────────────",
            "  end",
        ]
    );
}

#[test]
fn emphasis_code_and_headings_have_looks() {
    for (given, expected) in [
        ("**b** c", "  \x1b[1mb\x1b[0m c"),
        ("a *i* _j_", "  a \x1b[3mi\x1b[0m \x1b[3mj\x1b[0m"),
        ("***both***", "  \x1b[1;3mboth\x1b[0m"),
        ("`x*y*`", "  \x1b[36mx*y*\x1b[0m"),
        ("``a`b``", "  \x1b[36ma`b\x1b[0m"),
        ("## T `c`", "  \x1b[1mT \x1b[0m\x1b[36mc\x1b[0m"),
        ("a_b_c __x__", "  a_b_c \x1b[1mx\x1b[0m"),
        ("**open", "  **open"),
        ("`open", "  `open"),
        ("5 * 4 ** 3", "  5 * 4 ** 3"),
        ("#no", "  #no"),
        ("> **q**", "\x1b[2m  │ \x1b[0m\x1b[1;2mq\x1b[0m"),
    ] {
        assert_eq!(line(given), expected, "{given}");
    }
}

#[test]
fn where_a_text_is_cut_makes_no_difference() {
    let whole = Markdown::whole(TEXT, 30, true);
    let places: Vec<usize> = TEXT.char_indices().map(|(at, _)| at).collect();
    for at in &places {
        let mut markdown = Markdown::new(30, true);
        markdown.push(&TEXT[..*at]);
        // What is shown meanwhile changes nothing of what comes.
        let _ = markdown.partial();
        markdown.push(&TEXT[*at..]);
        markdown.finish();
        assert_eq!(markdown.rows(), whole, "cut at {at}");
    }
    let mut markdown = Markdown::new(30, true);
    TEXT.chars().for_each(|c| markdown.push(c.encode_utf8(&mut [0; 4])));
    markdown.finish();
    assert_eq!(markdown.rows(), whole);
}

#[test]
fn an_escape_that_is_cut_reaches_no_terminal() {
    for pieces in [&["a\x1b", "[2Jb"][..], &["a\x1b[", "2Jb"], &["a\x1b[2", "Jb"], &["a", "\x1b[2Jb"]] {
        let mut markdown = Markdown::new(30, false);
        for piece in pieces {
            markdown.push(piece);
            assert!(markdown.partial().iter().all(|row| !row.ansi(false).contains('\x1b')), "{pieces:?}");
        }
        markdown.finish();
        assert_eq!(shown(markdown.rows()), [r"  a\u{1b}[2Jb"]);
    }
    assert_eq!(line("a\u{9b}2J\u{9d}0;t\u{7}b\r\u{202e}"), r"  a\u{9b}2J\u{9d}0;t\u{7}b\r\u{202e}");
}

#[test]
fn a_line_that_is_not_complete_is_shown_as_it_will_be() {
    let mut markdown = Markdown::new(30, true);
    markdown.push("so **very im");
    assert_eq!(shown(&markdown.partial()), ["  so \x1b[1mvery im\x1b[0m"]);
    assert!(markdown.rows().is_empty());
    markdown.push("portant** it is\n`co");
    assert_eq!(shown(markdown.rows()), ["  so \x1b[1mvery important\x1b[0m it is"]);
    assert_eq!(shown(&markdown.partial()), ["  \x1b[36mco\x1b[0m"]);
}

#[test]
fn without_looks_the_text_stays_as_it_was_written() {
    let rows = Markdown::whole("# T **b** `c`\n- x", 40, false);
    assert_eq!(shown(&rows), ["  # T **b** `c`", "  - x"]);
}

#[test]
fn what_is_nested_without_end_is_no_trouble() {
    let deep = format!("{}{}", "*_".repeat(3_000), "x".repeat(20_000));
    assert!(!Markdown::whole(&deep, 80, true).is_empty());
    let marks = "**a ".repeat(3_000);
    assert!(!Markdown::whole(&marks, 80, true).is_empty());
}
