//! Paths as tools write them, and patterns of paths.
//!
//! Knows names, `*`, `?` and `**`. Sees no files, so a link to a place is not known as that place.

/// The names of a path from the workspace down: without what leads nowhere, and in small letters, because on
/// some hosts' disks `.GIT` is `.git`.
pub(crate) fn names(path: &str) -> Vec<String> {
    let inside = path.strip_prefix("/workspace").filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let mut names = Vec::new();
    for name in inside.unwrap_or(path).split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name.to_lowercase()),
        }
    }
    names
}

/// A pattern of paths. One name covers everything of that name, wherever it is; several cover the place from
/// the workspace down. What is below a covered place is covered too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob {
    text: String,
    names: Vec<String>,
}

impl Glob {
    /// Reads a pattern. Each one can be read; one without a name covers nothing.
    pub(crate) fn new(text: &str) -> Glob {
        Glob { text: text.to_owned(), names: names(text) }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it names anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether it covers a path.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let path = names(path);
        match self.names.as_slice() {
            [] => false,
            [name] if name != "**" => path.iter().any(|found| matches(name, found)),
            names => begins(names, &path),
        }
    }
}

/// Whether a path begins with these names. Takes time in proportion to both, whatever the pattern: of several
/// `**` only the last can still matter.
fn begins(pattern: &[String], path: &[String]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        if at == pattern.len() {
            return true;
        }
        if pattern[at] == "**" {
            at += 1;
            again = Some((at, from));
        } else if path.get(from).is_some_and(|name| matches(&pattern[at], name)) {
            at += 1;
            from += 1;
        } else {
            match again {
                Some((after, start)) if start < path.len() => {
                    again = Some((after, start + 1));
                    (at, from) = (after, start + 1);
                }
                _ => return false,
            }
        }
    }
}

/// Whether a name fits a pattern: `*` is any characters, `?` is one. In proportion to both, too.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                again = Some((at, from));
            }
            Some(wanted) if *wanted == '?' || *wanted == name[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((after, start)) = again else { return false };
                again = Some((after, start + 1));
                (at, from) = (after, start + 1);
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}
