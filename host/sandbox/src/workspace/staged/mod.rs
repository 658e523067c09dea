//! An import into a workspace: made beside it, announced by anyone who asks for it, and put in its place. Whatever
//! is cut off, [`settle`] loads again; two that do so at once do it once. Knows files, and of the journal only
//! what it is told.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rewake_core::ids::{Digest, SessionId};
use rewake_wasi::Quota;
use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use rustix::io::Errno;
use tracing::warn;
use walkdir::WalkDir;

use super::{Copied, NEW, WorkspaceError, copy, copy_in, is_there, path};
use crate::baseline::{self, Baseline, Thing};

/// How the name of the folder begins in which a session's imports are made.
const IMPORT: &str = ".import-";
/// What the workspace will hold.
const TREE: &str = "tree";
/// What it held before, once it is out of its place.
const OLD: &str = "old";
/// What the session was given, with the import.
const BASELINE: &str = "baseline.json";

/// What is to be brought into a workspace.
pub struct Bring {
    /// The data folder.
    pub data: PathBuf,
    /// Whose workspace.
    pub session: SessionId,
    /// The lease under which it is done: what is made has its number, so that nobody takes it for another's.
    pub epoch: u64,
    /// The folder that it comes from.
    pub from: PathBuf,
    /// Whether everything that the workspace holds goes.
    pub replaces: bool,
    /// What the workspace may hold.
    pub quota: Quota,
}

/// An import that is made, on the disk, and not in its place.
pub struct Staged {
    /// What came.
    pub copied: Copied,
    /// Of all that the workspace will hold.
    pub tree: Digest,
    folder: PathBuf,
    data: PathBuf,
    session: SessionId,
}

/// Makes an import beside the workspace.
///
/// # Errors
/// If something cannot be read or written, or the workspace would hold too much; nothing is then left of it.
pub fn stage(bring: &Bring) -> Result<Staged, WorkspaceError> {
    let folder = imports(&bring.data, &bring.session).join(bring.epoch.to_string());
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(TREE));
    made.map_err(|source| WorkspaceError::Io { path: folder.clone(), source })?;
    fill(bring, &folder).inspect_err(|_| discard(&bring.data, &folder))
}

fn fill(bring: &Bring, folder: &Path) -> Result<Staged, WorkspaceError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| WorkspaceError::Io { path, source }
    };
    let new = folder.join(TREE);
    let copied = copy_in(&bring.from, &new, bring.quota)?;
    let workspace = path(&bring.data, &bring.session);
    let mut came = BTreeSet::new();
    if !bring.replaces {
        came = paths(&new).map_err(io(&new))?;
        keep_what_stays(&workspace, &new, copied, bring.quota)?;
    }
    let tree = baseline::scan(&new).map_err(io(&new))?;
    check(tree.values(), bring.quota)?;
    let before = Baseline::read(&bring.data, &bring.session).map_err(io(&workspace))?;
    let given = match bring.replaces {
        true => Some(Baseline::of(&bring.from, tree.clone())),
        false => before.map(|before| before.with(&bring.from, &came, &tree)),
    };
    if let Some(given) = given {
        let file = folder.join(BASELINE);
        given.write(&file).map_err(io(&file))?;
    }
    // All of it is on the disk before anything says that it is there.
    let opened = fs::File::open(folder).map_err(io(folder))?;
    syncfs(&opened).map_err(|error| io(folder)(error.into()))?;
    let (data, session) = (bring.data.clone(), bring.session.clone());
    Ok(Staged { copied, tree: baseline::digest(&tree), folder: folder.to_owned(), data, session })
}

/// Every path in a folder that is text.
fn paths(folder: &Path) -> io::Result<BTreeSet<String>> {
    let found = WalkDir::new(folder).min_depth(1).follow_links(false).into_iter();
    let inside = found.map(|found| {
        let found = found?;
        Ok(found.path().strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned))
    });
    inside.filter_map(Result::transpose).collect()
}

/// Copies what a workspace holds into a new one, where that holds nothing in its place. Links are copied as they
/// are: guests made them, and no guest gets further by one.
fn keep_what_stays(from: &Path, to: &Path, came: Copied, quota: Quota) -> Result<(), WorkspaceError> {
    let mut held = Held { files: came.files, bytes: came.bytes, quota };
    let mut walk = WalkDir::new(from).min_depth(1).follow_links(false).sort_by_file_name().into_iter();
    while let Some(found) = walk.next() {
        let found = found.map_err(|error| {
            let path = error.path().unwrap_or(from).to_owned();
            WorkspaceError::Io { path, source: error.into() }
        })?;
        let io = |source| WorkspaceError::Io { path: found.path().to_owned(), source };
        let inside = found.path().strip_prefix(from).unwrap_or(found.path());
        let (target, kind) = (to.join(inside), found.file_type());
        match fs::symlink_metadata(&target) {
            Ok(there) if there.is_dir() && kind.is_dir() => continue,
            Ok(_) => {
                // What came stands here. Nothing is ever written through it, if it is a link.
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
                continue;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
        }
        let bytes = match kind.is_symlink() {
            true => {
                let text = fs::read_link(found.path()).map_err(io)?;
                std::os::unix::fs::symlink(text, &target).map_err(io)?;
                Some(0)
            }
            false => copy(found.path(), inside, &target, kind, held.room()).map_err(io)?,
        };
        if let Some(bytes) = bytes {
            held.add(bytes)?;
        }
    }
    Ok(())
}

/// What a new workspace holds so far.
struct Held {
    files: u64,
    bytes: u64,
    quota: Quota,
}

impl Held {
    fn room(&self) -> u64 {
        self.quota.bytes_max.saturating_sub(self.bytes)
    }

    fn add(&mut self, bytes: u64) -> Result<(), WorkspaceError> {
        self.files += 1;
        self.bytes += bytes;
        let Quota { bytes_max, files_max } = self.quota;
        for (what, held, max) in [("files", self.files, files_max), ("bytes", self.bytes, bytes_max)] {
            if held > max {
                return Err(WorkspaceError::Full { what, max });
            }
        }
        Ok(())
    }
}

fn check<'a>(things: impl Iterator<Item = &'a Thing>, quota: Quota) -> Result<(), WorkspaceError> {
    let mut held = Held { files: 0, bytes: 0, quota };
    for thing in things {
        held.add(if let Thing::File { size, .. } = thing { *size } else { 0 })?;
    }
    Ok(())
}

