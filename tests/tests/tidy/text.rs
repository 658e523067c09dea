//! Rules about lines: module docs, length, white space, unfinished work, built files.
//!
//! Reads files as lines and knows no syntax; see `functions` for what needs a parser.

use crate::tree::{Violation, has_extension};

/// A file is a page. About 300 lines is normal; this is where it fails.
const FILE_LINES_MAX: usize = 500;

/// Marks of work that was not finished. Put together here so that this file does not break its rule.
const UNFINISHED: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// What a build or a run makes.
const BUILT: [&str; 3] = ["wasm", "cwasm", "db"];

pub(crate) fn module_doc(path: &str, text: &str) -> Vec<Violation> {
    let documented =
        text.lines().next().is_some_and(|line| line.starts_with("//!") && line.len() > "//! ".len());
    if documented {
        return Vec::new();
    }
    vec![Violation::new(
        path,
        1,
        "a Rust file starts with a `//!` line that says what it knows and what it does not",
    )]
}

pub(crate) fn length(path: &str, text: &str) -> Vec<Violation> {
    let lines = text.lines().count();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    let rule = format!(
        "the file has {lines} lines and may have {FILE_LINES_MAX}: cut it where its knowledge divides"
    );
    vec![Violation::new(path, FILE_LINES_MAX + 1, rule)]
}

pub(crate) fn whitespace(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, number) in text.split('\n').zip(1..) {
        if line.contains('\t') {
            found.push(Violation::new(path, number, "a tab: indent with spaces, and write \\t in a literal"));
        }
        if line.ends_with(char::is_whitespace) {
            found.push(Violation::new(path, number, "white space at the end of the line: remove it"));
        }
    }
    found
}

pub(crate) fn unfinished(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for mark in UNFINISHED.into_iter().filter(|mark| holds(line, mark)) {
            let rule = format!("`{mark}`: finish the work or open an issue; nothing unfinished is committed");
            found.push(Violation::new(path, number, rule));
        }
    }
    found
}

/// Whether the line holds the mark; a mark that is a word counts only where it stands alone, so that a
/// file name pattern of many X passes.
fn holds(line: &str, mark: &str) -> bool {
    let is_word = mark.chars().all(char::is_alphanumeric);
    line.match_indices(mark).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + mark.len()..].chars().next();
        let is_joined = before.into_iter().chain(after).any(char::is_alphanumeric);
        !(is_word && is_joined)
    })
}

pub(crate) fn built(tracked: &[String]) -> Vec<Violation> {
    let made = |path: &&String| BUILT.iter().any(|&extension| has_extension(path, extension));
    let rule = "made by a build or a run: take it out of git and into .gitignore";
    tracked.iter().filter(made).map(|path| Violation::new(path, 1, rule)).collect()
}

#[test]
fn a_file_needs_a_doc_first() {
    assert!(module_doc("a.rs", "//! Knows things.\nfn a() {}\n").is_empty());
    for text in ["", "fn a() {}\n", "// Not a doc.\n", "//!\n", "\n//! Late.\n", "#![no_main]\n//! Late.\n"] {
        assert_eq!(module_doc("a.rs", text).len(), 1, "{text:?}");
    }
}

#[test]
fn a_file_may_be_a_page_and_no_more() {
    assert!(length("a.rs", &"\n".repeat(FILE_LINES_MAX)).is_empty());
    let found = length("a.rs", &"\n".repeat(FILE_LINES_MAX + 1));
    assert_eq!((found.len(), found[0].line), (1, FILE_LINES_MAX + 1));
}

#[test]
fn tabs_and_trailing_spaces_are_found_where_they_are() {
    assert!(whitespace("a.md", "one\n\n  two\n").is_empty());
    let lines: Vec<usize> =
        whitespace("a.md", "one \n\ttwo\nthree\r\n ").iter().map(|found| found.line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}

#[test]
fn every_mark_of_unfinished_work_is_found() {
    for mark in UNFINISHED {
        let found = unfinished("a.rs", &format!("fine\n    {mark}"));
        assert_eq!((found.len(), found.first().map(|found| found.line)), (1, Some(2)), "{mark}");
    }
    let fine = format!("state-{}{}-ignored {}D", UNFINISHED[4], UNFINISHED[4], UNFINISHED[3]);
    assert_eq!(unfinished("a.rs", &fine), []);
}

#[test]
fn the_reasoned_form_of_an_ignored_test_is_found_too() {
    assert_eq!(unfinished("a.rs", concat!("#[ig", "nore = \"slow\"]")).len(), 1);
}

#[test]
fn built_files_are_told_from_sources() {
    let tracked =
        ["a/read.wasm", "x.cwasm", "rewake.db", "wasm/a.rs", "db.toml", "notes.wasm.md"].map(str::to_owned);
    let files: Vec<String> = built(&tracked).into_iter().map(|found| found.file).collect();
    assert_eq!(files, ["a/read.wasm", "x.cwasm", "rewake.db"]);
}
