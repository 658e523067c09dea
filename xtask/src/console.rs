//! What the person at the terminal sees of us, beside the output of the commands we run.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its terminal here"
)]

/// Announces a step. On standard error, like cargo's own progress, so that the two stay in order.
pub(crate) fn heading(text: &str) {
    eprintln!("\n== {text}");
}

/// A remark within a step.
pub(crate) fn note(text: &str) {
    eprintln!("   {text}");
}

/// Why the program ends without having done its work.
pub(crate) fn error(text: &str) {
    eprintln!("\nerror: {text}");
}

/// What was asked for, on standard output.
pub(crate) fn line(text: &str) {
    println!("{text}");
}
