//! What stands behind the mounts of a session's guests: its workspace, scratch folders, the files of its
//! bundles, and the operator's directories.
//!
//! It knows folders. Who is granted which was decided before; a mount whose grant is gone stays in sight,
//! so that a replay sees the same mounts, and every use of it is denied.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rewake_core::fact::{ComponentPin, Created, PluginKind};
use rewake_core::grant::{self, FsGrant, FsSource, Grants};
use rewake_core::ids::{Digest, SessionId};
use rewake_wasi::{Access, Mount, Quota, Volume};
use tracing::warn;

use crate::workspace;
use rewake_policy::config::{FolderBounds, HostDir, Rules};

/// Bytes of a call's scratch folder, unless the operator says otherwise.
const SCRATCH_BYTES_MAX: u64 = 256 << 20;
/// Files, folders and links of it, likewise.
const SCRATCH_FILES_MAX: u64 = 10_000;

/// The folders of one session on this host.
pub struct Volumes {
    workspace: Arc<Volume>,
    /// Where the scratch folders of calls are made.
    scratch: PathBuf,
    /// What each of them may hold.
    scratch_quota: Quota,
    /// The files of bundles, by the bundle's name.
    bundles: BTreeMap<String, Arc<Volume>>,
    /// The operator's directories, by name, and what the operator allows there.
    dirs: BTreeMap<String, (Arc<Volume>, grant::Access)>,
}

impl Volumes {
    /// The folders of a session.
    pub fn new(
        data: &Path,
        session: &SessionId,
        rules: &Rules,
        bundles: BTreeMap<String, Arc<Volume>>,
    ) -> Volumes {
        Volumes::over(workspace::path(data, session), data, session, rules, bundles)
    }

    /// The same, over a workspace that stands anywhere.
    pub fn over(
        workspace: PathBuf,
        data: &Path,
        session: &SessionId,
        rules: &Rules,
        bundles: BTreeMap<String, Arc<Volume>>,
    ) -> Volumes {
        let dir = |(name, dir): (&String, &HostDir)| {
            (name.clone(), (Arc::new(Volume::new(dir.path.clone(), None)), dir.access))
        };
        Volumes {
            workspace: Arc::new(Volume::new(workspace, Some(workspace::quota(&rules.limits.workspace)))),
            scratch: data.join("scratch").join(session.as_str()),
            scratch_quota: scratch_quota(&rules.limits.scratch),
            bundles,
            dirs: rules.dirs.iter().map(dir).collect(),
        }
    }

    /// Removes the scratch folders that a host left behind when it died. Only for who holds the session.
    pub fn clear(&self, session: &SessionId) {
        if let Err(error) = fs::remove_dir_all(&self.scratch)
            && error.kind() != io::ErrorKind::NotFound
        {
            warn!(%session, %error, "scratch folders of a host that died cannot be removed");
        }
    }

    /// A component's mounts: those of its pin, as far as they are granted now.
    pub fn mounts(&self, component: &ComponentPin, now: &Grants) -> Vec<Mount> {
        let mounts = component.grants.fs.iter().map(|pinned| {
            let granted = now.fs.iter().find(|now| now.mount == pinned.mount && now.source == pinned.source);
            let access = granted.map_or(grant::Access::ReadOnly, |now| now.access.min(pinned.access));
            let (volume, access) = match granted {
                Some(_) => self.volume(component, pinned, access),
                None => (Arc::new(Volume::denied()), access),
            };
            let access = match (component.kind, access) {
                (PluginKind::Harness, _) | (_, grant::Access::ReadOnly) => Access::Read,
                (_, grant::Access::ReadWrite) => Access::Write,
            };
            Mount { volume, name: pinned.mount.clone(), access }
        });
        mounts.collect()
    }

    fn volume(
        &self,
        component: &ComponentPin,
        granted: &FsGrant,
        access: grant::Access,
    ) -> (Arc<Volume>, grant::Access) {
        let denied = || (Arc::new(Volume::denied()), grant::Access::ReadOnly);
        match &granted.source {
            FsSource::Workspace => (self.workspace.clone(), access),
            FsSource::Scratch => match self.scratch() {
                Ok(volume) => (Arc::new(volume), access),
                Err(error) => {
                    warn!(%error, folder = %self.scratch.display(), "a call gets no scratch folder");
                    denied()
                }
            },
            FsSource::Bundle => match self.bundles.get(&component.bundle) {
                Some(volume) => (volume.clone(), grant::Access::ReadOnly),
                None => denied(),
            },
            FsSource::Host(name) => match self.dirs.get(name) {
                Some((volume, most)) => (volume.clone(), access.min(*most)),
                None => denied(),
            },
        }
    }

