//! `list_files`: what is in a directory.
//!
//! Shows everything that is there, and goes only into what is worth it.

use std::{fs, path::Path};

use rewake_sdk::{
    prelude::*,
    workspace::{Place, explain, place},
};

use crate::{
    List,
    walk::{Found, Kind, LeftOut, Next, walk},
};

/// Entries of one listing.
const ENTRIES_MAX: usize = 500;
/// Entries of a directory below the one that is listed, so that one of thousands does not hide the
/// others.
const NESTED_MAX: usize = 100;
/// Levels of one listing.
const DEPTH_MAX: u32 = 8;

pub(crate) fn list(root: &Path, args: &List) -> Result<String, ToolError> {
    if !(1..=DEPTH_MAX).contains(&args.depth) {
        return Err(ToolError::invalid_input(format!("`depth` must be 1 to {DEPTH_MAX}")));
    }
    let place = place(root, &args.path)?;
    let about = fs::metadata(&place.path).map_err(|error| explain(&place, &error))?;
    if !about.is_dir() {
        let message = format!("`{}` is a file, not a directory; read_file shows it", place.name);
        return Err(ToolError::invalid_input(message));
    }
    let mut listing = Listing { depth: args.depth as usize, lines: Vec::new(), hint: None };
    let walked = walk(root, &place, &mut |found| listing.add(found))?;
    if walked.unreadable > 0 {
        listing.lines.push(format!("[directories that cannot be read: {}]", walked.unreadable));
    }
    listing.lines.extend(listing.hint);
    if listing.lines.is_empty() {
        return Ok(format!("`{}` is empty", place.name));
    }
    Ok(listing.lines.join("\n"))
}

struct Listing {
    depth: usize,
    lines: Vec<String>,
    hint: Option<String>,
}

impl Listing {
    fn add(&mut self, found: &Found<'_>) -> Result<Next, ToolError> {
        if self.lines.len() >= ENTRIES_MAX {
            self.hint = Some(hint(self.depth, found));
            return Ok(Next::Stop);
        }
        let nth = found.siblings - found.after;
        if found.level > 1 && nth > NESTED_MAX {
            let directory = found.below.rsplit_once('/').map_or("", |(directory, _)| directory);
            self.lines.push(format!("{directory}/… ({} more)", found.after + 1));
            return Ok(Next::Out);
        }
        self.lines.push(line(found)?);
        let goes_in = !matches!(found.left_out, Some(LeftOut::Git | LeftOut::Ignored));
        Ok(if goes_in && found.level < self.depth { Next::On } else { Next::Over })
    }
}

fn line(found: &Found<'_>) -> Result<String, ToolError> {
    let ignored = found.left_out == Some(LeftOut::Ignored);
    let mut notes = Vec::new();
    match found.kind {
        Kind::Directory => {}
        Kind::File => notes.push(format!("{} bytes", size(&found.place)?)),
        Kind::Link => notes.push("link".to_owned()),
        Kind::Other => notes.push("neither file nor directory".to_owned()),
    }
    if ignored {
        notes.push("ignored".to_owned());
    }
    let slash = if found.kind == Kind::Directory { "/" } else { "" };
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    Ok(format!("{}{slash}{notes}", found.below))
}

fn size(place: &Place) -> Result<u64, ToolError> {
    let about = fs::symlink_metadata(&place.path).map_err(|error| explain(place, &error))?;
    Ok(about.len())
}

/// What to say where the listing stops, at this entry.
fn hint(depth: usize, found: &Found<'_>) -> String {
    if depth == 1 {
        format!(
            "[the first {ENTRIES_MAX} of {} entries are shown: glob finds others by name, such as `a*`]",
            found.siblings
        )
    } else {
        format!("[only the first {ENTRIES_MAX} entries are shown: list a directory below, or fewer levels]")
    }
}
