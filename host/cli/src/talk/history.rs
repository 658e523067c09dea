//! What was typed at the terminal, kept in the data folder for the next time: a line of JSON each, readable by its
//! user alone, and bounded. Answers to questions are not kept. That it cannot be kept stops nobody.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Lines that are kept.
const LINES_MAX: usize = 1_000;
/// Bytes of one of them; a longer one is not kept.
const LINE_BYTES_MAX: usize = 8 << 10;
/// Bytes that are read of the file; there are never more unless somebody else wrote it.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The file.
#[derive(Debug)]
pub(super) struct History {
    path: PathBuf,
}

impl History {
    pub(super) fn of(data: &Path) -> History {
        History { path: data.join("history") }
    }

    /// What is kept, the newest last.
    pub(super) fn read(&self) -> Vec<String> {
        let mut text = String::new();
        let read =
            File::open(&self.path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
        if read.is_err() {
            return Vec::new();
        }
        let lines: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        lines[lines.len().saturating_sub(LINES_MAX)..].to_vec()
    }

    /// Keeps a line. Another process may have kept some meanwhile.
    pub(super) fn add(&self, line: &str) -> io::Result<()> {
        if line.len() > LINE_BYTES_MAX {
            return Ok(());
        }
        let mut lines = self.read();
        if lines.last().is_some_and(|last| last == line) {
            return Ok(());
        }
        lines.push(line.to_owned());
        let mut text = String::new();
        for line in &lines[lines.len().saturating_sub(LINES_MAX)..] {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        let beside = self.path.with_extension(format!("new-{}", std::process::id()));
        let written =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                std::fs::rename(&beside, &self.path)
            });
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn lines_are_kept_for_their_user_alone_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::of(folder.path());
        assert!(history.read().is_empty());
        for line in ["one", "two\nlines \u{1b}", "two\nlines \u{1b}", &"x".repeat(LINE_BYTES_MAX + 1)] {
            history.add(line).unwrap();
        }
        assert_eq!(History::of(folder.path()).read(), ["one", "two\nlines \u{1b}"]);
        let mode = std::fs::metadata(folder.path().join("history")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for n in 0..LINES_MAX {
            history.add(&n.to_string()).unwrap();
        }
        let lines = history.read();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES_MAX, "0"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_cannot_be_kept_is_said_and_what_is_no_history_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(History::of(&folder.path().join("none")).add("x").is_err());
        std::fs::write(folder.path().join("history"), "no json\n\"yes\"\n").unwrap();
        assert_eq!(History::of(folder.path()).read(), ["yes"]);
    }
}
