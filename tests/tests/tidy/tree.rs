//! The tree under test: which files it has, what they say, and how a violation is told.
//!
//! Knows git and folders; knows no rule.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use walkdir::{DirEntry, WalkDir};

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Path from the root of the tree.
    pub(crate) file: String,
    /// Counted from 1; 1 also where the rule is about the whole file.
    pub(crate) line: usize,
    /// The rule, and what to do instead.
    pub(crate) rule: String,
}

impl Violation {
    pub(crate) fn new(file: &str, line: usize, rule: impl Into<String>) -> Violation {
        Violation { file: file.to_owned(), line, rule: rule.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Fails with every violation, one a line, in the form that editors can jump to.
#[track_caller]
pub(crate) fn assert_none(violations: impl IntoIterator<Item = Violation>) {
    let lines: Vec<String> = violations.into_iter().map(|violation| violation.to_string()).collect();
    assert!(lines.is_empty(), "{} violation(s):\n{}", lines.len(), lines.join("\n"));
}

/// The workspace's files, by paths from its root with `/` between the parts.
pub(crate) struct Tree {
    root: PathBuf,
    /// What is in git or could be added to it, so that new work is checked before it is committed.
    pub(crate) present: Vec<String>,
    /// What is in git.
    pub(crate) tracked: Vec<String>,
}

impl Tree {
    /// Asks git; where there is no git (a source archive), every file but build products counts.
    pub(crate) fn read() -> Tree {
        let root = root();
        let listed = git_files(&root, &["--cached", "--others", "--exclude-standard"])
            .zip(git_files(&root, &["--cached"]));
        let (present, tracked) = listed.unwrap_or_else(|| {
            let walked = walk(&root);
            (walked.clone(), walked)
        });
        let present: Vec<String> = present.into_iter().filter(|path| root.join(path).is_file()).collect();
        assert!(present.iter().any(|path| path == "Cargo.toml"), "no Cargo.toml found in {}", root.display());
        Tree { root, present, tracked }
    }

    /// A file's text; empty where the file does not exist, which each check reports in its own words.
    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    /// Runs a check over every file with one of the extensions.
    pub(crate) fn each(
        &self,
        extensions: &[&str],
        check: fn(&str, &str) -> Vec<Violation>,
    ) -> Vec<Violation> {
        let wanted = |path: &&String| extensions.iter().any(|&extension| has_extension(path, extension));
        self.present.iter().filter(wanted).flat_map(|path| check(path, &self.text(path))).collect()
    }
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// The workspace's root: this package is the folder `tests` in it.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a folder of the workspace")
        .to_owned()
}

/// The line of `text` where the key `name` stands at its beginning, else line 1.
pub(crate) fn line_of(text: &str, name: &str) -> usize {
    let starts = |line: &str| {
        line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=', ']']))
    };
    text.lines().position(starts).map_or(1, |index| index + 1)
}

fn git_files(root: &Path, options: &[&str]) -> Option<Vec<String>> {
    let output =
        Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).args(options).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let files: Vec<String> = text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (output.status.success() && !files.is_empty()).then_some(files)
}

/// What git would list: no build folder, no hidden git data, no component built beside its manifest.
fn walk(root: &Path) -> Vec<String> {
    let skipped = |entry: &DirEntry| {
        entry.depth() == 1 && (entry.file_name() == "target" || entry.file_name() == ".git")
    };
    let entries = WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(|entry| !skipped(entry));
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let relative =
        files.filter_map(|entry| entry.path().strip_prefix(root).ok()?.to_str().map(str::to_owned));
    let component = |path: &String| {
        has_extension(path, "wasm") && (path.starts_with("plugins/") || path.starts_with("examples/"))
    };
    relative.filter(|path| !component(path)).collect()
}

#[test]
fn a_violation_reads_as_a_place() {
    assert_eq!(Violation::new("a/b.rs", 7, "too long").to_string(), "a/b.rs:7: too long");
}

#[test]
#[should_panic(expected = "a.rs:1: no")]
fn a_violation_fails_the_test() {
    assert_none([Violation::new("a.rs", 1, "no")]);
}

#[test]
fn a_key_is_found_where_it_stands() {
    let text = "[dependencies]\nserde_json.workspace = true\nserde = \"1\"\n";
    assert_eq!(line_of(text, "serde"), 3);
    assert_eq!(line_of(text, "serde_json"), 2);
    assert_eq!(line_of(text, "tokio"), 1);
}

#[test]
fn walking_finds_what_git_knows_and_no_build_product() {
    let folder = tempfile::tempdir().unwrap();
    for path in
        ["Cargo.toml", "src/lib.rs", "target/debug/x.d", ".git/HEAD", "plugins/files/read.wasm", "other.wasm"]
    {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let mut found = walk(folder.path());
    found.sort();
    assert_eq!(found, ["Cargo.toml", "other.wasm", "src/lib.rs"]);
}
