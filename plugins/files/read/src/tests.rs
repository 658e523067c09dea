//! Listing and reading, in a directory of each test's own.

use std::fs;

use rewake_sdk::testing;
use tempfile::TempDir;

use super::*;

fn workspace(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
    dir
}

fn read_from(dir: &TempDir, path: &str, from_line: u32, lines: Option<u32>) -> Result<String, ToolError> {
    read(dir.path(), &Read { path: path.to_owned(), from_line, lines })
}

#[test]
fn a_listing_shows_kinds_and_sizes_in_order() {
    let dir = workspace(&[("b.txt", "12345"), ("a/c.txt", "1"), ("a/d/e.txt", "")]);
    let shown = |depth| list(dir.path(), &List { path: String::new(), depth });
    assert_eq!(shown(1), Ok("a/\nb.txt (5 bytes)".to_owned()));
    assert_eq!(shown(2), Ok("a/\na/c.txt (1 bytes)\na/d/\nb.txt (5 bytes)".to_owned()));
    assert!(matches!(shown(0), Err(ToolError::InvalidInput(_))));
    assert!(matches!(shown(9), Err(ToolError::InvalidInput(_))));
}

#[test]
fn a_long_listing_stops_and_says_so() {
    let dir = workspace(&[]);
    for number in 0..=ENTRIES_MAX {
        fs::write(dir.path().join(number.to_string()), "").expect("a file");
    }
    let listed = list(dir.path(), &List { path: ".".to_owned(), depth: 1 }).expect("a listing");
    assert_eq!(listed.lines().count(), ENTRIES_MAX + 1);
    assert!(listed.ends_with("fewer levels]"), "{listed}");
}

#[test]
fn a_short_file_is_given_as_it_is() {
    let dir = workspace(&[("a.txt", "one\ntwo"), ("empty", "")]);
    assert_eq!(read_from(&dir, "a.txt", 1, None), Ok("one\ntwo".to_owned()));
    assert_eq!(read_from(&dir, "/workspace/a.txt", 2, None), Ok("two".to_owned()));
    assert_eq!(read_from(&dir, "empty", 1, None), Ok("[`empty` is empty]".to_owned()));
}

#[test]
fn a_piece_says_where_to_go_on() {
    let dir = workspace(&[("a.txt", "1\n2\n3\n4\n")]);
    let piece = "2\n3\n[lines 2 to 3 of 4; go on with from_line = 4]";
    assert_eq!(read_from(&dir, "a.txt", 2, Some(2)), Ok(piece.to_owned()));
    assert!(matches!(read_from(&dir, "a.txt", 5, None), Err(ToolError::InvalidInput(_))));
    assert!(matches!(read_from(&dir, "a.txt", 0, None), Err(ToolError::InvalidInput(_))));
}

#[test]
fn an_answer_is_never_longer_than_its_limit_and_a_hint() {
    let dir = workspace(&[("many", &"0123456789\n".repeat(10_000)), ("wide", &"ä".repeat(50_000))]);
    for path in ["many", "wide"] {
        let answer = read_from(&dir, path, 1, None).expect(path);
        assert!(answer.len() < ANSWER_BYTES_MAX + 200, "{path}: {}", answer.len());
        assert!(answer.contains('['), "{path} has a hint");
    }
    assert!(read_from(&dir, "many", 10_000, None).is_ok_and(|line| line == "0123456789\n"));
}

#[test]
fn what_cannot_be_read_is_explained() {
    let dir = workspace(&[("a/b", "")]);
    fs::write(dir.path().join("bytes"), [0xff, 0xfe]).expect("a file");
    let message = |path| read_from(&dir, path, 1, None).expect_err(path).message().to_owned();
    assert_eq!(message("c"), "there is no `c` in the workspace");
    assert_eq!(message("a"), "`a` is a directory; list_files shows what is in it");
    assert_eq!(message("bytes"), "`bytes` is no text: 2 bytes");
    assert!(message("../x").contains("leads out of the workspace"));
}

#[test]
fn models_are_told_what_the_tools_take() {
    let def = testing::tool_def::<read_file>();
    assert_eq!((def.name.as_str(), def.effect), ("read_file", Effect::Pure));
    assert!(def.input_schema.as_str().contains("A text file, relative to the workspace."));
    assert_eq!(testing::tool_def::<list_files>().effect, Effect::Pure);
}
