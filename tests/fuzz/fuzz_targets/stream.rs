//! Frames of a stream, of both protocols.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_models::fuzzing::stream(text));
