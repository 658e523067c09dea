//! What must hold of every error about a file, and of everything that is shown at a terminal.

use rewake_toml::Error;

/// Bytes that are shown of all errors of a file: more would bury the first.
pub const SHOWN_BYTES_MAX: usize = 32 << 10;

/// What must hold of every error about a text.
pub fn told(error: &Error, text: &str) {
    assert!(!error.problems().is_empty(), "an error says what is wrong");
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in error.problems() {
        assert!(!problem.file.is_empty() && !problem.message.is_empty(), "{problem:?}");
        let Some(place) = &problem.place else { continue };
        let line = lines.get(place.line - 1).unwrap_or_else(|| panic!("there is no such line: {place:?}"));
        assert!(place.column <= line.chars().count() + 1, "there is no such column: {place:?}");
    }
    shown(&error.to_string());
}

/// What must hold of everything that is shown at a terminal.
pub fn shown(text: &str) {
    assert!(text.len() <= SHOWN_BYTES_MAX, "{} bytes are shown", text.len());
    let harmful = text.chars().find(|c| rewake_text::is_hidden(*c) && *c != '\n');
    assert_eq!(harmful, None, "a terminal is shown {text:?}");
}
