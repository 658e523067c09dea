//! `bundle.lock`.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_bundle::fuzzing::lock(text));
