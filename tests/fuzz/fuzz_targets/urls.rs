//! URLs of guests, redirects and operators.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_runtime::fuzzing::urls(text));
