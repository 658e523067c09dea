//! Names, asks, sizes and durations.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    rewake_bundle::fuzzing::names(text);
    rewake_policy::fuzzing::allowed(text);
});
