//! URLs of guests, redirects and operators.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_egress::fuzzing::urls(text));
