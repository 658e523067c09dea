//! What a session was given (what its workspace held when it was made, and what was imported since), and what has
//! become of it: the way its work gets out.
//! Knows files and digests; knows no session but by name, and changes no workspace.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptionsExt as _, PermissionsExt as _};
use rewake_core::ids::{Digest, SessionId};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use walkdir::WalkDir;

pub(crate) use self::given::digest;

mod given;

/// Bytes of a baseline that are read back: a hundred thousand files with long names.
const BASELINE_BYTES_MAX: u64 = 256 << 20;
/// Bytes that are read of a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// What stands at a path of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thing {
    /// A file.
    File {
        /// Of its bytes.
        digest: Digest,
        /// Bytes.
        size: u64,
        /// Whether its owner may execute it.
        is_executable: bool,
    },
    /// A folder.
    Folder,
    /// A symbolic link, by its text.
    Link(String),
}

/// A tree, by the paths in it, with `/` between their parts.
pub type Tree = BTreeMap<String, Thing>;

/// What a session was given: what its workspace held when it was made, and what was imported since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The folder it was copied from.
    pub source: Option<PathBuf>,
    /// What was copied.
    pub tree: Tree,
}

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is another.
    Changed,
    /// It is gone.
    Removed,
}

/// Why changes are not brought into a folder.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The folder has changed where the workspace has too. Nothing was done.
    #[error("these have changed in the folder since the workspace was copied from it: {}", .0.join(", "))]
    Conflicts(Vec<String>),
    /// A path cannot be read or written. What stands before it in the order of paths was done.
    #[error("{path}: {source}")]
    Io {
        /// The path, within the tree.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Baseline {
    /// Notes what a new workspace holds, in the data folder.
    ///
    /// # Errors
    /// If it cannot be read, or the note not be written.
    pub fn note(
        data: &Path,
        session: &SessionId,
        workspace: &Path,
        source: Option<&Path>,
    ) -> std::io::Result<()> {
        let source = source.and_then(|source| source.canonicalize().ok());
        let baseline = Baseline { source, tree: scan(workspace)? };
        baseline.write(&path(data, session))
    }

    pub(crate) fn write(&self, file: &Path) -> std::io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut new, self)?;
        new.flush()?;
        new.persist(file)?;
        Ok(())
    }

    /// What was noted; none of a session from another machine or an older version.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    pub fn read(data: &Path, session: &SessionId) -> std::io::Result<Option<Baseline>> {
        let file = match fs::File::open(path(data, session)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(BASELINE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(Some(serde_json::from_str(&text)?))
    }

    /// Forgets what was noted.
    pub fn forget(data: &Path, session: &SessionId) {
        let _ = fs::remove_file(path(data, session));
    }
}

/// Where it is noted.
pub(crate) fn path(data: &Path, session: &SessionId) -> PathBuf {
    data.join("baselines").join(format!("{session}.json"))
}

/// What a folder holds. Links are not followed; what has a name that is no text, and what is no file, folder
/// or link, is left out.
///
/// # Errors
/// If something in it cannot be read.
pub fn scan(folder: &Path) -> std::io::Result<Tree> {
    let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
    let mut tree = Tree::new();
    for found in WalkDir::new(folder).min_depth(1).follow_links(false).sort_by_file_name() {
        let found = found.map_err(std::io::Error::from)?;
        let inside = found.path().strip_prefix(folder).unwrap_or(found.path());
        let Some(name) = inside.to_str() else { continue };
        let kind = found.file_type();
        let thing = if kind.is_dir() {
            Thing::Folder
        } else if kind.is_symlink() {
            match dir.read_link_contents(inside).map(|text| text.into_os_string().into_string()) {
                Ok(Ok(text)) => Thing::Link(text),
                Ok(Err(_)) => continue,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
        } else if kind.is_file() {
            match file(&dir, inside) {
                Ok(thing) => thing,
                // A tool may be at work.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
        } else {
            continue;
        };
        tree.insert(name.to_owned(), thing);
    }
    Ok(tree)
}

fn file(dir: &Dir, path: &Path) -> std::io::Result<Thing> {
    let mut file = dir.open(path)?;
    let is_executable = file.metadata()?.permissions().mode() & 0o100 != 0;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut size = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                hasher.update(&buffer[..read]);
                size += read as u64;
            }
        }
    }
    Ok(Thing::File { digest: Digest(*hasher.finalize().as_bytes()), size, is_executable })
}

