//! Tools that look into the workspace: `list_files` and `read_file`.
//!
//! This component holds no write grant. Knows how much a model can use at once, and says how to go
//! on where it stops.

use std::{fs, path::Path};

use rewake_sdk::{
    prelude::*,
    workspace::{Place, WORKSPACE, explain, place},
};

#[cfg(test)]
mod tests;

/// Entries of one listing.
const ENTRIES_MAX: usize = 500;
/// Levels of one listing.
const DEPTH_MAX: u32 = 8;
/// The largest file that is read at all.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Text of one answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

#[args]
struct List {
    /// A directory, relative to the workspace. Default: the workspace itself.
    #[serde(default)]
    path: String,
    /// How many levels to list, 1 to 8. Default: 1.
    #[serde(default = "one")]
    depth: u32,
}

fn one() -> u32 {
    1
}

/// List the files and directories in a directory of the workspace, one a line: directories end
/// with `/`, files show their size in bytes.
#[tool(effect = pure)]
fn list_files(args: List) -> Result<String, ToolError> {
    list(Path::new(WORKSPACE), &args)
}

#[args]
struct Read {
    /// A text file, relative to the workspace.
    path: String,
    /// The first line to read, counted from 1. Default: 1.
    #[serde(default = "one")]
    from_line: u32,
    /// How many lines to read. Default: as many as fit.
    lines: Option<u32>,
}

/// Read a text file of the workspace. Long files come in pieces: the answer says where to go on.
#[tool(effect = pure)]
fn read_file(args: Read) -> Result<String, ToolError> {
    read(Path::new(WORKSPACE), &args)
}

rewake_sdk::tools![list_files, read_file];

fn list(root: &Path, args: &List) -> Result<String, ToolError> {
    if !(1..=DEPTH_MAX).contains(&args.depth) {
        return Err(ToolError::invalid_input(format!("`depth` must be 1 to {DEPTH_MAX}")));
    }
    let place = place(root, &args.path)?;
    let mut lines = Vec::new();
    let all = walk(&place, "", args.depth, &mut lines)?;
    if !all {
        lines.push(format!(
            "[only the first {ENTRIES_MAX} entries are shown: list a directory below, or fewer \
             levels]"
        ));
    }
    if lines.is_empty() {
        return Ok(format!("`{}` is empty", place.name));
    }
    Ok(lines.join("\n"))
}

/// Lists `place` into `lines`, each under `prefix`; false if it had to stop.
fn walk(place: &Place, prefix: &str, depth: u32, lines: &mut Vec<String>) -> Result<bool, ToolError> {
    let entries = fs::read_dir(&place.path).map_err(|error| explain(place, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        if lines.len() >= ENTRIES_MAX {
            return Ok(false);
        }
        let shown = format!("{prefix}{}", name.display());
        let below = Place { path: place.path.join(&name), name: format!("{}/{shown}", place.name) };
        let kind = fs::symlink_metadata(&below.path).map_err(|error| explain(&below, &error))?;
        if kind.is_dir() {
            lines.push(format!("{shown}/"));
            if depth > 1 && !walk(&below, &format!("{shown}/"), depth - 1, lines)? {
                return Ok(false);
            }
        } else if kind.is_symlink() {
            lines.push(format!("{shown} (link)"));
        } else {
            lines.push(format!("{shown} ({} bytes)", kind.len()));
        }
    }
    Ok(true)
}

fn read(root: &Path, args: &Read) -> Result<String, ToolError> {
    let place = place(root, &args.path)?;
    let text = text_of(&place)?;
    if args.from_line == 0 {
        return Err(ToolError::invalid_input("`from_line` counts from 1"));
    }
    if text.is_empty() {
        return Ok(format!("[`{}` is empty]", place.name));
    }
    let total = text.lines().count();
    let first = args.from_line as usize - 1;
    if first >= total {
        return Err(ToolError::invalid_input(format!("`{}` has only {total} lines", place.name)));
    }
    let wanted = args.lines.map_or(usize::MAX, |lines| lines as usize);
    let mut answer = String::new();
    let mut next = first;
    for line in text.split_inclusive('\n').skip(first).take(wanted) {
        if answer.len() + line.len() > ANSWER_BYTES_MAX {
            break;
        }
        answer.push_str(line);
        next += 1;
    }
    if next == first {
        let line = text.lines().nth(first).unwrap_or_default();
        let end = line.floor_char_boundary(ANSWER_BYTES_MAX);
        answer = format!("{}\n[line {} is cut: it has {} bytes]\n", &line[..end], first + 1, line.len());
        next += 1;
    }
    if next < total {
        let end = if answer.ends_with('\n') { "" } else { "\n" };
        answer.push_str(&format!(
            "{end}[lines {} to {next} of {total}; go on with from_line = {}]",
            first + 1,
            next + 1
        ));
    }
    Ok(answer)
}

fn text_of(place: &Place) -> Result<String, ToolError> {
    let about = fs::metadata(&place.path).map_err(|error| explain(place, &error))?;
    if about.is_dir() {
        let message = format!("`{}` is a directory; list_files shows what is in it", place.name);
        return Err(ToolError::invalid_input(message));
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(ToolError::failed(format!(
            "`{}` has {} bytes; files up to {FILE_BYTES_MAX} bytes can be read",
            place.name,
            about.len()
        )));
    }
    let bytes = fs::read(&place.path).map_err(|error| explain(place, &error))?;
    let size = bytes.len();
    String::from_utf8(bytes)
        .map_err(|_| ToolError::failed(format!("`{}` is no text: {size} bytes", place.name)))
}
