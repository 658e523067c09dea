//! Workspaces: a session's own directory tree, copied in from a folder that stays as it is. No link ever
//! comes along that leads out, and no file that is another one's (a hard link would write through).

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rewake_core::ids::SessionId;
use rewake_wasi::{DEPTH_MAX, Quota};
use thiserror::Error;
use walkdir::WalkDir;

use crate::baseline::stays_inside;
use rewake_policy::config::FolderBounds;

pub mod staged;

/// Files, folders and links of a workspace, as it is copied in and afterwards, unless the operator says
/// otherwise.
pub const FILES_MAX: u64 = 100_000;
/// Bytes of a workspace, likewise.
pub const BYTES_MAX: u64 = 4 << 30;

/// Opens no link.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// How the name of a workspace begins that is not a session's yet.
const NEW: &str = ".new-";
/// How old a new workspace is when nobody can be filling it any more.
const SWEEP_AGE: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// Why a folder cannot become a workspace.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// It is no folder.
    #[error("{}: is not a folder; a workspace is copied from one", .0.display())]
    NoFolder(PathBuf),
    /// It is too large.
    #[error("{}: has more than {max} {what}; name a smaller folder, or see [limits.workspace] of the rules", folder.display())]
    TooLarge {
        /// The folder.
        folder: PathBuf,
        /// `files`, `bytes`, or `folders inside each other`.
        what: &'static str,
        /// The bound.
        max: u64,
    },
    /// It holds what it is to be copied into.
    #[error("{}: holds Rewake's own data ({}); name another folder, or keep the data elsewhere with --data", folder.display(), data.display())]
    HoldsData {
        /// The folder.
        folder: PathBuf,
        /// The data in it.
        data: PathBuf,
    },
    /// A workspace would hold too much with it.
    #[error(
        "with what is brought in the workspace would have more than {max} {what}; bring in less, or see [limits.workspace] of the rules"
    )]
    Full {
        /// `files` or `bytes`.
        what: &'static str,
        /// The bound.
        max: u64,
    },
    /// A file of it cannot be read, or its copy not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files, folders and links.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Links that lead out, sockets and the like, and what has a name that is no text: left out.
    pub left_out: u64,
}

/// A session's workspace in a data folder.
pub fn path(data: &Path, session: &SessionId) -> PathBuf {
    data.join("workspaces").join(session.as_str())
}

/// What a workspace may hold where no operator has said anything.
pub fn usual_quota() -> Quota {
    quota(&FolderBounds::default())
}

/// What a session's workspace may hold, by the operator's bounds.
pub fn quota(bounds: &FolderBounds) -> Quota {
    Quota {
        bytes_max: bounds.bytes_max.unwrap_or(BYTES_MAX),
        files_max: bounds.files_max.unwrap_or(FILES_MAX),
    }
}

/// Where a workspace is made, until its session exists.
pub fn new_path(data: &Path, session: &SessionId) -> PathBuf {
    data.join("workspaces").join(format!("{NEW}{session}"))
}

/// Makes the workspace of a session that does not exist yet, empty. [`keep`] makes it the session's;
/// one that is never kept is swept away.
///
/// # Errors
/// If the folder cannot be made, or is there already.
pub fn create(data: &Path, session: &SessionId) -> Result<PathBuf, WorkspaceError> {
    let folder = new_path(data, session);
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| WorkspaceError::Io { path, source }
    };
    let parent = data.join("workspaces");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&parent).map_err(io(&parent))?;
    fs::DirBuilder::new().mode(0o700).create(&folder).map_err(io(&folder))?;
    Ok(folder)
}

/// Makes a new workspace the session's own.
///
/// # Errors
/// If it cannot be renamed.
pub fn keep(data: &Path, session: &SessionId) -> Result<(), WorkspaceError> {
    let (from, to) = (new_path(data, session), path(data, session));
    fs::rename(&from, &to).map_err(|source| WorkspaceError::Io { path: to, source })
}

/// Removes a new workspace that nobody will keep.
pub fn discard(data: &Path, session: &SessionId) {
    let _ = fs::remove_dir_all(new_path(data, session));
}

/// Removes new workspaces that were never kept, because their host died: those older than a day, so that
/// none goes that another process is filling.
pub fn sweep(data: &Path) {
    let Ok(found) = fs::read_dir(data.join("workspaces")) else { return };
    for found in found.flatten() {
        let is_new = found.file_name().to_string_lossy().starts_with(NEW);
        let age = found.metadata().and_then(|data| data.modified()).ok().and_then(|made| made.elapsed().ok());
        if is_new && age.is_some_and(|age| age > SWEEP_AGE) {
            let _ = fs::remove_dir_all(found.path());
        }
    }
}

