//! The workspace, and where the paths that models write lead.
//!
//! Knows that they are relative to the workspace and must stay in it. Does not guard anything: the
//! host's sandbox keeps links and all else inside. This is for clear answers, and for tools that
//! can be tested in a directory of the test's own.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use crate::tool::ToolError;

/// Where the host mounts the workspace.
pub const WORKSPACE: &str = "/workspace";

/// WASI's number for an input/output error.
const WASI_IO: i32 = 29;

/// A path below the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it is in the file system.
    pub path: PathBuf,
    /// How to speak of it: relative to the workspace, `.` for the workspace itself.
    pub name: String,
}

/// Finds the place that `written` names below `root`, which is [`WORKSPACE`] but in tests.
///
/// ```
/// use std::path::Path;
///
/// use rewake_sdk::workspace::{WORKSPACE, place};
///
/// let found = place(Path::new(WORKSPACE), "./notes//a.md").unwrap();
/// assert_eq!(found.name, "notes/a.md");
/// assert!(place(Path::new(WORKSPACE), "../secrets").is_err());
/// ```
///
/// # Errors
/// It is no path, or leads out of the workspace.
pub fn place(root: &Path, written: &str) -> Result<Place, ToolError> {
    let inside = relative(written);
    let mut names: Vec<&str> = Vec::new();
    for component in Path::new(inside).components() {
        match component {
            Component::Normal(name) => names.push(name.to_str().unwrap_or_default()),
            Component::CurDir => {}
            Component::ParentDir => {
                names.pop().ok_or_else(|| outside(written))?;
            }
            Component::RootDir | Component::Prefix(_) => return Err(outside(written)),
        }
    }
    if written.contains('\0') {
        return Err(ToolError::invalid_input("a path cannot hold a zero byte"));
    }
    let name = if names.is_empty() { ".".to_owned() } else { names.join("/") };
    Ok(Place { path: root.join(names.iter().collect::<PathBuf>()), name })
}

/// The same without the mount in front, which models like to write.
fn relative(written: &str) -> &str {
    match written.strip_prefix(WORKSPACE) {
        Some("") => ".",
        Some(rest) => rest.strip_prefix('/').unwrap_or(written),
        None => written,
    }
}

fn outside(written: &str) -> ToolError {
    ToolError::invalid_input(format!(
        "`{written}` leads out of the workspace; write a path relative to it, such as `src/main.rs`"
    ))
}

/// What to tell a model when a place cannot be used as it wished.
#[must_use]
pub fn explain(place: &Place, error: &io::Error) -> ToolError {
    let name = &place.name;
    match error.kind() {
        io::ErrorKind::NotFound => ToolError::invalid_input(format!("there is no `{name}` in the workspace")),
        // `create_dir_all` says "already exists" where a file stands in the way.
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => ToolError::invalid_input(format!(
            "`{name}` cannot be: a part of the path is a file or a link, not a directory"
        )),
        io::ErrorKind::PermissionDenied => ToolError::failed(format!(
            "`{name}` cannot be used: a link on the way leads out of the workspace, or this may only be read"
        )),
        io::ErrorKind::IsADirectory => {
            ToolError::invalid_input(format!("`{name}` is a directory, not a file"))
        }
        io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => {
            ToolError::failed(format!("`{name}` cannot be written: the workspace is full"))
        }
        // What fails in the midst of writing comes without its reason.
        _ if error.raw_os_error() == Some(WASI_IO) && cfg!(target_os = "wasi") => ToolError::failed(format!(
            "`{name}` cannot be read or written to its end; if it was written, the workspace may be full"
        )),
        _ => ToolError::failed(format!("`{name}`: {error}")),
    }
}
