//! Which files a pattern finds.

use super::*;

fn found(dir: &TempDir, path: &str, pattern: &str, include_ignored: bool) -> Result<String, ToolError> {
    let args = Glob { pattern: pattern.to_owned(), path: path.to_owned(), include_ignored };
    crate::find::find(dir.path(), &args)
}

fn project() -> TempDir {
    workspace(&[
        (".gitignore", "target\n/private.rs\n"),
        (".ignore", "!private.rs\n"),
        (".github/ci.yml", ""),
        (".git/config.yml", ""),
        ("README.md", ""),
        ("private.rs", ""),
        ("src/main.rs", ""),
        ("src/a/b.rs", ""),
        ("src/a/c.txt", ""),
        ("src/a/.gitignore", "c.*\n"),
        ("target/x.rs", ""),
    ])
}

#[track_caller]
fn check(pattern: &str, expected: &[&str]) {
    assert_eq!(found(&project(), "", pattern, false), Ok(expected.join("\n")), "{pattern}");
}

#[test]
fn a_pattern_is_of_names_or_of_paths() {
    check("*.rs", &["private.rs", "src/a/b.rs", "src/main.rs"]);
    check("src/*.rs", &["src/main.rs"]);
    check("./src/**/*.rs", &["src/a/b.rs", "src/main.rs"]);
    check("/src/a/", &["src/a/b.rs"]);
    check("/workspace/src/**/*.rs", &["src/a/b.rs", "src/main.rs"]);
    check("*.{md,toml}", &["README.md"]);
    check("[pm]*.rs", &["private.rs", "src/main.rs"]);
    check("**", &["README.md", "private.rs", "src/a/b.rs", "src/main.rs"]);
    check("b.rs", &["src/a/b.rs"]);
}

#[test]
fn hidden_and_ignored_files_are_left_out_unless_they_are_meant() {
    let dir = project();
    assert_eq!(
        found(&dir, "", "*.yml", false),
        Ok("no file matches `*.yml` in `.`; hidden and ignored files were left out (include_ignored = true takes \
            them in)"
            .to_owned())
    );
    check(".github/*", &[".github/ci.yml"]);
    assert_eq!(
        found(&dir, "", "*.yml", true),
        Ok(".github/ci.yml".to_owned()),
        "but never what is git's own"
    );
    assert_eq!(found(&dir, ".github", "*.yml", false), Ok(".github/ci.yml".to_owned()));
    assert_eq!(found(&dir, "target", "*.rs", false), Ok("target/x.rs".to_owned()));
    assert_eq!(found(&dir, "", "c.txt", true), Ok("src/a/c.txt".to_owned()));
    assert!(found(&dir, "src", "c.txt", false).is_ok_and(|answer| answer.starts_with("no file matches")));
}

#[test]
fn paths_are_of_the_workspace_whatever_was_searched() {
    let dir = project();
    assert_eq!(found(&dir, "src", "a/*.rs", false), Ok("src/a/b.rs".to_owned()));
    assert_eq!(
        found(&dir, "src/a", "zzz", false),
        Ok("no file matches `zzz` in `src/a`; hidden and ignored files \
        were left out (include_ignored = true takes them in)"
            .to_owned())
    );
    let dir = workspace(&[("a", "")]);
    assert_eq!(found(&dir, "", "zzz", false), Ok("no file matches `zzz` in `.`".to_owned()));
}

/// Of thousands of files.
pub(super) fn check_crowd(dir: &TempDir) {
    let answer = found(dir, "", "*.txt", false).expect("an answer");
    assert_eq!(answer.lines().count(), 501);
    assert!(answer.starts_with("many/0000.txt\nmany/0001.txt\n"));
    assert!(answer.contains("[the first 500 of 5001 files: make the pattern narrower"), "{answer}");
}

#[test]
fn what_is_no_pattern_is_refused() {
    let dir = project();
    let message = |pattern: &str| invalid(found(&dir, "", pattern, false));
    assert!(message("").contains("`pattern` is empty"));
    assert!(message("a[").starts_with("`pattern`: "), "{}", message("a["));
    assert!(message("{a").contains("write `\\` before"), "{}", message("{a"));
    assert!(message("../*").contains("name the directory in `path`"));
    assert!(message(&"*".repeat(501)).contains("longer than 500 bytes"));
    assert!(invalid(found(&dir, "README.md", "*", false)).contains("is a file"));
    assert_eq!(invalid(found(&dir, "nowhere", "*", false)), "there is no `nowhere` in the workspace");
    assert!(invalid(found(&dir, "..", "*", false)).contains("leads out of the workspace"));
}

#[test]
fn a_file_of_rules_that_is_none_does_no_harm() {
    let dir =
        workspace(&[("a.txt", ""), ("b/.gitignore", "[\n{a\n*.txt\n"), ("b/c.txt", ""), ("b/d.md", "")]);
    put(&dir, "d/.gitignore", b"\xff\xfe\n");
    put(&dir, "e/.gitignore", &b"*.md\n".repeat(1 << 20));
    put(&dir, "e/f.md", b"");
    assert_eq!(found(&dir, "", "*.{txt,md}", false), Ok("a.txt\nb/d.md\ne/f.md".to_owned()));
}

#[cfg(unix)]
#[test]
fn a_link_is_no_file_of_rules_wherever_the_search_begins() {
    let dir = workspace(&[("rules", "*.txt\n"), ("b/c.txt", "")]);
    std::os::unix::fs::symlink("rules", dir.path().join(".gitignore")).expect("a link");
    for path in ["", "b"] {
        assert_eq!(found(&dir, path, "*.txt", false), Ok("b/c.txt".to_owned()), "{path}");
    }
}
