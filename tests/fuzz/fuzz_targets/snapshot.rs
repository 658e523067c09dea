//! A snapshot of a fold.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rewake_runtime::fuzzing::snapshot(bytes));
