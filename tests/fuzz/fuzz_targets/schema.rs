//! A JSON Schema, and a value that is checked against it.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| rewake_schema::fuzzing::schema(text));
