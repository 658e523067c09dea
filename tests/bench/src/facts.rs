//! What a result must be read with: the machine and the program it was measured on.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// The machine and the program.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Facts {
    version: &'static str,
    cores: usize,
    processor: String,
    kernel: String,
    memory_mib: u64,
    /// Of the folder that is written to.
    filesystem: String,
}

impl Facts {
    /// Of this machine, and of the filesystem that `folder` is on.
    pub(crate) fn of(folder: &Path) -> Facts {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Facts {
            version: rewake_runtime::HOST_VERSION,
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_mib: field(&read("/proc/meminfo"), "MemTotal").map_or(0, |text| kib(&text) / 1024),
            filesystem: filesystem(&read("/proc/self/mountinfo"), folder).unwrap_or_default(),
        }
    }

    /// One line of it.
    pub(crate) fn line(&self) -> String {
        let Facts { version, cores, processor, kernel, memory_mib, filesystem } = self;
        format!(
            "rewake {version}; {cores} processors ({processor}), {memory_mib} MiB, Linux {kernel}, {filesystem}"
        )
    }
}

/// Memory of this process that is in use, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    field(&status, "VmRSS").map_or(0, |text| kib(&text) * 1024)
}

/// The value of the first line `name: value`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn kib(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The type of the filesystem that a folder is on: of the longest mount point that leads to it.
fn filesystem(mounts: &str, folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.to_owned();
        folder.starts_with(&point).then(|| (point.len(), after.split(' ').next().map(str::to_owned)))
    };
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length)?.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(field("a: 1\nVmRSS:\t  12 kB\n", "VmRSS").as_deref(), Some("12 kB"));
        assert_eq!(kib("12 kB"), 12);
        assert_eq!(field("VmRSSx: 1", "VmRSS"), None);
        assert!(resident_bytes() > 100_000);
    }

    #[test]
    fn the_longest_mount_point_is_the_one() {
        let mounts = "1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /proc rw shared:1 - proc proc rw\n";
        assert_eq!(filesystem(mounts, Path::new("/proc")).as_deref(), Some("proc"));
        assert_eq!(filesystem(mounts, Path::new("/dev")).as_deref(), Some("ext4"));
    }
}
