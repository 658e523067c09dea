//! The rule that an example is read in a few minutes, and is tested as bundles are.
//!
//! Counts lines of files; what is in them is the business of `rewake bundle test`.

use crate::tree::Violation;

/// All of an example's files together, but its Cargo.toml.
const LINES_MAX: usize = 150;
/// What there must be one of, at least.
const KINDS: [&str; 4] = ["tool", "hook", "harness", "publisher"];

/// `files` are paths and texts.
pub(crate) fn small(files: &[(&str, String)]) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in KINDS {
        let folder = format!("examples/{name}/");
        let all: Vec<_> = files.iter().filter(|(path, _)| path.starts_with(&folder)).collect();
        let lines: usize =
            all.iter().filter(|(path, _)| counts(path)).map(|(_, text)| text.lines().count()).sum();
        if lines > LINES_MAX {
            let rule = format!("the example has {lines} lines and may have {LINES_MAX}");
            found.push(Violation::new(&folder, 1, rule));
        }
        let is_case = |path: &str| {
            path.strip_prefix(&folder)
                .and_then(|path| path.strip_prefix("tests/"))
                .is_some_and(|name| name.ends_with(".toml") && !name.contains('/'))
        };
        if !all.iter().any(|(path, _)| is_case(path)) {
            found.push(Violation::new(&folder, 1, "the example has no tests/*.toml"));
        }
    }
    found
}

/// Not what cargo needs, nor what a build makes.
fn counts(path: &str) -> bool {
    !path.ends_with("Cargo.toml") && !path.ends_with("bundle.lock")
}

#[test]
fn large_and_untested_examples_are_told() {
    let file = |path: &'static str, lines: usize| (path, "x\n".repeat(lines));
    let mut files: Vec<(&str, String)> = Vec::new();
    for path in ["examples/tool/tests/a.toml", "examples/hook/tests/a.toml", "examples/harness/tests/a.toml"]
    {
        files.push(file(path, 10));
    }
    files.push(file("examples/publisher/tests/fixtures/a.toml", 1));
    assert_eq!(small(&files).len(), 1, "no cases");
    files.push(file("examples/publisher/tests/a.toml", LINES_MAX - 1));
    files.push(file("examples/publisher/Cargo.toml", LINES_MAX));
    assert_eq!(small(&files), []);
    files.push(file("examples/publisher/src/lib.rs", 1));
    assert_eq!(small(&files).len(), 1, "too long");
}
