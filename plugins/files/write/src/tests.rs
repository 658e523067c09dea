//! Writing and editing, in a directory of each test's own.

use std::fs;

use rewake_sdk::testing;
use tempfile::TempDir;

use super::*;

fn workspace() -> TempDir {
    TempDir::new().expect("a directory")
}

fn text(dir: &TempDir, path: &str) -> String {
    fs::read_to_string(dir.path().join(path)).expect(path)
}

fn write_to(dir: &TempDir, path: &str, content: &str) -> Result<String, ToolError> {
    write(dir.path(), &Write { path: path.to_owned(), content: content.to_owned() })
}

fn edit_in(dir: &TempDir, old: &str, new: &str) -> Result<String, ToolError> {
    let (path, old, new) = ("a".to_owned(), old.to_owned(), new.to_owned());
    edit(dir.path(), &Edit { path, old, new })
}

#[test]
fn a_file_is_made_with_its_directories_and_then_replaced() {
    let dir = workspace();
    assert_eq!(write_to(&dir, "a/b/c.txt", "one"), Ok("wrote `a/b/c.txt`: 3 bytes".to_owned()));
    assert_eq!(write_to(&dir, "/workspace/a/b/c.txt", "two2"), Ok("wrote `a/b/c.txt`: 4 bytes".to_owned()));
    assert_eq!(write_to(&dir, "a/b/c.txt", "two2"), Ok("wrote `a/b/c.txt`: 4 bytes".to_owned()));
    assert_eq!(text(&dir, "a/b/c.txt"), "two2");
    let left = fs::read_dir(dir.path().join("a/b")).expect("a listing").count();
    assert_eq!(left, 1, "nothing is left beside the file");
}

#[test]
fn what_cannot_be_written_is_refused_and_changes_nothing() {
    let dir = workspace();
    write_to(&dir, "a/b", "text").expect("a file");
    for path in ["", ".", "a", "../x", "a/b/c"] {
        assert!(matches!(write_to(&dir, path, "x"), Err(ToolError::InvalidInput(_))), "{path}");
    }
    let large = "x".repeat(FILE_BYTES_MAX + 1);
    assert!(matches!(write_to(&dir, "a/b", &large), Err(ToolError::InvalidInput(_))));
    assert_eq!(text(&dir, "a/b"), "text");
}

#[test]
fn an_edit_replaces_what_is_there_once() {
    let dir = workspace();
    write_to(&dir, "a", "one\ntwo\nthree\n").expect("a file");
    assert_eq!(edit_in(&dir, "two\n", "2\n"), Ok("changed `a` at line 2".to_owned()));
    assert_eq!(text(&dir, "a"), "one\n2\nthree\n");
}

#[test]
fn an_edit_that_would_be_a_guess_says_what_to_do() {
    let dir = workspace();
    write_to(&dir, "a", "x = 1\ny = 1\naaa\n").expect("a file");
    let message = |old: &str, new: &str| edit_in(&dir, old, new).expect_err(old).message().to_owned();
    assert!(message("z", "").starts_with("`old` is not in `a`"));
    assert!(message(" = 1", "").starts_with("`old` is in `a` 2 times (line 1, 2)"));
    assert!(message("aa", "b").starts_with("`old` is in `a` 2 times (line 3, 3)"));
    assert!(message("", "b").contains("write_file"));
    assert!(message("aaa", "aaa").contains("nothing would change"));
    assert_eq!(text(&dir, "a"), "x = 1\ny = 1\naaa\n");
}

#[test]
fn an_edit_of_what_is_not_there_is_explained() {
    let dir = workspace();
    let error = edit_in(&dir, "x", "y").expect_err("no file");
    assert_eq!(error.message(), "there is no `a` in the workspace");
}

#[test]
fn repeating_is_declared_as_it_is() {
    assert_eq!(testing::tool_def::<write_file>().effect, Effect::Idempotent);
    assert_eq!(testing::tool_def::<edit_file>().effect, Effect::Once);
}
