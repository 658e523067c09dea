//! A script of the scripted model.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_bundle::fuzzing::script(text));
