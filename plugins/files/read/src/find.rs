//! `glob`: files by name.
//!
//! Knows what a pattern means, for `grep` too.

use std::{fs, path::Path};

use globset::{GlobBuilder, GlobMatcher};
use rewake_sdk::{
    prelude::*,
    workspace::{WORKSPACE, explain, place},
};

use crate::{
    Glob,
    walk::{Found, Kind, LeftOut, Next, Walked, walk},
};

/// Paths of one answer.
const PATHS_MAX: usize = 500;
/// The longest pattern.
const PATTERN_BYTES_MAX: usize = 500;

pub(crate) fn find(root: &Path, args: &Glob) -> Result<String, ToolError> {
    let pattern = Pattern::new("pattern", &args.pattern)?;
    let place = place(root, &args.path)?;
    let about = fs::metadata(&place.path).map_err(|error| explain(&place, &error))?;
    if !about.is_dir() {
        let message = format!("`{}` is a file, not a directory; look in the one it is in", place.name);
        return Err(ToolError::invalid_input(message));
    }
    let mut taken = Taken::new(args.include_ignored, pattern.wants_hidden);
    let mut paths = Vec::new();
    let mut total = 0;
    let walked = walk(root, &place, &mut |found| {
        let next = taken.next(found);
        if next == Next::On && found.kind != Kind::Directory && pattern.matches(found.below) {
            total += 1;
            if paths.len() < PATHS_MAX {
                paths.push(found.place.name.clone());
            }
        }
        Ok(next)
    })?;
    if paths.is_empty() {
        let mut answer = format!("no file matches `{}` in `{}`", args.pattern, place.name);
        answer.push_str(taken.note());
        answer.push_str(&of_walk(walked));
        return Ok(answer);
    }
    let mut answer = paths.join("\n");
    if total > paths.len() {
        answer.push_str(&format!(
            "\n[the first {} of {total} files: make the pattern narrower, or look in one directory]",
            paths.len()
        ));
    }
    answer.push_str(&of_walk(walked));
    Ok(answer)
}

/// What to say of a walk that did not see everything.
pub(crate) fn of_walk(walked: Walked) -> String {
    let mut note = String::new();
    if walked.unreadable > 0 {
        note.push_str(&format!("\n[directories that cannot be read: {}]", walked.unreadable));
    }
    if walked.cut {
        note.push_str("\n[there are too many files to look at all of them: give a `path`]");
    }
    note
}

/// A pattern of names or paths.
#[derive(Debug)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    /// It is matched with a file's name, wherever that is.
    of_names: bool,
    /// It names something hidden itself.
    pub(crate) wants_hidden: bool,
}

impl Pattern {
    /// Reads the pattern that stands in `field`.
    pub(crate) fn new(field: &str, written: &str) -> Result<Self, ToolError> {
        if written.len() > PATTERN_BYTES_MAX {
            let message = format!("`{field}` is longer than {PATTERN_BYTES_MAX} bytes");
            return Err(ToolError::invalid_input(message));
        }
        let inside = written.strip_prefix(WORKSPACE).filter(|rest| rest.starts_with('/')).unwrap_or(written);
        let mut text = inside.trim_start_matches("./").trim_start_matches('/').to_owned();
        if text.is_empty() {
            let message = format!("`{field}` is empty; `**` is every file, `*.rs` one kind of them");
            return Err(ToolError::invalid_input(message));
        }
        if text.split('/').any(|name| name == "..") {
            let message = format!("`{field}` cannot go up with `..`: name the directory in `path`");
            return Err(ToolError::invalid_input(message));
        }
        let of_names = !text.contains('/');
        if text.ends_with('/') {
            text.push_str("**");
        }
        let glob = GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| {
            ToolError::invalid_input(format!(
                "`{field}`: {}; write `\\` before a sign that is meant as such",
                error.kind()
            ))
        })?;
        let wants_hidden = text.split('/').any(|name| name.starts_with('.'));
        Ok(Self { matcher: glob.compile_matcher(), of_names, wants_hidden })
    }

    /// Whether a path from where the walk began matches.
    pub(crate) fn matches(&self, below: &str) -> bool {
        let name = below.rsplit_once('/').map_or(below, |(_, name)| name);
        self.matcher.is_match(if self.of_names { name } else { below })
    }
}

/// Which entries a search takes, and whether it left any out.
pub(crate) struct Taken {
    include_ignored: bool,
    include_hidden: bool,
    left_out: bool,
}

impl Taken {
    pub(crate) fn new(include_ignored: bool, wants_hidden: bool) -> Self {
        Self { include_ignored, include_hidden: include_ignored || wants_hidden, left_out: false }
    }

    /// `On` into what is taken, `Over` what is not.
    pub(crate) fn next(&mut self, found: &Found<'_>) -> Next {
        let takes = match found.left_out {
            None => true,
            Some(LeftOut::Hidden) => self.include_hidden,
            Some(LeftOut::Ignored) => self.include_ignored,
            // What is in there is git's own.
            Some(LeftOut::Git) => return Next::Over,
        };
        self.left_out |= !takes;
        if takes { Next::On } else { Next::Over }
    }

    /// What to say where nothing was found.
    pub(crate) fn note(&self) -> &'static str {
        if self.left_out {
            "; hidden and ignored files were left out (include_ignored = true takes them in)"
        } else {
            ""
        }
    }
}