impl Staged {
    /// Puts it in the workspace's place.
    ///
    /// # Errors
    /// If that cannot be done now; [`settle`] does it later.
    pub fn put(&self) -> Result<(), WorkspaceError> {
        put(&self.data, &self.session, &self.folder)?;
        discard(&self.data, &self.folder);
        Ok(())
    }

    /// Removes it; nothing must have announced it.
    pub fn discard(&self) {
        discard(&self.data, &self.folder);
    }
}

/// Sees to it that the import that the journal announces stands in the workspace's place, and that nothing is left
/// of any. `announced` is its tree; none, if a load has seen to it since. For who holds the session.
///
/// # Errors
/// If something cannot be moved: the session must then not be loaded.
pub fn settle(data: &Path, session: &SessionId, announced: Option<Digest>) -> Result<(), WorkspaceError> {
    let parent = imports(data, session);
    let io = |source| WorkspaceError::Io { path: parent.clone(), source };
    let found = match fs::read_dir(&parent) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
    };
    for found in found {
        let folder = found.map_err(io)?.path();
        let is_announced = match announced {
            Some(tree) => is_whole(&folder, tree).map_err(io)?,
            None => false,
        };
        if is_announced {
            put(data, session, &folder)?;
        } else if !is_there(&path(data, session)) && is_there(&folder.join(OLD)) {
            warn!(%session, "an import is broken; the workspace is as it was before");
            move_to(&folder.join(OLD), &path(data, session)).map_err(|error| io(error.into()))?;
        }
    }
    set_aside(data, &parent).map_err(io)
}

/// Whether what is made in a folder is what was announced. What cannot be read may still be that: then the
/// session waits for whoever fixes it, and nothing is removed.
fn is_whole(folder: &Path, announced: Digest) -> io::Result<bool> {
    let new = folder.join(TREE);
    Ok(is_there(&new) && baseline::digest(&baseline::scan(&new)?) == announced)
}

/// Puts what is made in a folder in the workspace's place. No step of it can be taken twice, by whomever: a folder
/// is moved only to where nothing is.
fn put(data: &Path, session: &SessionId, folder: &Path) -> Result<(), WorkspaceError> {
    let workspace = path(data, session);
    let io = |source: io::Error| WorkspaceError::Io { path: workspace.clone(), source };
    let given = baseline::path(data, session);
    let noted = fs::create_dir_all(given.parent().unwrap_or(data))
        .and_then(|()| fs::rename(folder.join(BASELINE), &given));
    match noted {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
        Ok(()) | Err(_) => {}
    }
    match move_to(&workspace, &folder.join(OLD)) {
        // It was moved before.
        Ok(()) | Err(Errno::EXIST | Errno::NOENT) => {}
        Err(error) => return Err(io(error.into())),
    }
    match move_to(&folder.join(TREE), &workspace) {
        Ok(()) => {}
        Err(Errno::NOENT) if is_there(&workspace) => {}
        Err(error) => return Err(io(error.into())),
    }
    for changed in [workspace.parent(), given.parent()].into_iter().flatten() {
        fs::File::open(changed).and_then(|folder| folder.sync_all()).map_err(io)?;
    }
    Ok(())
}

fn move_to(from: &Path, to: &Path) -> Result<(), Errno> {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

/// Takes a folder out of sight, at once, and then removes it; what of it cannot be removed now is swept away later.
fn set_aside(data: &Path, folder: &Path) -> io::Result<()> {
    let aside =
        tempfile::Builder::new().prefix(&format!("{NEW}gone-")).tempdir_in(data.join("workspaces"))?;
    match fs::rename(folder, aside.path().join("import")) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn discard(data: &Path, folder: &Path) {
    if let Err(error) = set_aside(data, folder) {
        warn!(%error, folder = %folder.display(), "what is left of an import goes when the session is loaded next");
    }
    if let Some(parent) = folder.parent() {
        // Another import may stand in it.
        let _ = fs::remove_dir(parent);
    }
}

fn imports(data: &Path, session: &SessionId) -> PathBuf {
    data.join("workspaces").join(format!("{IMPORT}{session}"))
}

#[cfg(test)]
mod tests;
