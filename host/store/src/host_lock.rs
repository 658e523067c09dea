//! A lock file a host holds while it lives, so that the next host of this machine sees at once that it
//! is dead. It only shortens a wait: leases fence with or without it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rewake_core::ids::HostId;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{Result, StoreError};

/// How old the lock file of a dead host is when its leases have ended by the clock as well.
const SWEEP_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of a process id, as text.
const PID_BYTES_MAX: u64 = 16;

/// Held by a living host; released by the system when the process ends, however it ends.
#[derive(Debug)]
pub struct HostLock {
    folder: PathBuf,
    path: PathBuf,
    /// See [`HostLock::leave_behind`] and [`HostLock::take_along`].
    leaves: AtomicBool,
    takes: AtomicBool,
    _file: File,
}

impl HostLock {
    /// Makes and locks `hosts/<id>.lock` in the data folder.
    ///
    /// # Errors
    /// `Io` if it cannot be made, or if a living process has it: two processes with one id.
    pub fn take(data_folder: &Path, host: &HostId) -> Result<Self> {
        let folder = data_folder.join("hosts");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| StoreError::io(format!("making the folder {}", folder.display()), error))?;
        let path = lock_path(&folder, host);
        let doing = || format!("locking {}", path.display());
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| StoreError::io(doing(), error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // For people: who has a session. Locks are what counts.
                let told = file.set_len(0).and_then(|()| writeln!(&file, "{}", std::process::id()));
                told.map_err(|error| StoreError::io(doing(), error))?;
                let (leaves, takes) = (AtomicBool::new(false), AtomicBool::new(false));
                Ok(HostLock { folder, path, leaves, takes, _file: file })
            }
            Err(Errno::WOULDBLOCK) => Err(StoreError::io(
                doing(),
                "a living process has it: every process needs a host id of its own",
            )),
            Err(error) => Err(StoreError::io(doing(), error)),
        }
    }

    /// This host could not give back a lease, and does nothing under it: its lock file stays when it ends, so
    /// that the next host sees that it is gone, and need not wait.
    pub fn leave_behind(&self) {
        self.leaves.store(true, Ordering::Relaxed);
    }

    /// Something may still be done under a lease of this host when it ends: its lock file goes with it, so that
    /// the lease must run out.
    pub fn take_along(&self) {
        self.takes.store(true, Ordering::Relaxed);
    }

    /// Whether a host of this machine is known to be dead: its lock file is there and nobody holds it.
    /// A host without one may live on another machine, and counts as living.
    pub fn is_dead(&self, host: &HostId) -> bool {
        let path = lock_path(&self.folder, host);
        if path == self.path {
            return false;
        }
        let Ok(file) = File::open(&path) else { return false };
        // The lock that this takes ends with the file, at the end of this function.
        flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
    }

    /// Removes the lock files of hosts that died long ago. Nothing needs them any more.
    pub fn sweep(&self) {
        for found in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = found.path();
            let age = found.metadata().and_then(|data| data.modified()).ok();
            let age = age.and_then(|made| made.elapsed().ok()).unwrap_or_default();
            if age < SWEEP_AGE || path == self.path || path.extension().is_none_or(|end| end != "lock") {
                continue;
            }
            let Ok(file) = File::open(&path) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    /// The process id that a host of this machine wrote into its lock file; none if there is none.
    pub fn process_of(&self, host: &HostId) -> Option<u32> {
        let mut text = String::new();
        let file = File::open(lock_path(&self.folder, host)).ok()?;
        file.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

impl Drop for HostLock {
    /// The file goes with an orderly end; a leftover is what tells others that its host is gone with its leases.
    fn drop(&mut self) {
        if self.takes.load(Ordering::Relaxed) || !self.leaves.load(Ordering::Relaxed) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn lock_path(folder: &Path, host: &HostId) -> PathBuf {
    folder.join(format!("{}.lock", host.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(id: &str) -> HostId {
        HostId::parse(id).unwrap()
    }

    #[test]
    fn a_host_is_dead_when_its_lock_is_there_and_free() {
        let folder = tempfile::tempdir().unwrap();
        let ours = HostLock::take(folder.path(), &host("host_a")).unwrap();
        assert!(!ours.is_dead(&host("host_a")), "we live");
        assert!(!ours.is_dead(&host("host_far")), "it may be elsewhere");

        let theirs = HostLock::take(folder.path(), &host("host_b")).unwrap();
        assert!(!ours.is_dead(&host("host_b")), "it lives");
        assert_eq!(ours.process_of(&host("host_b")), Some(std::process::id()));
        assert_eq!(ours.process_of(&host("host_far")), None);
        assert!(HostLock::take(folder.path(), &host("host_b")).is_err(), "one process an id");

        // As if it were killed: the lock goes, the file stays.
        let path = theirs.path.clone();
        drop(theirs);
        std::fs::write(path, b"").unwrap();
        assert!(ours.is_dead(&host("host_b")));
    }

    /// A host that could give nothing back is seen to be gone; one that may still be at work is waited for.
    #[test]
    fn a_host_that_could_not_give_its_leases_back_is_seen_to_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let ours = HostLock::take(folder.path(), &host("host_a")).unwrap();
        let theirs = HostLock::take(folder.path(), &host("host_b")).unwrap();
        theirs.leave_behind();
        assert!(!ours.is_dead(&host("host_b")), "it lives");
        drop(theirs);
        assert!(ours.is_dead(&host("host_b")));
        let theirs = HostLock::take(folder.path(), &host("host_c")).unwrap();
        theirs.leave_behind();
        theirs.take_along();
        drop(theirs);
        assert!(!ours.is_dead(&host("host_c")));
    }

    #[test]
    fn old_locks_of_the_dead_go_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().unwrap();
        let ours = HostLock::take(folder.path(), &host("host_a")).unwrap();
        let theirs = HostLock::take(folder.path(), &host("host_b")).unwrap();
        let hosts = folder.path().join("hosts");
        let (dead, new) = (hosts.join("host_dead.lock"), hosts.join("host_new.lock"));
        for path in [&dead, &new] {
            std::fs::write(path, b"").unwrap();
        }
        let old = std::time::SystemTime::now() - 2 * SWEEP_AGE;
        for path in [&dead, &ours.path, &theirs.path] {
            OpenOptions::new().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
        ours.sweep();
        assert!(!dead.exists() && new.exists() && ours.path.exists() && theirs.path.exists());
    }
}
