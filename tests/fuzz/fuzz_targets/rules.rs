//! `rewake.toml`.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_policy::fuzzing::rules(text));
