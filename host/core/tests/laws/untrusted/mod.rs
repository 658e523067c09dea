//! Bytes that nobody should trust: journals, rows and values that are corrupted. The properties stand beside; fuzzers
//! run them too.

mod journal;
mod values;

use rewake_untrusted::Samples;

const WORDS: [&str; 8] = [
    "session.created",
    "turn.started",
    "step.started",
    "step.completed",
    "tool.started",
    "\"start\":",
    "1.1.0.0",
    "custom.x",
];

#[test]
fn journals_are_folded_or_refused() {
    Samples::corpus("journal").words(&WORDS).check_json_lines(250, journal::folds);
}

#[test]
fn payloads_are_read_as_they_are_written() {
    let payloads = include_str!("../golden.txt").lines().filter_map(|line| line.splitn(3, ' ').nth(2));
    Samples::of(payloads).check_json(1_000, values::rows_are_read_as_written);
}

#[test]
fn rows_are_read_as_they_are_written() {
    Samples::corpus("rows").check_json(1_000, values::rows_are_read_as_written);
}

#[test]
fn json_has_one_canonical_form() {
    Samples::corpus("canonical").check_json(2_000, values::canonical_json_is_json);
}

#[test]
fn short_values_are_read_as_they_are_written() {
    Samples::corpus("values").check_text(4_000, values::are_read_as_written);
}
