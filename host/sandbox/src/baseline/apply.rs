//! Bringing what a workspace changed into the folder that it was copied from. Everything that comes is made
//! ready inside that folder before anything there goes; what could be lost is a conflict, and then nothing is
//! done. Follows no link, and makes none that leads out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _, Permissions, PermissionsExt as _};
use rewake_core::ids::Digest;
use thiserror::Error;

use super::{Baseline, Change, Thing, Tree, changes, copied, scan, stays_inside};

/// How the folder begins in which new files are made ready.
const READY: &str = ".rewake-apply-";

/// Why changes are not brought into a folder.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The folder has changed where the workspace has too. Nothing was done.
    #[error("these have changed in the folder since the workspace was copied from it: {}", .0.join(", "))]
    Conflicts(Vec<String>),
    /// The workspace holds links that lead out of it. Nothing was done.
    #[error("these links lead out of the workspace, and are not brought along: {}", .0.join(", "))]
    LeadOut(Vec<String>),
    /// A path cannot be read or written. While new files are made ready, nothing is changed yet; `done` says
    /// what was changed.
    #[error("{path}: {source} ({done})")]
    Io {
        /// The path, within the tree.
        path: String,
        /// Why.
        source: std::io::Error,
        /// What was done before.
        done: &'static str,
    },
}

const NOTHING_DONE: &str = "nothing was changed";
const HALF_DONE: &str = "some changes were made; the workspace still has all of them";

/// Brings the changes of a workspace into the folder that it was copied from.
///
/// # Errors
/// As [`ApplyError`] says.
pub fn apply(
    baseline: &Baseline,
    workspace: &Path,
    folder: &Path,
) -> Result<Vec<(String, Change)>, ApplyError> {
    let unread = |path: &Path| {
        let path = path.display().to_string();
        move |source| ApplyError::Io { path, source, done: NOTHING_DONE }
    };
    let after = scan(workspace).map_err(unread(workspace))?;
    let there = scan(folder).map_err(unread(folder))?;
    let trees = Trees { before: &baseline.tree, after: &after, there: &there };
    let touched = trees.touched();
    refuse_links(&after, &touched)?;
    let conflicts = trees.conflicts(&touched);
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    let from = Dir::open_ambient_dir(workspace, ambient_authority()).map_err(unread(workspace))?;
    let to = Dir::open_ambient_dir(folder, ambient_authority()).map_err(unread(folder))?;
    let ready = Ready::new(&to).map_err(unread(folder))?;
    let mut files = BTreeMap::new();
    for (number, path) in trees.coming(&touched).enumerate() {
        let Some(Thing::File { digest, is_executable, .. }) = after.get(path) else { continue };
        let name = number.to_string();
        let made = ready.make(&from, path, &name, *is_executable, &to);
        let made = made.and_then(|found| match found == *digest {
            true => Ok(()),
            false => Err(std::io::Error::other("it is being changed; wait until the session rests")),
        });
        made.map_err(|source| ApplyError::Io { path: path.clone(), source, done: NOTHING_DONE })?;
        files.insert(path, name);
    }
    exchange(&trees, &touched, &to, &ready, &files)?;
    Ok(changes(&baseline.tree, &after))
}

/// The three trees that an exchange is about.
struct Trees<'a> {
    before: &'a Tree,
    after: &'a Tree,
    there: &'a Tree,
}

impl<'a> Trees<'a> {
    /// Every path that the workspace changed, folders with their contents.
    fn touched(&self) -> BTreeSet<&'a String> {
        let all = self.before.keys().chain(self.after.keys());
        all.filter(|path| self.before.get(*path) != self.after.get(*path)).collect()
    }

    /// What has to be put into the folder.
    fn coming<'b>(&'b self, touched: &'b BTreeSet<&'a String>) -> impl Iterator<Item = &'a String> + 'b {
        touched.iter().copied().filter(|path| self.there.get(*path) != self.after.get(*path))
    }

    /// The paths at which the folder is neither as it was nor as it is to be: they themselves, what they are
    /// in, and what is in a folder that has to go.
    fn conflicts(&self, touched: &BTreeSet<&String>) -> Vec<String> {
        let is_known = |path: &str| {
            let there = self.there.get(path);
            there == self.before.get(path) || there == self.after.get(path)
        };
        let mut conflicts = BTreeSet::new();
        for path in touched {
            let above = path.match_indices('/').map(|(at, _)| &path[..at]);
            conflicts.extend(above.chain([path.as_str()]).filter(|path| !is_known(path)).map(str::to_owned));
            let was_folder = self.there.get(*path) == Some(&Thing::Folder);
            if was_folder && self.after.get(*path).is_some_and(|new| *new != Thing::Folder) {
                let inside = format!("{path}/");
                let theirs = self.there.keys().filter(|other| other.starts_with(&inside));
                conflicts.extend(theirs.filter(|other| !self.before.contains_key(*other)).cloned());
            }
        }
        conflicts.into_iter().collect()
    }
}

