//! What a session was given (what its workspace held when it was made, and what was imported since), and what has
//! become of it: the way its work gets out.
//! Knows files and digests; knows no session but by name, and changes no workspace.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, PermissionsExt as _};
use rewake_core::ids::{Digest, SessionId};
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

pub use self::apply::{ApplyError, apply};
pub(crate) use self::given::digest;

mod apply;
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
        new.as_file().sync_all()?;
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
    let (digest, size) = copied(&mut file, &mut std::io::sink())?;
    Ok(Thing::File { digest, size, is_executable })
}

/// Copies all of a file; returns the digest of what was copied, and its bytes.
fn copied(from: &mut impl std::io::Read, to: &mut impl std::io::Write) -> std::io::Result<(Digest, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut size = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok((Digest(*hasher.finalize().as_bytes()), size)),
            read => {
                hasher.update(&buffer[..read]);
                to.write_all(&buffer[..read])?;
                size += read as u64;
            }
        }
    }
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

/// Whether a link at `inside` whose text is `text` leads to a path inside the tree, by its text alone.
/// `..` after a name is refused, because the name may be a link itself and lead elsewhere than up.
pub(crate) fn stays_inside(inside: &Path, text: &Path) -> bool {
    let mut depth = inside.components().count().saturating_sub(1);
    let mut named = false;
    for component in text.components() {
        match component {
            Component::Normal(_) => named = true,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 && !named => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests;
