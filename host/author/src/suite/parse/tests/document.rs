//! docs/testing-bundles.md: it explains every key that the reader knows and no other, and its examples are read.

use std::collections::BTreeSet;
use std::path::Path;

use super::cases;

/// Where every key is explained: a table for what every case has, and one each for calls, hooks and sessions.
const DOCUMENT: &str = include_str!("../../../../../../docs/testing-bundles.md");
/// A key that no table has, and that is like none.
const WRONG: &str = "qqqqqqqqqqqq";

/// The known keys of the table that has the wrong one, as the reader itself lists them.
fn known(text: &str) -> Vec<String> {
    let error = cases("tests/a.toml", text, Path::new("/b/tests")).expect_err("a wrong key").to_string();
    let mut told = error.lines().skip_while(|line| !line.contains(WRONG));
    let list = told.find_map(|line| line.split_once("known here: "));
    let (_, list) = list.unwrap_or_else(|| panic!("no list of keys in:\n{error}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys that a section's table explains; a row may explain several.
fn documented(heading: &str) -> BTreeSet<String> {
    let (_, section) = DOCUMENT.split_once(heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split_once("` |")).map(|(keys, _)| keys.split("`, `"));
    cells.flatten().map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_known() {
    let every = documented("## Keys of every case\n");
    let kinds = [
        ("## A call of a tool\n", "[[call]]\ntool = \"a\"\nargs = {}"),
        ("## An event for a hook\n", "[[hook]]\ncomponent = \"a\"\nevent = \"Stop\""),
        ("## A whole session\n", "[[session]]\nmessages = [\"a\"]"),
    ];
    for (heading, case) in kinds {
        let plain = known(&format!("{case}\nexpect = {{ verdict = \"none\" }}\n{WRONG} = 1"));
        let below = known(&format!("{case}\nexpect = {{ {WRONG} = 1 }}"));
        let below = below.into_iter().map(|key| format!("expect.{key}"));
        let keys: BTreeSet<String> = plain.into_iter().filter(|key| key != "expect").chain(below).collect();
        let explained: BTreeSet<String> = documented(heading).union(&every).cloned().collect();
        assert_eq!(explained, keys, "{heading}");
    }
}

#[test]
fn examples_in_the_document_are_read() {
    let blocks = DOCUMENT.split("\n```toml\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let blocks: Vec<&str> = blocks.map(|(block, _)| block).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let read = cases("docs/testing-bundles.md", block, Path::new("/b/tests"));
        assert_eq!(read.unwrap_or_else(|error| panic!("{error}")).len(), 1, "{block}");
    }
}