/// Whether a session's workspace is there, and a folder of its own: not a link to another.
pub fn is_there(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
}

/// Copies a folder's content into a workspace that may hold so much.
///
/// # Errors
/// If it is no folder, too large, or cannot be read.
pub fn copy_in(from: &Path, to: &Path, quota: Quota) -> Result<Copied, WorkspaceError> {
    let root = from.canonicalize().ok().filter(|root| root.is_dir());
    let Some(root) = root else { return Err(WorkspaceError::NoFolder(from.to_owned())) };
    let to = to.canonicalize().map_err(|source| WorkspaceError::Io { path: to.to_owned(), source })?;
    if to.starts_with(&root) {
        return Err(WorkspaceError::HoldsData { folder: from.to_owned(), data: to });
    }
    let too_large = |what, max| WorkspaceError::TooLarge { folder: from.to_owned(), what, max };
    let mut copied = Copied::default();
    let mut walk = WalkDir::new(&root).min_depth(1).follow_links(false).sort_by_file_name().into_iter();
    while let Some(found) = walk.next() {
        let found = found.map_err(|error| {
            let path = error.path().unwrap_or(&root).to_owned();
            WorkspaceError::Io { path, source: error.into_io_error().unwrap_or(ErrorKind::Other.into()) }
        })?;
        if found.depth() > DEPTH_MAX && found.file_type().is_dir() {
            return Err(too_large("folders inside each other", DEPTH_MAX as u64));
        }
        // A guest could neither see it nor remove it.
        if found.file_name().to_str().is_none() {
            copied.left_out += 1;
            if found.file_type().is_dir() {
                walk.skip_current_dir();
            }
            continue;
        }
        let inside = found.path().strip_prefix(&root).unwrap_or(found.path());
        let target = to.join(inside);
        let room = quota.bytes_max - copied.bytes;
        let bytes = copy(found.path(), inside, &target, found.file_type(), room)
            .map_err(|source| WorkspaceError::Io { path: found.path().to_owned(), source })?;
        match bytes {
            Some(bytes) => copied.bytes += bytes,
            None => copied.left_out += 1,
        }
        copied.files += u64::from(bytes.is_some());
        for (what, count, max) in
            [("files", copied.files, quota.files_max), ("bytes", copied.bytes, quota.bytes_max)]
        {
            if count > max {
                return Err(too_large(what, max));
            }
        }
    }
    Ok(copied)
}

/// Copies all of a workspace into a folder that is empty, with the same care for links.
///
/// # Errors
/// If something cannot be read or written.
pub fn copy_out(workspace: &Path, to: &Path) -> Result<Copied, WorkspaceError> {
    // What a workspace holds was within its quota when it came to be; the operator may have changed that since.
    copy_in(workspace, to, Quota { bytes_max: u64::MAX, files_max: u64::MAX })
}

