//! A component's bytes, inspected.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rewake_runtime::fuzzing::component(bytes));
