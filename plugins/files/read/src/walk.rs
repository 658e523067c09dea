//! Walking a directory of the workspace: in order of names, with what .gitignore says of each entry.
//!
//! Knows hidden files, `.gitignore`, `.ignore` and `.git`; a nearer file of rules beats one farther up, as
//! git has it, and `.ignore` beats `.gitignore`. Decides nothing by them: whoever walks does. Links are
//! entries, never followed.

use std::{
    fs,
    path::{Path, PathBuf},
    vec,
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rewake_sdk::{
    prelude::*,
    workspace::{Place, explain},
};

/// Entries that one walk looks at.
const ENTRIES_MAX: usize = 200_000;
/// The largest file of rules that is read, and how many rules are.
const RULES_BYTES_MAX: u64 = 128 << 10;
const RULES_MAX: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
    Other,
}

/// Why an entry is usually passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// It is `.git`.
    Git,
    /// A file of rules says so.
    Ignored,
    /// Its name begins with a dot.
    Hidden,
}

/// An entry on the way.
pub(crate) struct Found<'a> {
    pub(crate) place: Place,
    /// Its path from where the walk began.
    pub(crate) below: &'a str,
    pub(crate) kind: Kind,
    pub(crate) left_out: Option<LeftOut>,
    /// Levels below where the walk began: 1 for what is in that directory.
    pub(crate) level: usize,
    /// How many entries its directory has, and how many of those come after it.
    pub(crate) siblings: usize,
    pub(crate) after: usize,
}

/// What to do after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on, into it if it is a directory.
    On,
    /// Go on, but not into it.
    Over,
    /// Leave the directory that it is in.
    Out,
    /// End the walk.
    Stop,
}

/// How far a walk came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// It ended because there were too many entries.
    pub(crate) cut: bool,
    /// Directories that could not be read.
    pub(crate) unreadable: usize,
}

/// Walks `from`, a directory below `root`.
///
/// # Errors
/// `from` cannot be read, or `visit` says so.
pub(crate) fn walk(root: &Path, from: &Place, visit: Visit<'_>) -> Result<Walked, ToolError> {
    walk_at_most(ENTRIES_MAX, root, from, visit)
}

/// What is done at each entry.
type Visit<'a> = &'a mut dyn FnMut(&Found<'_>) -> Result<Next, ToolError>;

fn walk_at_most(
    entries_max: usize,
    root: &Path,
    from: &Place,
    visit: Visit<'_>,
) -> Result<Walked, ToolError> {
    let mut walked = Walked::default();
    let mut looked_at = 0;
    let above = rules_above(root, from);
    let start = from.clone();
    let mut levels = vec![Level::open(start, String::new()).map_err(|error| explain(from, &error))?];
    while let Some(level) = levels.last_mut() {
        let Some((name, kind)) = level.rest.next() else {
            levels.pop();
            continue;
        };
        looked_at += 1;
        if looked_at > entries_max {
            walked.cut = true;
            break;
        }
        let place = level.place_of(&name);
        let below = format!("{}{name}", level.below);
        let (siblings, after) = (level.size, level.rest.len());
        let left_out = left_out(&name, &place.path, kind, &above, &levels);
        let level = levels.len();
        let found = Found { place, below: &below, kind, left_out, level, siblings, after };
        match visit(&found)? {
            Next::On if kind == Kind::Directory => match Level::open(found.place, format!("{below}/")) {
                Ok(level) => levels.push(level),
                Err(_) => walked.unreadable += 1,
            },
            Next::On | Next::Over => {}
            Next::Out => drop(levels.pop()),
            Next::Stop => break,
        }
    }
    Ok(walked)
}

/// A directory that is being walked. What it has is read at once, so that none stays open.
struct Level {
    place: Place,
    /// The path from where the walk began, with a `/` at its end, or nothing.
    below: String,
    rest: vec::IntoIter<(String, Kind)>,
    size: usize,
    rules: Vec<Gitignore>,
}

impl Level {
    fn open(place: Place, below: String) -> std::io::Result<Self> {
        let mut entries: Vec<(String, Kind)> = Vec::new();
        for entry in fs::read_dir(&place.path)? {
            let entry = entry?;
            entries.push((entry.file_name().to_string_lossy().into_owned(), kind(entry.file_type()?)));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let has = |name: &str| entries.iter().any(|(entry, kind)| entry == name && *kind == Kind::File);
        let rules = RULE_FILES.iter().filter(|name| has(name));
        let rules = rules.filter_map(|name| rules_of(&place.path, name)).collect();
        Ok(Self { place, below, size: entries.len(), rest: entries.into_iter(), rules })
    }

    fn place_of(&self, name: &str) -> Place {
        let below = match self.place.name.as_str() {
            "." => name.to_owned(),
            directory => format!("{directory}/{name}"),
        };
        Place { path: self.place.path.join(name), name: below }
    }
}

fn kind(kind: fs::FileType) -> Kind {
    if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Link
    } else if kind.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

/// Files of rules, the stronger one last.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The rules of the directories above `from`, the farthest first.
fn rules_above(root: &Path, from: &Place) -> Vec<Gitignore> {
    let below = from.path.strip_prefix(root).unwrap_or(Path::new(""));
    let mut directory = PathBuf::from(root);
    let mut rules = Vec::new();
    for name in below.components() {
        rules.extend(RULE_FILES.iter().filter_map(|name| rules_of(&directory, name)));
        directory.push(name);
    }
    rules
}

/// One file of rules; lines that are no rules are passed over, as git does.
fn rules_of(directory: &Path, name: &str) -> Option<Gitignore> {
    let path = directory.join(name);
    // A link is none, as git has it.
    let about = fs::symlink_metadata(&path).ok()?;
    if !about.is_file() || about.len() > RULES_BYTES_MAX {
        return None;
    }
    let bytes = fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(directory);
    for line in text.trim_start_matches('\u{feff}').lines().take(RULES_MAX) {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

fn left_out(name: &str, path: &Path, kind: Kind, above: &[Gitignore], levels: &[Level]) -> Option<LeftOut> {
    if name == ".git" {
        return Some(LeftOut::Git);
    }
    let rules = above.iter().chain(levels.iter().flat_map(|level| &level.rules));
    for rules in rules.rev() {
        match rules.matched(path, kind == Kind::Directory) {
            Match::Ignore(_) => return Some(LeftOut::Ignored),
            // A rule that takes it in does so whatever its name.
            Match::Whitelist(_) => return None,
            Match::None => {}
        }
    }
    name.starts_with('.').then_some(LeftOut::Hidden)
}

#[cfg(test)]
mod tests {
    use rewake_sdk::workspace::place;

    use super::*;
    use crate::find::of_walk;

    #[test]
    fn a_walk_ends_and_what_it_did_not_see_is_said() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), "").expect("a file");
        }
        let from = place(dir.path(), "").expect("a place");
        let mut names = Vec::new();
        let mut visit = |found: &Found<'_>| {
            names.push(found.below.to_owned());
            Ok(Next::On)
        };
        let whole = walk_at_most(3, dir.path(), &from, &mut visit);
        assert_eq!(whole, Ok(Walked { cut: false, unreadable: 0 }));
        let cut = walk_at_most(2, dir.path(), &from, &mut visit);
        assert_eq!(cut, Ok(Walked { cut: true, unreadable: 0 }));
        assert_eq!(names, ["a", "b", "c", "a", "b"]);
        assert_eq!(
            of_walk(Walked { cut: true, unreadable: 2 }),
            "\n[directories that cannot be read: 2]\n[there are too many files to look at all of them: give a \
             `path`]"
        );
    }
}