/// A workspace's links are its guests': one that leads out would have its folder's owner write elsewhere.
fn refuse_links(after: &Tree, touched: &BTreeSet<&String>) -> Result<(), ApplyError> {
    let leads_out = |path: &&&String| match after.get(**path) {
        Some(Thing::Link(text)) => !stays_inside(Path::new(path.as_str()), Path::new(text)),
        _ => false,
    };
    let out: Vec<String> = touched.iter().filter(leads_out).map(|path| (*path).clone()).collect();
    if out.is_empty() { Ok(()) } else { Err(ApplyError::LeadOut(out)) }
}

/// What goes, goes first and from the inside out; what comes, comes from the outside in.
fn exchange(
    trees: &Trees<'_>,
    touched: &BTreeSet<&String>,
    to: &Dir,
    ready: &Ready<'_>,
    files: &BTreeMap<&String, String>,
) -> Result<(), ApplyError> {
    let failed = |path: &str| {
        let path = path.to_owned();
        move |source| ApplyError::Io { path, source, done: HALF_DONE }
    };
    for path in touched.iter().rev() {
        let Some(old) = trees.there.get(*path) else { continue };
        let stays = match trees.after.get(*path) {
            Some(new) => std::mem::discriminant(old) == std::mem::discriminant(new),
            None => false,
        };
        if !stays {
            remove(to, path, old).map_err(failed(path))?;
        }
    }
    for path in trees.coming(touched) {
        let put = match trees.after.get(path) {
            None => continue,
            Some(Thing::Folder) => to.create_dir(path),
            Some(Thing::Link(text)) => {
                let _ = to.remove_file(path);
                to.symlink(text, path)
            }
            Some(Thing::File { .. }) => match files.get(path) {
                Some(name) => ready.folder.rename(name, to, path),
                None => continue,
            },
        };
        put.map_err(failed(path))?;
    }
    Ok(())
}

fn remove(to: &Dir, path: &str, thing: &Thing) -> std::io::Result<()> {
    match thing {
        // What is in it and is not the workspace's doing stays, and the folder with it.
        Thing::Folder => to.remove_dir(path).or_else(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty => Ok(()),
            _ => Err(error),
        }),
        Thing::File { .. } | Thing::Link(_) => to.remove_file(path),
    }
}

/// A folder in which new files are made ready; gone when it is dropped.
struct Ready<'a> {
    to: &'a Dir,
    name: String,
    folder: Dir,
}

impl<'a> Ready<'a> {
    fn new(to: &'a Dir) -> std::io::Result<Ready<'a>> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let name = format!("{READY}{:016x}", u64::from_le_bytes(bytes));
        to.create_dir(&name)?;
        Ok(Ready { to, folder: to.open_dir(&name)?, name })
    }

    /// Copies a file here, with the rights of the one that it will replace, and returns the digest of what was
    /// copied.
    fn make(
        &self,
        from: &Dir,
        path: &str,
        name: &str,
        is_executable: bool,
        to: &Dir,
    ) -> std::io::Result<Digest> {
        let old = to.symlink_metadata(path).ok().filter(|old| old.is_file());
        let mode = old.map_or(0o644, |old| old.permissions().mode() & 0o777);
        let mode = if is_executable { mode | 0o100 } else { mode & !0o111 };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file: File = self.folder.open_with(name, &options)?;
        let mut source = from.open(path)?;
        let (digest, _) = copied(&mut source, &mut file)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        // On the disk before it takes the place of what was there.
        file.sync_all()?;
        Ok(digest)
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        let _ = self.to.remove_dir_all(&self.name);
    }
}
