//! Pieces of text in which a key may stand.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_models::fuzzing::scrubbed(text));
