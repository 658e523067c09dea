//! Kills and disk faults at a chosen call of the real program, by a library that stands between it and its files
//! (`tests/preload`, put before the C library by `LD_PRELOAD`).
//!
//! A [`Preload`] is a set of rules. Each counts one kind of call on files whose path ends in a name, and says what
//! happens at some of these calls:
//!
//! ```no_run
//! use rewake_tests::preload::{Call, JOURNAL, Preload, Then, WAL};
//! use rewake_tests::program::Program;
//!
//! let program = Program::new();
//! let log = program.beside("calls");
//! // Killed when the seventh commit is on the disk, and before anybody hears of it.
//! let killed = Preload::new().rule(Call::Sync, WAL, 7..=7, Then::KillAfter);
//! program.run_with(&["run", "…"], &killed);
//! // How many syncs there are: nothing else happens.
//! let counts = Preload::new().rule(Call::Sync, WAL, 1..=u64::MAX, Then::Note).log(&log);
//! program.run_with(&["run", "…"], &counts).expect(0);
//! let count = Preload::noted(&log, Call::Sync, WAL);
//! // A full disk, for as long as there is a file of this name.
//! let full = program.beside("full");
//! let disk = Preload::new()
//!     .rule(Call::Write, WAL, 1..=u64::MAX, Then::Enospc)
//!     .only_while(&full)
//!     .rule(Call::Write, JOURNAL, 1..=u64::MAX, Then::Enospc)
//!     .only_while(&full);
//! let process = program.start_with(&["run", "…"], &disk);
//! ```
//!
//! What there is to know:
//!
//! - The store writes with `pwrite` and syncs with `fdatasync`: each transaction is some writes to [`WAL`] and one
//!   sync of it. SQLite also syncs the log when it begins the file, and before it moves the log into [`JOURNAL`]; so
//!   syncs are a few more than commits, and a kill at each sync is a kill at each commit. A process that ends in good
//!   order moves the log, and then removes it.
//! - Numbers begin at 1, are those of one process, and of one rule: a rule with [`Preload::only_while`] counts only
//!   while the file is there. If several rules meet a call, the first that does anything is followed.
//! - After `SIGKILL` a file holds all that was written, synced or not. A loss of power is [`Then::KillLost`]: the
//!   process is killed instead of the sync, and what it wrote since the last one to any file that a rule names is
//!   canceled. [`Then::KillTorn`] leaves the first half of these writes.
//! - [`Then::Short`] writes half and says so, as the system does when a disk fills up; the next write gets the error,
//!   if another rule says so. It means nothing for a sync.
//! - [`Preload::clock`]: while the file is there, `CLOCK_REALTIME` is wrong by the milliseconds that stand in it, for
//!   all that asks the C library: Rust's `SystemTime` does. The boot clock cannot be changed in this way: the host
//!   asks the system for it without the C library.
//! - A child of the program gets the library too; the compiler of components does not, as its environment is cleared.
//! - A text that is no rule ends the program at once.
//!
//! The library is built with the tests, as a dependency of this crate, and stands where cargo puts it: beside the
//! running test. It needs a dynamically linked C library, which tests on Linux have.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The log that every transaction is written to.
pub const WAL: &str = "journal.db-wal";
/// The store's file, which the log is moved into.
pub const JOURNAL: &str = "journal.db";

/// A kind of call on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `fdatasync` and `fsync`.
    Sync,
    /// `pwrite` and `write`.
    Write,
    /// `ftruncate`.
    Truncate,
}

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is noted, and made as ever.
    Note,
    /// The process is killed instead.
    KillBefore,
    /// It is made, and the process is killed before it hears of that.
    KillAfter,
    /// The process is killed instead, and what was not synced is gone.
    KillLost,
    /// The process is killed instead, and the later half of what was not synced is gone; of a write, half of it.
    KillTorn,
    /// The process stands still, and makes it after SIGCONT; in the middle of a transaction, if it is the store's.
    StopBefore,
    /// It fails: the disk does not do it.
    Eio,
    /// It fails: the disk is full.
    Enospc,
    /// Half of a write is made.
    Short,
}

/// Rules for one process.
#[derive(Clone, Debug, Default)]
pub struct Preload {
    rules: Vec<String>,
    log: Option<PathBuf>,
    clock: Option<PathBuf>,
}

impl Preload {
    /// No rules.
    pub fn new() -> Self {
        Preload::default()
    }

    /// One more rule: what happens at those calls of the process, of this kind and on files whose path ends so, that
    /// have these numbers.
    #[must_use]
    pub fn rule(mut self, call: Call, file: &str, numbers: RangeInclusive<u64>, then: Then) -> Self {
        let (first, last) = numbers.into_inner();
        self.rules.push(format!("{} {file} {first}..{last} {}", call.word(), then.word()));
        self
    }

    /// Has the last rule count only while there is such a file.
    ///
    /// # Panics
    /// If there is no rule yet.
    #[must_use]
    pub fn only_while(mut self, file: &Path) -> Self {
        let rule = self.rules.last_mut().expect("a rule");
        *rule = format!("{rule} while {}", file.display());
        self
    }

    /// Has a file get a line for each call that a rule met at one of its numbers; what is in it stays.
    #[must_use]
    pub fn log(self, file: &Path) -> Self {
        Preload { log: Some(file.to_owned()), ..self }
    }

    /// Has the clock be wrong by the milliseconds that stand in a file, while there is one.
    #[must_use]
    pub fn clock(self, file: &Path) -> Self {
        Preload { clock: Some(file.to_owned()), ..self }
    }

    /// How many calls of a kind a log has.
    pub fn noted(log: &Path, call: Call, file: &str) -> usize {
        let beginning = format!("{} {file} ", call.word());
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(&beginning)).count()
    }

    /// What the process's environment must hold.
    ///
    /// # Panics
    /// If the library is not there.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        let mut env = vec![("LD_PRELOAD", text(&library())), ("REWAKE_PRELOAD", self.rules.join(";"))];
        env.extend(self.log.iter().map(|file| ("REWAKE_PRELOAD_LOG", text(file))));
        env.extend(self.clock.iter().map(|file| ("REWAKE_PRELOAD_CLOCK", text(file))));
        env
    }
}

impl Call {
    fn word(self) -> &'static str {
        match self {
            Call::Sync => "sync",
            Call::Write => "write",
            Call::Truncate => "truncate",
        }
    }
}

impl Then {
    fn word(self) -> String {
        match self {
            Then::Note => "note".into(),
            Then::KillBefore => "kill-before".into(),
            Then::KillAfter => "kill-after".into(),
            Then::KillLost => "kill-lost".into(),
            Then::KillTorn => "kill-torn".into(),
            Then::StopBefore => "stop-before".into(),
            Then::Eio => format!("fail-{}", libc::EIO),
            Then::Enospc => format!("fail-{}", libc::ENOSPC),
            Then::Short => "short".into(),
        }
    }
}

fn text(path: &Path) -> String {
    let text = path.to_str().expect("a path that is text");
    assert!(!text.contains([';', ' ']), "{text}: rules are told apart by what is in this path");
    text.to_owned()
}

/// The library's file, beside the running test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().expect("…/target/<profile>/deps");
    let name = format!("{}rewake_preload{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let path = folder.join(name);
    assert!(path.is_file(), "there is no {}; build it with `cargo build -p rewake-tests`", path.display());
    path
}
