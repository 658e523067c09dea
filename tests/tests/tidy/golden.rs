//! Golden files are added, never changed: what a version wrote is read by every later one. One list names each of
//! them with its digest; a file that may grow is listed again with its length whenever it did.
//!
//! Knows the list and bytes. What the files mean is tested where they are read.

use rewake_core::ids::Digest;

use crate::tree::Violation;

/// The list: a digest, so many bytes from the file's start, and the file, a line each.
pub(crate) const LIST: &str = "tests/golden/list.txt";
/// Files that stand elsewhere, beside the test that reads them.
pub(crate) const ELSEWHERE: [&str; 3] =
    ["host/core/tests/laws/golden.txt", "host/core/tests/laws/written.txt", "host/core/tests/laws/chain.txt"];
/// Set by whoever adds a golden file.
pub(crate) const UPDATE: &str = "UPDATE_GOLDEN";

/// Whether a file of the tree is a golden one.
pub(crate) fn is_golden(path: &str) -> bool {
    let is_here = path.starts_with("tests/golden/") && path != LIST && !path.ends_with("/README.md");
    is_here || ELSEWHERE.contains(&path)
}

struct Row<'a> {
    number: usize,
    digest: &'a str,
    bytes: usize,
    path: &'a str,
}

fn rows(list: &str) -> Result<Vec<Row<'_>>, Violation> {
    list.lines().zip(1..).map(|(line, number)| row_of(line, number)).collect()
}

fn row_of(line: &str, number: usize) -> Result<Row<'_>, Violation> {
    let mut fields = line.splitn(3, ' ');
    let fields = (fields.next(), fields.next().and_then(|bytes| bytes.parse().ok()), fields.next());
    match fields {
        (Some(digest), Some(bytes), Some(path)) => Ok(Row { number, digest, bytes, path }),
        _ => Err(Violation::new(LIST, number, "a line is DIGEST BYTES PATH")),
    }
}

/// What is wrong with the list, or with the files that it names; `read` gives a file's bytes.
pub(crate) fn kept(list: &str, files: &[String], read: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<Violation> {
    let rows = match rows(list) {
        Ok(rows) => rows,
        Err(violation) => return vec![violation],
    };
    let mut found = Vec::new();
    for Row { number, digest, bytes, path } in &rows {
        let is = read(path);
        let wrong = match is.as_deref().map(|is| is.get(..*bytes)) {
            None => "is gone",
            Some(None) => "is shorter than it was",
            Some(Some(is)) if Digest::of(is).to_hex() != *digest => "was changed",
            Some(Some(_)) => continue,
        };
        let rule = format!("`{path}` {wrong}: golden files are added and grow, what was in them stays");
        found.push(Violation::new(LIST, *number, rule));
    }
    for path in files {
        let newest = rows.iter().filter(|row| row.path == path).map(|row| row.bytes).max();
        if newest != read(path).map(|bytes| bytes.len()) {
            let rule =
                format!("it is new, or grew, and is not in `{LIST}`: `{UPDATE}=1 cargo test …` adds it");
            found.push(Violation::new(path, 1, rule));
        }
    }
    found
}

/// The lines that the list lacks.
pub(crate) fn missing(list: &str, files: &[String], read: impl Fn(&str) -> Option<Vec<u8>>) -> String {
    let rows = rows(list).unwrap_or_default();
    let mut lines = String::new();
    for path in files {
        let newest = rows.iter().filter(|row| row.path == path).map(|row| row.bytes).max();
        if let Some(bytes) = read(path).filter(|bytes| Some(bytes.len()) != newest) {
            lines += &format!("{} {} {path}\n", Digest::of(&bytes).to_hex(), bytes.len());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(list: &str, file: Option<&str>) -> Vec<String> {
        let files = [String::from("tests/golden/a")];
        let files = if file.is_some() { &files[..] } else { &[] };
        kept(list, files, |_| file.map(|text| text.as_bytes().to_vec()))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_is_listed_stays_and_what_is_there_is_listed() {
        let list = missing("", &["tests/golden/a".into()], |_| Some(b"one".to_vec()));
        assert_eq!(check(&list, Some("one")), [""; 0]);
        for (file, says) in [(None, "is gone"), (Some("on"), "is shorter"), (Some("two"), "was changed")] {
            let found = check(&list, file);
            assert!(found[0].contains(says), "{found:?}");
        }
        // It grew: what was there is as it was, and the rest is not listed yet.
        let found = check(&list, Some("one and two"));
        assert!(found.len() == 1 && found[0].contains("grew"), "{found:?}");
        let list =
            list.clone() + &missing(&list, &["tests/golden/a".into()], |_| Some(b"one and two".to_vec()));
        assert_eq!((list.lines().count(), check(&list, Some("one and two")).len()), (2, 0));
        assert_eq!(check(&list, Some("two and one")).len(), 2);
        assert!(check("nonsense", None)[0].contains("DIGEST BYTES PATH"));
        assert!(check("", Some("one"))[0].contains("is not in"));
    }

    #[test]
    fn golden_files_are_told_from_what_is_said_of_them() {
        assert!(is_golden("tests/golden/stores/schema-1.txt") && is_golden(ELSEWHERE[0]));
        assert!(!is_golden(LIST) && !is_golden("tests/golden/README.md") && !is_golden("tests/src/lib.rs"));
    }
}
