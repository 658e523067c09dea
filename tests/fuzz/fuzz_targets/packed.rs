//! A packed bundle.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rewake_bundle::fuzzing::packed(bytes));
