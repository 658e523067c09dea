//! Writing a file as a whole, and only if it is not so already: anyone who watches it is not woken for
//! nothing, and anyone who reads it never meets half of it. Knows no contents.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The mode of a file that a person goes on to edit or to check in.
const MODE: u32 = 0o644;

/// Makes `path` hold these bytes; returns whether it did not before.
pub(crate) fn lay(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut partial = tempfile::NamedTempFile::new_in(folder)?;
    partial.write_all(bytes)?;
    partial.as_file().set_permissions(fs::Permissions::from_mode(MODE))?;
    partial.persist(path).map_err(|error| error.error)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/a");
        assert!(lay(&path, b"one").unwrap());
        let before = fs::metadata(&path).unwrap();
        assert_eq!(before.permissions().mode() & 0o777, MODE);
        assert!(!lay(&path, b"one").unwrap());
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before.modified().unwrap());
        assert!(lay(&path, b"two").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }
}
