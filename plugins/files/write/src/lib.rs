//! Tools that change the workspace: `write_file` and `edit_file`.
//!
//! Knows how to replace a file so that a host that dies leaves the old text or the new one, never
//! half of it. Does not list or read for the model: another component does, with no write grant.

use std::{fs, path::Path};

use rewake_sdk::{
    prelude::*,
    workspace::{Place, WORKSPACE, explain, place},
};

#[cfg(test)]
mod tests;

/// The largest text that is written or edited.
const FILE_BYTES_MAX: usize = 4 << 20;

#[args]
struct Write {
    /// The file, relative to the workspace. Directories on the way are made.
    path: String,
    /// The whole text of the file.
    content: String,
}

/// Write a text file of the workspace, replacing what it held before. To change a part of a file,
/// use edit_file.
#[tool(effect = idempotent)]
fn write_file(args: Write) -> Result<String, ToolError> {
    write(Path::new(WORKSPACE), &args)
}

#[args]
struct Edit {
    /// The file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as the file has it, with enough around it to be found once.
    old: String,
    /// The text to put in its place.
    new: String,
}

/// Replace one piece of text in a file of the workspace.
#[tool(effect = once)]
fn edit_file(args: Edit) -> Result<String, ToolError> {
    edit(Path::new(WORKSPACE), &args)
}

rewake_sdk::tools![write_file, edit_file];

fn write(root: &Path, args: &Write) -> Result<String, ToolError> {
    let place = file(root, &args.path)?;
    replace(&place, &args.content)?;
    // The same whether the file was there before: a call that is repeated meets what it did the first time.
    Ok(format!("wrote `{}`: {} bytes", place.name, args.content.len()))
}

fn edit(root: &Path, args: &Edit) -> Result<String, ToolError> {
    let place = file(root, &args.path)?;
    if args.old.is_empty() {
        return Err(ToolError::invalid_input(
            "`old` is empty; to make a file or to replace all of it, use write_file",
        ));
    }
    if args.old == args.new {
        return Err(ToolError::invalid_input("`old` and `new` are the same: nothing would change"));
    }
    let text = text_of(&place)?;
    let line = only_match(&place, &text, &args.old)?;
    replace(&place, &text.replacen(&args.old, &args.new, 1))?;
    Ok(format!("changed `{}` at line {line}", place.name))
}

/// The line at which `old` begins, if it is in the text exactly once.
fn only_match(place: &Place, text: &str, old: &str) -> Result<usize, ToolError> {
    // Overlapping matches count: replacing either one would be a guess.
    let mut lines = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old).map(|at| from + at) {
        lines.push(text[..at].matches('\n').count() + 1);
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    match lines[..] {
        [line] => Ok(line),
        [] => Err(ToolError::invalid_input(format!(
            "`old` is not in `{}`. It must match exactly, spaces and line ends too: read the file \
             again and copy the text",
            place.name
        ))),
        _ => {
            let shown: Vec<String> = lines.iter().take(10).map(ToString::to_string).collect();
            Err(ToolError::invalid_input(format!(
                "`old` is in `{}` {} times (line {}): add text around it until it is there once",
                place.name,
                lines.len(),
                shown.join(", ")
            )))
        }
    }
}

/// A place that can be a file.
fn file(root: &Path, written: &str) -> Result<Place, ToolError> {
    let place = place(root, written)?;
    if place.path == root || place.path.is_dir() {
        let message = format!("`{}` is a directory, not a file", place.name);
        return Err(ToolError::invalid_input(message));
    }
    Ok(place)
}

fn text_of(place: &Place) -> Result<String, ToolError> {
    let about = fs::metadata(&place.path).map_err(|error| explain(place, &error))?;
    if about.len() > FILE_BYTES_MAX as u64 {
        return Err(too_large(place, about.len()));
    }
    let bytes = fs::read(&place.path).map_err(|error| explain(place, &error))?;
    String::from_utf8(bytes)
        .map_err(|_| ToolError::failed(format!("`{}` is no text: it cannot be edited", place.name)))
}

/// Puts a file in place whole: written beside it first, then renamed over it.
fn replace(place: &Place, text: &str) -> Result<(), ToolError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(too_large(place, text.len() as u64));
    }
    if let Some(directory) = place.path.parent() {
        fs::create_dir_all(directory).map_err(|error| explain(place, &error))?;
    }
    let mut beside = place.path.clone().into_os_string();
    beside.push(".rewake-part");
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &place.path));
    written.map_err(|error| {
        // The file is as it was; only the piece beside it may be left, and the next write takes it.
        let _ = fs::remove_file(&beside);
        explain(place, &error)
    })
}

fn too_large(place: &Place, bytes: u64) -> ToolError {
    ToolError::invalid_input(format!(
        "`{}` would have {bytes} bytes; text files up to {FILE_BYTES_MAX} bytes can be written \
         here: split it",
        place.name
    ))
}
