//! Tools that change the workspace: `write_file` and `edit_file`.
//!
//! Knows how to replace a file so that a host that dies leaves the old text or the new one, never
//! half of it. Does not list or read for the model: another component does, with no write grant.

mod edit;
mod nearest;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    hash::{BuildHasher as _, RandomState},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rewake_sdk::{
    prelude::*,
    workspace::{Place, WORKSPACE, explain, place},
};

/// The largest text that is written or edited.
const FILE_BYTES_MAX: usize = 16 << 20;
/// The longest name of the file that is written beside the one that it then replaces.
const BESIDE_BYTES_MAX: usize = 200;
/// Names that are tried for it; each has 64 bits of chance.
const BESIDE_TRIES: u32 = 4;

#[args]
struct Write {
    /// The file, relative to the workspace. Directories on the way are made.
    path: String,
    /// The whole text of the file.
    content: String,
}

/// Write a text file of the workspace: makes it, or replaces all that it held. To change a part of
/// a file, use edit_file.
// Idempotent: the file holds the same afterwards, however often it is written. For that reason the
// answer does not tell a new file from one that was replaced: a call that is repeated after its host
// died meets the file that it made the first time.
#[tool(effect = idempotent)]
fn write_file(args: Write) -> Result<String, ToolError> {
    write(Path::new(WORKSPACE), &args)
}

#[args]
struct Edit {
    /// The file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as the file has it: spaces and tabs count, the line numbers of
    /// read_file are left out. Take enough lines around it for it to be there only once.
    old: String,
    /// The text to put in its place. Empty to delete it.
    new: String,
    /// Replace every place where `old` is. Default: false, it must be there once.
    #[serde(default)]
    all: bool,
}

/// Replace a piece of text in a file of the workspace. Read the file first. If `old` is not there
/// or not only once, nothing is changed and the answer says what is there instead. Line ends stay
/// as the file has them. If it is not known whether an edit was done, read the file before you try
/// again.
// Once: done a second time it may change another place, or put `new` in twice where that holds `old`.
#[tool(effect = once)]
fn edit_file(args: Edit) -> Result<String, ToolError> {
    edit::edit(Path::new(WORKSPACE), &args)
}

rewake_sdk::tools![write_file, edit_file];

fn write(root: &Path, args: &Write) -> Result<String, ToolError> {
    let place = file(root, &args.path)?;
    replace(&place, None, &args.content)?;
    Ok(format!("wrote `{}`: {} bytes", place.name, args.content.len()))
}

/// A place that can be a file.
fn file(root: &Path, written: &str) -> Result<Place, ToolError> {
    let place = place(root, written)?;
    if place.path == root || place.path.is_dir() {
        let message = format!("`{}` is a directory, not a file", place.name);
        return Err(ToolError::invalid_input(message));
    }
    if written.ends_with('/') {
        let message = format!("`{}` is to be a file: leave out the `/` at its end", place.name);
        return Err(ToolError::invalid_input(message));
    }
    no_link_on_the_way(root, &place)?;
    Ok(place)
}

/// What a path leads to must be what it says: hooks judge it by that, and renaming over a link would replace
/// the link, not the file that it leads to.
fn no_link_on_the_way(root: &Path, place: &Place) -> Result<(), ToolError> {
    let mut path = root.to_path_buf();
    for (at, name) in place.path.strip_prefix(root).unwrap_or(Path::new("")).iter().enumerate() {
        path.push(name);
        if path.is_symlink() {
            let target = fs::read_link(&path).map_err(|error| explain(place, &error))?;
            let link: Vec<&str> = place.name.split('/').take(at + 1).collect();
            return Err(ToolError::invalid_input(format!(
                "`{}` is a link to `{}`: change what it leads to itself",
                link.join("/"),
                target.display()
            )));
        }
    }
    Ok(())
}

/// Puts a file in place whole: written beside it first, then renamed over it. `before`: what it must still hold, if it
/// was read; another call, or a program of the host, may have changed it since.
fn replace(place: &Place, before: Option<&str>, text: &str) -> Result<(), ToolError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(too_large(place, text.len() as u64));
    }
    if let Some(directory) = place.path.parent() {
        fs::create_dir_all(directory).map_err(|error| explain(place, &error))?;
    }
    let (beside, mut file) = beside(&place.path).map_err(|error| explain(place, &error))?;
    let mut put = || {
        file.write_all(text.as_bytes()).map_err(|error| explain(place, &error))?;
        if before.is_some_and(|before| fs::read(&place.path).ok().as_deref() != Some(before.as_bytes())) {
            return Err(ToolError::failed(format!(
                "`{}` was changed by something else during this edit: nothing was written. Read it again",
                place.name
            )));
        }
        fs::rename(&beside, &place.path).map_err(|error| explain(place, &error))
    };
    put().inspect_err(|_| {
        // The target is as it was. What was written beside it is of this call alone.
        let _ = fs::remove_file(&beside);
    })
}

/// A new file beside another, with a name of chance: one that is there already is left as it is.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = &name[..name.floor_char_boundary(BESIDE_BYTES_MAX)];
    for _ in 0..BESIDE_TRIES {
        let chance = RandomState::new().hash_one(name);
        let beside = path.with_file_name(format!(".{name}.{chance:016x}.rewake-part"));
        match File::create_new(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (beside, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn too_large(place: &Place, bytes: u64) -> ToolError {
    ToolError::invalid_input(format!(
        "`{}` would have {bytes} bytes; text files up to {FILE_BYTES_MAX} bytes can be written \
         here: split it",
        place.name
    ))
}
