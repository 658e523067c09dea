//! What entries of a journal say, as far as it is plain: strings, numbers, lists. Digests and amounts of money have
//! rules, which are the host's.

mod file;

pub use file::{FileAnswer, FileKind, FileObserved, FileOp, FileStat};
