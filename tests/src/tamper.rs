//! A store's file that is changed, damaged or locked from outside, by somebody who keeps to no rule. Knows SQLite's
//! pages and the log's frames; not what must be found of it.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rewake_store::tamper::{PAGE_BYTES, Tamper, log_transactions};

/// Changes rows of a store, past its guards.
///
/// # Panics
/// If that cannot be done.
pub fn change(file: &Path, statements: &str) {
    let tamper = Tamper::open(file).expect("the store's file");
    tamper.change(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
    tamper.close().expect("closed");
}

/// A number that a store's file says.
///
/// # Panics
/// If it does not.
pub fn number(file: &Path, query: &str) -> i64 {
    let tamper = Tamper::open(file).expect("the store's file");
    let number = tamper.number(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    tamper.close().expect("closed");
    number
}

/// Where the last page with rows of a table or an index begins in the file.
///
/// # Panics
/// If there is none.
pub fn last_leaf(file: &Path, name: &str) -> u64 {
    let tamper = Tamper::open(file).expect("the store's file");
    let leaves = tamper.leaves(name).expect("its pages");
    tamper.close().expect("closed");
    let page = u64::try_from(*leaves.last().expect("a page with rows")).expect("a page's number");
    (page - 1) * PAGE_BYTES
}

/// Turns every bit of some bytes of a file.
///
/// # Panics
/// If they are not there.
pub fn flip(file: &Path, at: u64, count: usize) {
    let open = OpenOptions::new().read(true).write(true).open(file).expect("the file");
    let mut bytes = vec![0; count];
    open.read_exact_at(&mut bytes, at).expect("bytes at that place");
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    open.write_all_at(&bytes, at).expect("written");
}

/// Where each transaction of a log ends in it, the last one last.
///
/// # Panics
/// If it cannot be read.
pub fn transactions(log: &Path) -> Vec<u64> {
    log_transactions(log).expect("the log")
}

/// Another process's transaction, which keeps a store locked until it is dropped.
pub struct Lock {
    /// Closing it undoes what is open.
    _tamper: Tamper,
}

impl Lock {
    /// Begins one: `IMMEDIATE` keeps others from writing, `EXCLUSIVE` from more where the file's kind has it so.
    ///
    /// # Panics
    /// If it cannot be had.
    pub fn take(file: &Path, kind: &str) -> Self {
        let tamper = Tamper::open(file).expect("the store's file");
        tamper.run(&format!("BEGIN {kind}")).expect("the lock");
        Lock { _tamper: tamper }
    }
}

/// The log of a store's file.
pub fn log_of(file: &Path) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}
