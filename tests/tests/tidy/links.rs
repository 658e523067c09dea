//! The rule that a link from one document to another leads somewhere.
//!
//! Knows Markdown's inline links and how headings become anchors. Looks at nothing outside of the tree.

use std::collections::BTreeMap;

use crate::tree::Violation;

/// `documents` are the Markdown files with their texts; `exists` knows any other file or folder.
pub(crate) fn dead(documents: &BTreeMap<&str, String>, exists: impl Fn(&str) -> bool) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in documents {
        for (line, target) in links(text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { Some((*path).to_owned()) } else { joined(path, file) };
            let leads = file.as_deref().is_some_and(|file| match documents.get(file) {
                Some(text) => anchor.is_empty() || anchors(text).any(|known| known == anchor),
                None => anchor.is_empty() && exists(file),
            });
            if !leads {
                found.push(Violation::new(path, line, format!("the link to `{target}` leads nowhere")));
            }
        }
    }
    found
}

/// Targets within the tree, with their lines; none that stand in fenced blocks.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.filter(|target| !target.contains("://")).map(|target| (number, target)));
    }
    found
}

/// A path that is written relative to a file, from the root on; none if it leads out.
fn joined(from: &str, to: &str) -> Option<String> {
    let mut names: Vec<&str> = from.split('/').collect();
    names.pop();
    for name in to.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == ".." {
            names.pop()?;
        } else {
            names.push(name);
        }
    }
    Some(names.join("/"))
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[test]
fn links_that_lead_nowhere_are_told() {
    let documents = BTreeMap::from([
        ("README.md", "[a](docs/a.md) [b](docs/) [c](https://x.org/y)\n```\n[no](no.md)\n```\n".to_owned()),
        ("docs/a.md", "# A: it, with `b`!\n[up](../README.md) [here](#a-it-with-b) [x](b.md)\n".to_owned()),
        ("docs/c.md", "[1](a.md#a-it-with-b)\n[2](a.md#no) [3](../../x.md)\n".to_owned()),
    ]);
    let found = dead(&documents, |path| path == "docs");
    let places: Vec<(&str, usize)> = found.iter().map(|found| (found.file.as_str(), found.line)).collect();
    assert_eq!(places, [("docs/a.md", 2), ("docs/c.md", 2), ("docs/c.md", 2)]);
}
