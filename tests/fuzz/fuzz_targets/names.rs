//! Names, asks, sizes and durations.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_runtime::fuzzing::names(text));
