//! Seeing that a bundle's folder has changed, for builds that follow an author's edits. Looks at the files
//! again and again, which works on every file system; builds nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::WalkBuilder;
use rewake_core::ids::Digest;

use super::{manifest, outputs};
use crate::sdk;

/// How often the folder is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Folders that builds write and authors do not.
const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", sdk::FOLDER];
/// Bytes of a file whose contents are compared; of a larger one, length and time are.
const COMPARED_BYTES_MAX: u64 = 8 << 20;
/// Files and folders that are looked at. A folder with more of them holds something else than a bundle.
const ENTRIES_MAX: usize = 20_000;

/// A folder that is watched.
#[derive(Debug)]
pub struct Watch {
    folder: PathBuf,
    seen: Seen,
}

/// The files that an author writes, each as it was seen.
type Seen = BTreeMap<PathBuf, File>;

/// A file as it was seen: a build that writes again what was there makes no difference.
#[derive(Clone, Debug)]
struct File {
    modified: Option<SystemTime>,
    bytes: u64,
    digest: Option<Digest>,
}

impl File {
    fn is_like(&self, other: &File) -> bool {
        match (self.digest, other.digest) {
            (Some(one), Some(other)) => one == other,
            _ => self.modified == other.modified && self.bytes == other.bytes,
        }
    }
}

impl Watch {
    /// Begins with the folder as it is. To be made before a build, so that what is edited during it counts.
    pub fn new(folder: &Path) -> Watch {
        let seen = see(folder, &Seen::new());
        Watch { folder: folder.to_owned(), seen }
    }

    /// Waits until something has changed and then nothing for a moment; returns what, sorted, relative to the
    /// folder.
    pub async fn changed(&mut self) -> Vec<PathBuf> {
        loop {
            let mut now = see(&self.folder, &self.seen);
            if !differences(&self.seen, &now).is_empty() {
                // An editor writes a file in steps, and a checkout many files.
                loop {
                    tokio::time::sleep(POLL_INTERVAL).await;
                    let later = see(&self.folder, &now);
                    let is_quiet = differences(&now, &later).is_empty();
                    now = later;
                    if is_quiet {
                        break;
                    }
                }
                let changed = differences(&self.seen, &now);
                self.seen = now;
                if !changed.is_empty() {
                    return changed;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn differences(before: &Seen, now: &Seen) -> Vec<PathBuf> {
    let is_new = |(path, file): &(&PathBuf, &File)| before.get(*path).is_none_or(|old| !old.is_like(file));
    let mut changed: Vec<PathBuf> = now.iter().filter(is_new).map(|(path, _)| path.clone()).collect();
    changed.extend(before.keys().filter(|path| !now.contains_key(*path)).cloned());
    changed.sort();
    changed
}

/// Every file below the folder that is neither built nor named by a .gitignore. What is as old as before is
/// not read again.
fn see(folder: &Path, before: &Seen) -> Seen {
    let built = manifest(folder).map_or_else(|_| outputs(&[]), |manifest| outputs(&manifest.components));
    let mut walk = WalkBuilder::new(folder);
    walk.hidden(false).require_git(false).follow_links(false);
    walk.filter_entry(|entry| !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped));
    let mut seen = Seen::new();
    // What is not there any more, or may not be read, is not watched.
    for entry in walk.build().filter_map(Result::ok).take(ENTRIES_MAX) {
        let Ok(relative) = entry.path().strip_prefix(folder) else { continue };
        if built.iter().any(|output| Path::new(output) == relative) {
            continue;
        }
        if let Some(file) = look(entry.path(), before.get(relative)) {
            seen.insert(relative.to_owned(), file);
        }
    }
    seen
}

fn look(path: &Path, before: Option<&File>) -> Option<File> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let (modified, bytes) = (found.modified().ok(), found.len());
    if let Some(before) = before.filter(|before| before.modified == modified && before.bytes == bytes) {
        return Some(before.clone());
    }
    let digest = match bytes <= COMPARED_BYTES_MAX {
        true => fs::read(path).ok().map(|bytes| Digest::of(&bytes)),
        false => None,
    };
    Some(File { modified, bytes, digest })
}
