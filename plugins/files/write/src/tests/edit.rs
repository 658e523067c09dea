//! What an edit makes of a file.

use proptest::{prelude::*, test_runner::RngSeed};

use super::*;
use crate::edit::{Source, put};

/// Edits a file that has this text, and gives the answer and what the file has then.
fn edited(text: &str, old: &str, new: &str, all: bool) -> (Result<String, ToolError>, String) {
    let dir = workspace();
    write_to(&dir, "a", text).expect("a file");
    let args = Edit { path: "a".to_owned(), old: old.to_owned(), new: new.to_owned(), all };
    let answer = crate::edit::edit(dir.path(), &args);
    let left = fs::read_dir(dir.path()).expect("a listing").count();
    assert_eq!(left, 1, "nothing is left beside the file");
    (answer, self::text(&dir, "a"))
}

#[track_caller]
fn check(text: &str, old: &str, new: &str, line: usize, becomes: &str) {
    let (answer, now) = edited(text, old, new, false);
    assert_eq!(answer, Ok(format!("changed `a` at line {line}")));
    assert_eq!(now, becomes);
}

#[track_caller]
fn refused(text: &str, old: &str, new: &str, parts: &[&str]) {
    let (answer, now) = edited(text, old, new, false);
    let Err(ToolError::InvalidInput(message)) = answer else { panic!("{answer:?}") };
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_eq!(now, text, "nothing is changed");
}

#[test]
fn what_is_there_once_is_replaced_wherever_it_is() {
    check("one\ntwo\nthree\n", "two\n", "2\n", 2, "one\n2\nthree\n");
    check("one\ntwo\nthree\n", "one", "1", 1, "1\ntwo\nthree\n");
    check("one\ntwo\nthree\n", "three\n", "3", 3, "one\ntwo\n3");
    check("one\ntwo", "two", "2\n", 2, "one\n2\n");
    check("one\ntwo\n", "one\ntwo\n", "", 1, "");
    check("one\ntwo\nthree\n", "e\ntwo\nth", "e, th", 1, "one, three\n");
    check("größer als ß\n", "als ß", "wie 日本", 1, "größer wie 日本\n");
    check("a\n\n\nb\n", "a\n", "", 1, "\n\nb\n");
}

#[test]
fn a_guess_is_an_error_that_says_where_the_text_is() {
    let text = "x = 1\ny = 1\naaa\n";
    refused(text, " = 1", "", &["2 times (line 1, 2)", "nothing was changed", "`all`"]);
    // Two places that overlap are two places.
    refused(text, "aa", "b", &["2 times (line 3, 3)"]);
    refused("äää", "ää", "b", &["2 times (line 1, 1)"]);
    refused(&"same\n".repeat(30), "same\n", "", &["30 times", "8, 9, 10, …)"]);
    refused(text, "", "b", &["`old` is empty", "write_file"]);
    refused(text, "aaa", "aaa", &["nothing would change"]);
    refused(
        "one\ntwo 2\n",
        "two\n",
        "two 2\n",
        &["`new` is there, at line 2: this edit may have been made already"],
    );
    refused("", "a", "b", &["the file is empty"]);
}

#[test]
fn every_place_is_replaced_where_that_is_wanted() {
    let (answer, now) = edited("x = 1\ny = 1\n", " = 1", " = 2", true);
    assert_eq!(answer, Ok("changed `a` at 2 places (line 1, 2)".to_owned()));
    assert_eq!(now, "x = 2\ny = 2\n");
    let (answer, now) = edited("aaaaa", "aa", "b", true);
    assert_eq!((answer, now.as_str()), (Ok("changed `a` at 2 places (line 1, 1)".to_owned()), "bba"));
    let (answer, now) = edited("one", "one", "oneone", true);
    assert_eq!((answer, now.as_str()), (Ok("changed `a` at line 1".to_owned()), "oneone"));
    let (answer, now) = edited("one", "two", "three", true);
    assert!(answer.is_err_and(|error| error.message().starts_with("`old` is not in `a`")));
    assert_eq!(now, "one");
}

