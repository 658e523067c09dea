//! Whether the files that this process has open still stand at their names. A file that was deleted, moved or
//! replaced goes on taking what is written to it, and nobody ever finds that.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::connect::log_of;
use crate::{Result, StoreError};

/// A file's device and number.
type Number = (u64, u64);

/// The store's file and its log, as they were opened.
pub(super) struct Identity {
    path: PathBuf,
    log: PathBuf,
    numbers: Option<(Number, Number)>,
}

impl Identity {
    /// Of files that are open: what stands at their names now is taken to be them.
    pub(super) fn of(path: &Path) -> Self {
        let mut identity = Identity { path: path.to_owned(), log: log_of(path), numbers: None };
        identity.numbers = identity.now();
        identity
    }

    /// Looks whether both are still there. Costs two questions to the system.
    pub(super) fn check(&self) -> Result<()> {
        self.hold(self.numbers.is_some() && self.now() == self.numbers)
    }

    /// The same of the file alone, while its log is closed and may be gone.
    pub(super) fn check_file(&self) -> Result<()> {
        self.hold(self.numbers.is_some_and(|(file, _)| number(&self.path) == Some(file)))
    }

    fn hold(&self, holds: bool) -> Result<()> {
        if holds { Ok(()) } else { Err(StoreError::Moved { path: self.path.clone() }) }
    }

    fn now(&self) -> Option<(Number, Number)> {
        number(&self.path).zip(number(&self.log))
    }
}

fn number(path: &Path) -> Option<Number> {
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}
