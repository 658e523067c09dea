//! Writing and editing, in a directory of each test's own.

mod edit;
mod nearest;

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

#[test]
fn a_file_is_made_with_its_directories_and_then_replaced() {
    let dir = workspace();
    assert_eq!(write_to(&dir, "a/b/c.txt", "one"), Ok("wrote `a/b/c.txt`: 3 bytes".to_owned()));
    assert_eq!(write_to(&dir, "/workspace/a/b/c.txt", "two2"), Ok("wrote `a/b/c.txt`: 4 bytes".to_owned()));
    assert_eq!(write_to(&dir, "a/b/c.txt", "two2"), Ok("wrote `a/b/c.txt`: 4 bytes".to_owned()));
    assert_eq!(text(&dir, "a/b/c.txt"), "two2");
    let left = fs::read_dir(dir.path().join("a/b")).expect("a listing").count();
    assert_eq!(left, 1, "nothing is left beside the file");
    assert_eq!(write_to(&dir, "empty", ""), Ok("wrote `empty`: 0 bytes".to_owned()));
    assert_eq!(text(&dir, "empty"), "");
}

#[test]
fn what_cannot_be_written_is_refused_and_changes_nothing() {
    let dir = workspace();
    write_to(&dir, "a/b", "text").expect("a file");
    for path in ["", ".", "a", "new/", "../x", "/etc/x", "a/b/c", "a\0"] {
        assert!(matches!(write_to(&dir, path, "x"), Err(ToolError::InvalidInput(_))), "{path}");
    }
    let large = "x".repeat(FILE_BYTES_MAX + 1);
    assert!(matches!(write_to(&dir, "a/b", &large), Err(ToolError::InvalidInput(_))));
    let error = write_to(&dir, "a/b/", "x").expect_err("no directory");
    assert_eq!(error.message(), "`a/b` is to be a file: leave out the `/` at its end");
    assert_eq!(text(&dir, "a/b"), "text");
    let top = fs::read_dir(dir.path()).expect("a listing").count();
    assert_eq!(top, 1, "nothing was made");
}

#[test]
fn a_name_as_long_as_names_can_be_is_written() {
    let dir = workspace();
    let name = format!("{}.txt", "ä".repeat(125));
    assert_eq!(write_to(&dir, &name, "x"), Ok(format!("wrote `{name}`: 1 bytes")));
    assert_eq!(text(&dir, &name), "x");
    let error = write_to(&dir, &"x".repeat(256), "x").expect_err("too long");
    assert!(error.message().contains("xxx"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).expect("a listing").count(), 1, "nothing is left");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_replaced_by_a_file() {
    let dir = workspace();
    write_to(&dir, "real", "text").expect("a file");
    std::os::unix::fs::symlink("real", dir.path().join("link")).expect("a link");
    let error = write_to(&dir, "link", "new").expect_err("a link");
    assert_eq!(error.message(), "`link` is a link to `real`: change what it leads to itself");
    assert_eq!(text(&dir, "real"), "text");
}

/// Else what is protected by its name could be written under another.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_on_the_way() {
    let dir = workspace();
    write_to(&dir, "real/a", "text").expect("a file");
    std::os::unix::fs::symlink("real", dir.path().join("docs")).expect("a link");
    for path in ["docs/a", "docs/new/b"] {
        let error = write_to(&dir, path, "new").expect_err("a link");
        assert_eq!(error.message(), "`docs` is a link to `real`: change what it leads to itself", "{path}");
    }
    assert_eq!(text(&dir, "real/a"), "text");
    assert_eq!(fs::read_dir(dir.path().join("real")).expect("a listing").count(), 1);
}

/// `N-A1`: what is written beside a file never has the name of a file that is there.
#[test]
fn files_of_others_beside_it_are_left_alone() {
    let dir = workspace();
    write_to(&dir, "a.md.rewake-part", "mine").expect("a file");
    write_to(&dir, "a.md", "new").expect("a file");
    assert_eq!((text(&dir, "a.md.rewake-part").as_str(), text(&dir, "a.md").as_str()), ("mine", "new"));
    assert_eq!(fs::read_dir(dir.path()).expect("a listing").count(), 2, "nothing else is left");
}

/// `N-A1`: an edit is of the text that was read, or nothing is written.
#[test]
fn a_file_that_changed_since_it_was_read_is_not_replaced() {
    let dir = workspace();
    write_to(&dir, "a.md", "newer").expect("a file");
    let place = crate::file(dir.path(), "a.md").expect("a place");
    let error = crate::replace(&place, Some("older"), "edited").expect_err("it changed");
    assert!(error.message().contains("`a.md` was changed by something else"), "{error}");
    assert_eq!(text(&dir, "a.md"), "newer");
    assert_eq!(fs::read_dir(dir.path()).expect("a listing").count(), 1, "nothing is left");
}

#[test]
fn repeating_is_declared_as_it_is() {
    assert_eq!(testing::tool_def::<write_file>().effect, Effect::Idempotent);
    assert_eq!(testing::tool_def::<edit_file>().effect, Effect::Once);
}