/// Copies one thing; returns its bytes, or none if it is left out. Of a file that is larger than `room`
/// one byte more than that is copied, which is enough to tell.
fn copy(
    path: &Path,
    inside: &Path,
    target: &Path,
    kind: fs::FileType,
    room: u64,
) -> std::io::Result<Option<u64>> {
    if kind.is_dir() {
        fs::create_dir(target)?;
        Ok(Some(0))
    } else if kind.is_file() {
        // A guest may be at work: what has become a link since it was looked at is not followed.
        let file = fs::OpenOptions::new().read(true).custom_flags(NO_LINK).open(path)?;
        let found = file.metadata()?;
        if found.len() > room {
            return Ok(Some(found.len()));
        }
        let mut copy = fs::OpenOptions::new().write(true).create_new(true).open(target)?;
        let bytes = std::io::copy(&mut file.take(room.saturating_add(1)), &mut copy)?;
        // Of what it is allowed to do, nothing that goes beyond its owner: a guest may write to it.
        fs::set_permissions(target, fs::Permissions::from_mode(found.permissions().mode() & 0o777))?;
        Ok(Some(bytes))
    } else if kind.is_symlink() {
        let text = fs::read_link(path)?;
        if !stays_inside(inside, &text) {
            return Ok(None);
        }
        std::os::unix::fs::symlink(text, target)?;
        Ok(Some(0))
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: Quota = Quota { bytes_max: 1 << 20, files_max: 10 };

    fn session() -> SessionId {
        SessionId::parse("ses_1").unwrap()
    }

    #[test]
    fn a_folder_is_copied_and_stays_as_it_is() {
        let from = tempfile::tempdir().unwrap();
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(from.path().join("sub")).unwrap();
        fs::write(from.path().join("sub/a.txt"), "a").unwrap();
        fs::hard_link(from.path().join("sub/a.txt"), from.path().join("b.txt")).unwrap();
        std::os::unix::fs::symlink("sub/a.txt", from.path().join("in")).unwrap();
        std::os::unix::fs::symlink("../../etc/passwd", from.path().join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.path().join("absolute")).unwrap();
        let to = create(data.path(), &session()).unwrap();
        assert_eq!(copy_in(from.path(), &to, QUOTA).unwrap(), Copied { files: 4, bytes: 2, left_out: 2 });
        fs::write(to.join("b.txt"), "changed").unwrap();
        assert_eq!(fs::read_to_string(to.join("sub/a.txt")).unwrap(), "a", "a hard link came along");
        assert_eq!(fs::read_to_string(from.path().join("b.txt")).unwrap(), "a");
        keep(data.path(), &session()).unwrap();
        assert!(is_there(&path(data.path(), &session())));
    }

    #[test]
    fn what_is_no_folder_or_holds_the_data_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let to = create(data.path(), &session()).unwrap();
        assert!(matches!(copy_in(&data.path().join("none"), &to, QUOTA), Err(WorkspaceError::NoFolder(_))));
        assert!(matches!(copy_in(data.path(), &to, QUOTA), Err(WorkspaceError::HoldsData { .. })));
    }

    #[test]
    fn what_is_too_large_is_not_copied_first() {
        let from = tempfile::tempdir().unwrap();
        let data = tempfile::tempdir().unwrap();
        let sparse = fs::File::create(from.path().join("sparse")).unwrap();
        sparse.set_len(QUOTA.bytes_max + 1).unwrap();
        let to = create(data.path(), &session()).unwrap();
        assert!(matches!(
            copy_in(from.path(), &to, QUOTA),
            Err(WorkspaceError::TooLarge { what: "bytes", .. })
        ));
        assert!(!to.join("sparse").exists());
        sparse.set_len(0).unwrap();
        for at in 0..10 {
            fs::write(from.path().join(format!("{at}")), "").unwrap();
        }
        discard(data.path(), &session());
        let to = create(data.path(), &session()).unwrap();
        let refused = copy_in(from.path(), &to, QUOTA);
        assert!(
            matches!(refused, Err(WorkspaceError::TooLarge { what: "files", max: 10, .. })),
            "{refused:?}"
        );
        discard(data.path(), &session());
        assert!(!to.exists());
    }

    #[test]
    fn a_copy_runs_as_nobody_else() {
        let from = tempfile::tempdir().unwrap();
        let data = tempfile::tempdir().unwrap();
        fs::write(from.path().join("tool"), "a").unwrap();
        fs::set_permissions(from.path().join("tool"), fs::Permissions::from_mode(0o6755)).unwrap();
        let to = create(data.path(), &session()).unwrap();
        copy_in(from.path(), &to, QUOTA).unwrap();
        let mode = fs::metadata(to.join("tool")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
    }

    #[test]
    fn what_guests_cannot_use_is_left_out() {
        use std::os::unix::ffi::OsStrExt as _;
        let from = tempfile::tempdir().unwrap();
        let data = tempfile::tempdir().unwrap();
        let odd = from.path().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        fs::create_dir(&odd).unwrap();
        fs::write(odd.join("a"), "a").unwrap();
        fs::write(from.path().join("line\nfeed"), "b").unwrap();
        let to = create(data.path(), &session()).unwrap();
        assert_eq!(copy_in(from.path(), &to, QUOTA).unwrap(), Copied { files: 1, bytes: 1, left_out: 1 });
        assert!(to.join("line\nfeed").exists());
    }

    #[test]
    fn a_tree_that_is_too_deep_is_not_copied() {
        let from = tempfile::tempdir().unwrap();
        let data = tempfile::tempdir().unwrap();
        fs::create_dir_all(from.path().join("d/".repeat(DEPTH_MAX + 1))).unwrap();
        let to = create(data.path(), &session()).unwrap();
        let quota = Quota { files_max: 1_000, ..QUOTA };
        let refused = copy_in(from.path(), &to, quota);
        assert!(matches!(refused, Err(WorkspaceError::TooLarge { what: "folders inside each other", .. })));
        fs::remove_dir(from.path().join("d/".repeat(DEPTH_MAX + 1))).unwrap();
        discard(data.path(), &session());
        let to = create(data.path(), &session()).unwrap();
        assert_eq!(copy_in(from.path(), &to, quota).unwrap().files, DEPTH_MAX as u64);
    }

    #[test]
    fn a_link_is_no_workspace() {
        let data = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", data.path().join("link")).unwrap();
        assert!(is_there(data.path()) && !is_there(&data.path().join("link")));
    }
}