    /// An empty folder, removed when the call's instance is.
    fn scratch(&self) -> io::Result<Volume> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.scratch)?;
        let folder = tempfile::Builder::new().prefix("call-").tempdir_in(&self.scratch)?;
        Ok(Volume::guarded(folder.path().to_owned(), self.scratch_quota, Box::new(folder)))
    }
}

fn scratch_quota(bounds: &FolderBounds) -> Quota {
    Quota {
        bytes_max: bounds.bytes_max.unwrap_or(SCRATCH_BYTES_MAX),
        files_max: bounds.files_max.unwrap_or(SCRATCH_FILES_MAX),
    }
}

/// The names of the bundles whose files a component of the session sees.
pub fn bundles_seen(created: &Created) -> Vec<(&str, Digest)> {
    let sees = |name: &str| {
        created.components.iter().any(|component| {
            component.bundle == name && component.grants.fs.iter().any(|fs| fs.source == FsSource::Bundle)
        })
    };
    let seen = created.bundles.iter().filter(|bundle| sees(&bundle.name));
    seen.map(|bundle| (bundle.name.as_str(), bundle.digest)).collect()
}

/// Lays a bundle's files out in a folder of the cache, named by the bundle's digest. What is there already
/// is compared with the files byte for byte, and replaced if it differs: the store is the truth.
///
/// # Errors
/// If the folder cannot be written.
pub fn lay_out(cache: &Path, digest: Digest, files: &BTreeMap<String, Vec<u8>>) -> io::Result<Volume> {
    let parent = cache.join("bundles");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&parent)?;
    let folder = parent.join(digest.to_hex());
    if !holds_exactly(&folder, files) {
        let made = tempfile::Builder::new().prefix("new-").tempdir_in(&parent)?;
        for (name, bytes) in files {
            let path = made.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(made.path()))?;
            fs::write(path, bytes)?;
        }
        if folder.exists() {
            // Anyone who has the old one open keeps it; the name goes to the new one.
            let old = tempfile::Builder::new().prefix("old-").tempdir_in(&parent)?;
            fs::rename(&folder, old.path().join("files"))?;
        }
        match fs::rename(made.path(), &folder) {
            Ok(()) => drop(made.keep()),
            // Another process was as quick.
            Err(_) if holds_exactly(&folder, files) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Volume::new(folder, None))
}

/// Whether a folder holds these files, byte for byte, and nothing else.
fn holds_exactly(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> bool {
    let mut found = 0;
    for entry in walkdir::WalkDir::new(folder).min_depth(1).follow_links(false) {
        let Ok(entry) = entry else { return false };
        if entry.file_type().is_dir() {
            continue;
        }
        let name = entry.path().strip_prefix(folder).ok().and_then(Path::to_str);
        let Some(expected) = name.and_then(|name| files.get(name)) else { return false };
        if !entry.file_type().is_file() || fs::read(entry.path()).ok().as_ref() != Some(expected) {
            return false;
        }
        found += 1;
    }
    found == files.len() && !files.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_s_files_are_laid_out_and_made_good() {
        let cache = tempfile::tempdir().unwrap();
        let files = BTreeMap::from([
            ("bundle.toml".to_owned(), b"schema = 1".to_vec()),
            ("data/words.txt".to_owned(), b"words".to_vec()),
        ]);
        let digest = Digest::of(b"bundle");
        let folder = cache.path().join("bundles").join(digest.to_hex());
        lay_out(cache.path(), digest, &files).unwrap();
        assert_eq!(fs::read(folder.join("data/words.txt")).unwrap(), b"words");
        for spoil in [
            |folder: &Path| fs::write(folder.join("data/words.txt"), "other").unwrap(),
            |folder: &Path| fs::write(folder.join("more"), "").unwrap(),
            |folder: &Path| fs::remove_file(folder.join("bundle.toml")).unwrap(),
            |folder: &Path| std::os::unix::fs::symlink("/etc", folder.join("etc")).unwrap(),
        ] {
            spoil(&folder);
            assert!(!holds_exactly(&folder, &files));
            lay_out(cache.path(), digest, &files).unwrap();
            assert!(holds_exactly(&folder, &files));
        }
    }
}
