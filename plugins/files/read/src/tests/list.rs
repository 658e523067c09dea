//! What is shown of a directory.

use super::*;

fn list_of(dir: &TempDir, path: &str, depth: u32) -> Result<String, ToolError> {
    crate::list::list(dir.path(), &List { path: path.to_owned(), depth })
}

#[test]
fn a_listing_shows_kinds_and_sizes_in_order() {
    let dir = workspace(&[("b.txt", "12345"), ("a/c.txt", "1"), ("a/d/e.txt", ""), (".env", "x")]);
    let shown = |depth| list_of(&dir, "", depth);
    assert_eq!(shown(1), Ok(".env (1 bytes)\na/\nb.txt (5 bytes)".to_owned()));
    assert_eq!(shown(2), Ok(".env (1 bytes)\na/\na/c.txt (1 bytes)\na/d/\nb.txt (5 bytes)".to_owned()));
    assert_eq!(list_of(&dir, "/workspace/a", 2), Ok("c.txt (1 bytes)\nd/\nd/e.txt (0 bytes)".to_owned()));
    assert_eq!(invalid(shown(0)), "`depth` must be 1 to 8");
    assert_eq!(invalid(shown(9)), "`depth` must be 1 to 8");
}

#[test]
fn what_is_ignored_is_named_and_not_gone_into() {
    let dir = workspace(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".git/HEAD", "x"),
        ("a/keep.log", ""),
        ("a/x.log", ""),
        ("target/debug/x", ""),
    ]);
    let expected = ".git/\n.gitignore (24 bytes)\na/\na/keep.log (0 bytes)\na/x.log (0 bytes, ignored)\n\
                    target/ (ignored)";
    assert_eq!(list_of(&dir, "", 3), Ok(expected.to_owned()));
    assert_eq!(list_of(&dir, "target", 2), Ok("debug/\ndebug/x (0 bytes)".to_owned()));
    assert_eq!(list_of(&dir, ".git", 1), Ok("HEAD (1 bytes)".to_owned()));
    assert_eq!(
        list_of(&dir, "a", 1),
        Ok("keep.log (0 bytes)\nx.log (0 bytes, ignored)".to_owned()),
        "rules of the directories above hold"
    );
}

/// Of a directory of thousands.
pub(super) fn check_crowd(dir: &TempDir) {
    let listed = list_of(dir, "many", 1).expect("a listing");
    assert_eq!(listed.lines().count(), 501);
    assert!(
        listed
            .ends_with("[the first 500 of 5000 entries are shown: glob finds others by name, such as `a*`]")
    );
    // One directory of many files does not hide the others.
    let listed = list_of(dir, ".", 2).expect("a listing");
    assert_eq!(listed.lines().count(), 103);
    assert!(listed.ends_with("many/0099.txt (10 bytes)\nmany/… (4900 more)\ntop.txt (0 bytes)"), "{listed}");
}

#[test]
fn a_long_listing_of_levels_stops_and_says_so() {
    let dir = workspace(&[]);
    for number in 0..9 {
        for file in 0..60 {
            put(&dir, &format!("dirs/{number}/{file}"), b"");
        }
    }
    let listed = list_of(&dir, "dirs", 2).expect("a listing");
    assert_eq!(listed.lines().count(), 501);
    assert!(listed.ends_with("list a directory below, or fewer levels]"), "{listed}");
}

#[test]
fn what_cannot_be_listed_is_explained() {
    let dir = workspace(&[("a", "")]);
    fs::create_dir(dir.path().join("empty")).expect("a directory");
    assert_eq!(list_of(&dir, "empty", 1), Ok("`empty` is empty".to_owned()));
    assert_eq!(invalid(list_of(&dir, "a", 1)), "`a` is a file, not a directory; read_file shows it");
    assert_eq!(invalid(list_of(&dir, "b", 1)), "there is no `b` in the workspace");
    assert!(invalid(list_of(&dir, "..", 1)).contains("leads out of the workspace"));
}

#[cfg(unix)]
#[test]
fn a_link_is_an_entry_and_is_not_followed() {
    let dir = workspace(&[("a/b", "")]);
    std::os::unix::fs::symlink("a", dir.path().join("link")).expect("a link");
    std::os::unix::fs::symlink(".", dir.path().join("a/loop")).expect("a link");
    assert_eq!(list_of(&dir, "", 8), Ok("a/\na/b (0 bytes)\na/loop (link)\nlink (link)".to_owned()));
}
