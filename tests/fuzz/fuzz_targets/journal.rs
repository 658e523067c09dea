//! Facts, one a line, sealed, folded and decided on.

#![no_main]

#[allow(dead_code, reason = "other targets use the rest of it")]
#[path = "../../../host/core/tests/laws/untrusted/journal.rs"]
mod journal;

libfuzzer_sys::fuzz_target!(|text: &str| journal::folds(text));