#[test]
fn line_ends_stay_as_the_file_has_them() {
    check("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n2b\n", 1, "1\r\n2\r\n2b\r\nthree\r\n");
    check("one\r\ntwo\r\n", "two", "2\n3", 2, "one\r\n2\r\n3\r\n");
    check("one\r\ntwo", "two", "2\n3", 2, "one\r\n2\r\n3");
    check("one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", 1, "1\r\n2\r\n");
    check("one\r\ntwo\r\nthree", "\ntwo", "", 1, "one\r\nthree");
    check("one\ntwo\n", "one\r\ntwo", "1\n2", 1, "1\n2\n");
    check("one\ntwo\n", "one\r\ntwo", "1\r\n2", 1, "1\n2\n");
    // Of a file that has both, each place keeps its own.
    check("one\r\ntwo\nthree\r\n", "two\n", "2\n2b\n", 2, "one\r\n2\n2b\nthree\r\n");
    let (answer, now) = edited("a\r\nb\na\r\n", "a\n", "c\nd\n", true);
    assert_eq!(answer, Ok("changed `a` at 2 places (line 1, 3)".to_owned()));
    assert_eq!(now, "c\r\nd\r\nb\nc\r\nd\r\n");
    refused("one\r\ntwo\r\n", "one\r\n", "one\n", &["line ends stay", "write_file"]);
}

#[test]
fn a_file_of_ten_megabytes_is_edited() {
    let text = format!("{}needle\n{}", "0123456789\r\n".repeat(400_000), "0123456789\r\n".repeat(500_000));
    let (answer, now) = edited(&text, "needle\n", "", false);
    assert_eq!(answer, Ok("changed `a` at line 400001".to_owned()));
    assert!(now.len() == 12 * 900_000 && !now.contains("needle"));
}

#[test]
fn a_text_that_is_everywhere_is_not_counted_to_the_end() {
    let text = "x".repeat(10 << 20);
    refused(&text, "xx", "y", &["more than 1000 times"]);
    let (answer, _) = edited(&text, "x", "y", true);
    assert!(answer.is_err_and(|error| error.message().contains("more than 1000000 times")));
    let (answer, _) = edited(&"x".repeat(1 << 20)[..1_000_000], "x", &"y".repeat(20), true);
    assert!(answer.is_err_and(|error| error.message().contains("would have 20000000 bytes")));
}

/// Looking for the end of the line again at each place would take hours.
#[test]
fn many_places_on_one_long_line_are_replaced_at_once() {
    let (answer, now) = edited(&"xy".repeat(1_000_000), "x", "z", true);
    assert!(answer.is_ok_and(|answer| answer.starts_with("changed `a` at 1000000 places")));
    assert!(now == "zy".repeat(1_000_000));
}

#[test]
fn what_is_no_text_or_not_there_is_explained() {
    let dir = workspace();
    fs::write(dir.path().join("bytes"), [b'a', 0xff]).expect("a file");
    fs::create_dir(dir.path().join("folder")).expect("a directory");
    let message = |path: &str| {
        let args = Edit { path: path.to_owned(), old: "a".to_owned(), new: "b".to_owned(), all: false };
        crate::edit::edit(dir.path(), &args).expect_err(path).message().to_owned()
    };
    assert_eq!(message("x"), "there is no `x` in the workspace");
    assert_eq!(message("bytes"), "`bytes` is not text in UTF-8: it cannot be edited");
    assert_eq!(message("folder"), "`folder` is a directory, not a file");
    assert!(message("../x").contains("leads out of the workspace"));
}

proptest! {
    // Deterministic: the same cases in every run; a failing one becomes a named test.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x5e55_1035),
        ..ProptestConfig::default()
    })]

    /// Whatever the line ends are, an edit does to the text what it does to the text with plain
    /// line feeds, and leaves the line ends of all that it does not replace.
    #[test]
    fn line_ends_make_no_difference(
        text in "([ab]|\n|\r\n|ä){0,40}",
        old in "([ab]|\n){1,3}",
        new in "([abc]|\n|ö){0,4}",
    ) {
        let source = Source::of(&text);
        let plain = text.replace("\r\n", "\n");
        let places: Vec<usize> = plain.match_indices(&old).map(|(at, _)| at).collect();
        let edited = put(&source, &places, old.len(), &new);
        prop_assert_eq!(edited.replace("\r\n", "\n"), plain.replace(&old, &new));
        let crlf = plain.replace('\n', "\r\n");
        if crlf == text && text.contains('\n') {
            prop_assert_eq!(edited, plain.replace(&old, &new).replace('\n', "\r\n"));
        }
    }
}
