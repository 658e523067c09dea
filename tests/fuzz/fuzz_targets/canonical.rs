//! JSON as it is compared.

#![no_main]

#[allow(dead_code, reason = "other targets use the rest of it")]
#[path = "../../../host/core/tests/laws/untrusted/values.rs"]
mod values;

libfuzzer_sys::fuzz_target!(|text: &str| values::canonical_json_is_json(text));
