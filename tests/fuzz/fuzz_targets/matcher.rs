//! A hook's matcher.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_bundle::fuzzing::matcher(text));
