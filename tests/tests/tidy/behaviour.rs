//! The rule that docs/behaviour.md and the tests agree on which test shows which behaviour row.
//!
//! Knows how a doc comment names a row, and the tables of that page. Does not know whether a test passes.

use std::collections::BTreeSet;

use crate::tree::Violation;

pub(crate) const FILE: &str = "docs/behaviour.md";

/// Parts of a path that are not part of a test's name.
const FOLDERS: [&str; 5] = ["host", "plugins", "sdk", "src", "tests"];

/// A test, with the rows that its doc comment names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Test {
    file: String,
    line: usize,
    name: String,
    rows: BTreeSet<String>,
}

/// The tests of a file. Reads lines and not syntax, because a macro may hold the test.
pub(crate) fn tests(path: &str, text: &str) -> Vec<Test> {
    let module = module(path);
    let mut found = Vec::new();
    let (mut rows, mut is_test) = (BTreeSet::new(), false);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_start();
        if let Some(doc) = line.strip_prefix("///") {
            rows.extend(row_ids(doc));
        } else if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.contains("::test");
        } else {
            let function = line.split_once("fn ").and_then(|(_, rest)| rest.split(['(', '<']).next());
            if let (true, Some(function)) = (is_test, function) {
                let name = format!("{module}::{function}");
                found.push(Test { file: path.to_owned(), line: number, name, rows });
            }
            (rows, is_test) = (BTreeSet::new(), false);
        }
    }
    found
}

/// A path as the start of a test's name: `tests/tests/e2e/inbox.rs` is `e2e::inbox`.
fn module(path: &str) -> String {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let is_named = |part: &&str| !FOLDERS.contains(part) && !["mod", "main", "lib"].contains(part);
    path.split('/').filter(is_named).collect::<Vec<_>>().join("::")
}

/// Ids such as A05, C115, X2 and N-A1 that stand alone in a text.
fn row_ids(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| is_row_id(word)).map(str::to_owned)
}

fn is_row_id(word: &str) -> bool {
    let (word, is_fault) = word.strip_prefix("N-").map_or((word, false), |rest| (rest, true));
    let Some((group, digits)) = word.split_at_checked(1) else { return false };
    let (least, most) = if is_fault || group == "X" { (1, 2) } else { (2, 3) };
    let groups: &[&str] = if is_fault { &["A", "B", "C", "D", "F", "G"] } else { &["A", "B", "C", "X"] };
    groups.contains(&group)
        && (least..=most).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// The pairs of row and test in the page's tables, with their lines.
fn listed(page: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    page.lines().zip(1..).flat_map(|(line, number)| {
        let id = line.strip_prefix("| ").and_then(|row| row.split(' ').next());
        let id = id.filter(|id| is_row_id(id));
        let quoted = line.split('`').skip(1).step_by(2).filter(|text| text.contains("::"));
        id.into_iter().flat_map(move |id| quoted.clone().map(move |test| (number, id, test)))
    })
}

pub(crate) fn agree(page: &str, tests: &[Test]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, id, name) in listed(page) {
        let rule = match tests.iter().find(|test| test.name == name) {
            None => format!("there is no test `{name}`: name the test that shows {id} now"),
            Some(test) if !test.rows.contains(id) => {
                format!("the doc comment of `{name}` ({}:{}) does not name {id}", test.file, test.line)
            }
            Some(_) => continue,
        };
        found.push(Violation::new(FILE, line, rule));
    }
    let pairs: BTreeSet<(&str, &str)> = listed(page).map(|(_, id, name)| (id, name)).collect();
    for test in tests {
        for id in test.rows.iter().filter(|id| !pairs.contains(&(id.as_str(), test.name.as_str()))) {
            let rule =
                format!("it names {id}, and {FILE} does not list `{}` for {id}: add it there", test.name);
            found.push(Violation::new(&test.file, test.line, rule));
        }
    }
    found
}

#[test]
fn tests_and_their_rows_are_found() {
    let text = "/// A01 and X2: one.\n/// R5, C115.\n#[tokio::test(flavor = \"x\")]\nasync fn one() {}\n\n\
                /// B02: no test.\nfn two() {}\n\nproptest! {\n    #[test]\n    fn three(x in y) {}\n}\n";
    let found = tests("tests/tests/e2e/golden/mod.rs", text);
    let rows = |test: &Test| test.rows.iter().cloned().collect::<Vec<_>>().join(" ");
    let told: Vec<String> =
        found.iter().map(|test| format!("{} {} {}", test.line, test.name, rows(test))).collect();
    assert_eq!(told, ["4 e2e::golden::one A01 C115 X2", "11 e2e::golden::three "]);
    assert_eq!(module("host/store/src/sqlite/tests/guards.rs"), "store::sqlite::guards");
    let ids = row_ids("A1 B02x C1000 X123 D04 (A07), X1. `N-A1`, N-G15; N-X1 N-A123").collect::<Vec<_>>();
    assert_eq!(ids, ["A07", "X1", "N-A1", "N-G15"]);
}

#[test]
fn every_disagreement_is_told_where_it_is() {
    let tests =
        tests("tests/tests/e2e/a.rs", "/// A01, B02: x.\n#[test]\nfn one() {}\n#[test]\nfn two() {}\n");
    let both = "| A01 | x | `e2e::a::one` |\n| B02 | x | `e2e::a::one` |\n";
    assert_eq!(agree(both, &tests), []);
    let places = |page: &str| {
        let found = agree(page, &tests);
        found.iter().map(|found| format!("{}:{}", found.file, found.line)).collect::<Vec<_>>()
    };
    assert_eq!(places("| A01 | x | `e2e::a::one` |\n"), ["tests/tests/e2e/a.rs:3"], "B02 is not listed");
    assert_eq!(
        places(&format!("{both}| A05 | x | `e2e::a::three` |\n")),
        ["docs/behaviour.md:3"],
        "no such test"
    );
    assert_eq!(places(&format!("{both}| A05 | x | `e2e::a::two` |\n")), ["docs/behaviour.md:3"], "not named");
}
