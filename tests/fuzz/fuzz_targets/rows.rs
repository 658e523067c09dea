//! Rows of an inbox, grants and payloads.

#![no_main]

#[allow(dead_code, reason = "other targets use the rest of it")]
#[path = "../../../host/core/tests/laws/untrusted/values.rs"]
mod values;

libfuzzer_sys::fuzz_target!(|text: &str| values::rows_are_read_as_written(text));