/// What has changed between two trees, in the order of the paths. A folder that is new or gone is named only
/// if nothing in it is.
pub fn changes(before: &Tree, after: &Tree) -> Vec<(String, Change)> {
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    for (path, thing) in after {
        match before.get(path) {
            None => changes.insert(path, Change::Added),
            Some(old) if old != thing => changes.insert(path, Change::Changed),
            Some(_) => None,
        };
    }
    changes.extend(
        before.keys().filter(|path| !after.contains_key(*path)).map(|path| (path.as_str(), Change::Removed)),
    );
    let is_told_by_another = |path: &str, change: Change| {
        let tree = if change == Change::Removed { before } else { after };
        let inside = format!("{path}/");
        change != Change::Changed
            && tree.get(path) == Some(&Thing::Folder)
            && changes.range(inside.as_str()..).next().is_some_and(|(next, _)| next.starts_with(&inside))
    };
    let told = changes.iter().filter(|(path, change)| !is_told_by_another(path, **change));
    told.map(|(path, change)| ((*path).to_owned(), *change)).collect()
}

/// A file's bytes, if it is there and has no more than `bytes_max`. No link leads out of the folder.
///
/// # Errors
/// If it is there and cannot be read.
pub fn read(folder: &Path, path: &str, bytes_max: u64) -> std::io::Result<Option<Vec<u8>>> {
    let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
    let file = match dir.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// Brings the changes of a workspace into the folder that it was copied from. Nothing is done if the folder
/// has changed itself where the workspace has.
///
/// # Errors
/// As [`ApplyError`] says.
pub fn apply(
    baseline: &Baseline,
    workspace: &Path,
    folder: &Path,
) -> Result<Vec<(String, Change)>, ApplyError> {
    let whole = |source| ApplyError::Io { path: folder.display().to_string(), source };
    let after = scan(workspace).map_err(|source| ApplyError::Io { path: "workspace".into(), source })?;
    let there = scan(folder).map_err(whole)?;
    let every = every_change(&baseline.tree, &after);
    let is_free = |(path, _): &&(String, Change)| {
        there.get(path) == baseline.tree.get(path) || there.get(path) == after.get(path)
    };
    let conflicts: Vec<String> =
        every.iter().filter(|change| !is_free(change)).map(|(path, _)| path.clone()).collect();
    if !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    let from = Dir::open_ambient_dir(workspace, ambient_authority())
        .map_err(|source| ApplyError::Io { path: "workspace".into(), source })?;
    let to = Dir::open_ambient_dir(folder, ambient_authority()).map_err(whole)?;
    // What goes, goes first and from the inside out; what comes, comes from the outside in.
    for (path, _) in every.iter().rev().filter(|(path, _)| there.contains_key(path)) {
        let must_go = match (there.get(path), after.get(path)) {
            (_, None) => true,
            (Some(old), Some(new)) => std::mem::discriminant(old) != std::mem::discriminant(new),
            (None, Some(_)) => false,
        };
        if must_go {
            remove(&to, path, &there[path])
                .map_err(|source| ApplyError::Io { path: path.clone(), source })?;
        }
    }
    for (path, _) in every.iter().filter(|(path, _)| there.get(path) != after.get(path)) {
        let Some(thing) = after.get(path) else { continue };
        put(&from, &to, path, thing).map_err(|source| ApplyError::Io { path: path.clone(), source })?;
    }
    Ok(changes(&baseline.tree, &after))
}

/// All changes, folders with their contents.
fn every_change(before: &Tree, after: &Tree) -> Vec<(String, Change)> {
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |path: &&String| match (before.get(*path), after.get(*path)) {
        (None, Some(_)) => Some(Change::Added),
        (Some(_), None) => Some(Change::Removed),
        (Some(old), Some(new)) if old != new => Some(Change::Changed),
        _ => None,
    };
    paths.iter().filter_map(|path| change(path).map(|change| ((*path).clone(), change))).collect()
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

fn put(from: &Dir, to: &Dir, path: &str, thing: &Thing) -> std::io::Result<()> {
    match thing {
        Thing::Folder => to.create_dir(path),
        Thing::Link(text) => {
            let _ = to.remove_file(path);
            to.symlink_contents(text, path)
        }
        Thing::File { is_executable, .. } => {
            // Beside it, and then over it: a link at the path is replaced, not written through.
            let beside = format!("{path}.rewake-new");
            let mut source = from.open(path)?;
            let mut options = cap_std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            options.mode(if *is_executable { 0o755 } else { 0o644 });
            let mut file = to.open_with(&beside, &options)?;
            let copied = std::io::copy(&mut source, &mut file).and_then(|_| to.rename(&beside, to, path));
            copied.inspect_err(|_| drop(to.remove_file(&beside)))
        }
    }
}

#[cfg(test)]
mod tests;
