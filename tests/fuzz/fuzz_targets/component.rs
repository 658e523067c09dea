//! A component's bytes, inspected. The samples are WebAssembly as text; what is no such text is taken as bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let made = wat::parse_bytes(bytes);
    rewake_bundle::fuzzing::component(made.as_deref().unwrap_or(bytes));
});
