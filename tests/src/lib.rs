//! The world that the suites run in: bundles made of the test guests, hosts over throw-away data folders,
//! stores that break off or read badly where they are told to, and what a session's journal says in short.

pub mod bundles;
pub mod chooser;
pub mod forge;
pub mod hostile;
pub mod journal;
pub mod play;
pub mod played;
pub mod preload;
pub mod program;
pub mod running;
pub mod server;
pub mod tamper;
pub mod terminal;
pub mod tmux;
pub mod world;

use std::io::Write as _;

pub use rewake_store::CutStore;
pub use running::Running;
pub use world::{Outcome, World};

/// Notes that the running test cannot do its work on this machine. `cargo xtask test` names a file for such notes and
/// shows them at its end.
///
/// # Panics
/// If the file cannot be written.
#[expect(clippy::print_stdout, reason = "without a file, the test's output says it")]
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let note = format!("{}: {why}", thread.name().unwrap_or("a test"));
    let Some(file) = std::env::var_os("REWAKE_TEST_SKIPPED") else { return println!("skipped: {note}") };
    let file = std::fs::OpenOptions::new().append(true).open(file);
    file.and_then(|mut file| file.write_all(format!("{note}\n").as_bytes())).expect("a note is written");
}
