//! Golden files are as `cargo xtask golden` wrote them: `tests/golden/list.txt` names each of them with its digest.
//!
//! Knows the list and bytes. What the files mean is tested where they are read.

use rewake_core::ids::Digest;

use crate::tree::Violation;

/// The list: a digest and a file, a line each.
pub(crate) const LIST: &str = "tests/golden/list.txt";
/// Golden files that are beside the test that reads them.
pub(crate) const ELSEWHERE: [&str; 3] =
    ["host/core/tests/laws/golden.txt", "host/core/tests/laws/written.txt", "host/core/tests/laws/chain.txt"];
/// Set by `cargo xtask golden`.
pub(crate) const UPDATE: &str = "UPDATE_GOLDEN";

/// Whether a file of the tree is a golden one.
pub(crate) fn is_golden(path: &str) -> bool {
    let is_here = path.starts_with("tests/golden/") && path != LIST && !path.ends_with("/README.md");
    is_here || ELSEWHERE.contains(&path)
}

/// The list of these files; `read` gives a file's bytes.
pub(crate) fn list(files: &[String], read: impl Fn(&str) -> Option<Vec<u8>>) -> String {
    let line = |path: &String| Some(format!("{} {path}\n", Digest::of(&read(path)?).to_hex()));
    files.iter().filter_map(line).collect()
}

/// The files that the list does not name as they are, and those that it names and that are gone.
pub(crate) fn unlisted(list: &str, made: &str) -> Vec<Violation> {
    let stale = |line: &str| {
        let path = line.split_once(' ').map_or(line, |(_, path)| path);
        Violation::new(path, 1, format!("it is not as `{LIST}` says: run `cargo xtask golden`"))
    };
    let lacks = |of: &str, line: &str| !of.lines().any(|other| other == line);
    let changed = made.lines().filter(|line| lacks(list, line));
    let gone = list.lines().filter(|line| {
        let path = line.split_once(' ').map(|(_, path)| path);
        lacks(made, line) && !made.lines().any(|other| other.split_once(' ').map(|(_, path)| path) == path)
    });
    changed.chain(gone).map(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_stays_and_what_is_there_is_listed() {
        let made = |text: &str| list(&["tests/golden/a".into()], |_| Some(text.into()));
        let kept = made("one");
        assert_eq!(unlisted(&kept, &kept).len(), 0);
        for (listed, found) in [(kept.as_str(), made("two")), ("", kept.clone()), (&kept, String::new())] {
            let wrong = unlisted(listed, &found);
            assert_eq!(wrong.len(), 1, "{listed} {found}");
            assert!(wrong[0].to_string().contains("tests/golden/a"), "{}", wrong[0]);
        }
    }

    #[test]
    fn golden_files_are_told_from_what_is_said_of_them() {
        assert!(is_golden("tests/golden/stores/schema-1.txt") && is_golden(ELSEWHERE[0]));
        assert!(!is_golden(LIST) && !is_golden("tests/golden/README.md") && !is_golden("tests/src/lib.rs"));
    }
}
