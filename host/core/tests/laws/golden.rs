//! What was once written is read for ever: the kinds, and payloads of every kind and version as they stand
//! in journals. Lines of `golden.txt` are added, never changed or removed.

use std::collections::BTreeSet;

use expect_test::expect_file;
use proptest::prelude::*;
use rewake_core::fact::{Custom, Fact, KINDS};
use serde_json::Value;

use crate::plan::config;

const GOLDEN: &str = include_str!("golden.txt");

/// Kind, version and payload of every line.
fn golden() -> impl Iterator<Item = (&'static str, u32, &'static str)> {
    GOLDEN.lines().map(|line| {
        let mut fields = line.splitn(3, ' ');
        let mut field = || fields.next().unwrap_or_else(|| panic!("KIND VERSION PAYLOAD, not {line:?}"));
        (field(), field().parse().expect("a version is a number"), field())
    })
}

/// A kind that vanishes or is renamed makes journals unreadable; a new one, or a new version, is added to
/// the list with `UPDATE_EXPECT=1` and to `golden.txt` by hand.
#[test]
fn the_kinds_are_these() {
    let list: String = KINDS.iter().map(|(kind, version)| format!("{kind} {version}\n")).collect();
    expect_file!["kinds.txt"].assert_eq(&list);
}

#[test]
fn every_kind_and_version_has_a_golden_payload() {
    let held: BTreeSet<_> = golden().map(|(kind, version, _)| (kind, version)).collect();
    let known: BTreeSet<_> =
        KINDS.iter().flat_map(|(kind, newest)| (1..=*newest).map(move |version| (*kind, version))).collect();
    let missing: Vec<_> = known.difference(&held).collect();
    assert!(missing.is_empty(), "no golden payload of {missing:?}");
    let vanished: Vec<_> = held.difference(&known).filter(|(kind, _)| !kind.starts_with("custom.")).collect();
    assert!(vanished.is_empty(), "this host no longer knows {vanished:?}");
}

#[test]
fn golden_payloads_are_read_and_written_as_they_stand() {
    for (kind, version, payload) in golden() {
        let fact = Fact::decode(kind, version, payload.as_bytes())
            .unwrap_or_else(|error| panic!("{error}: {payload}"));
        assert_eq!(fact.kind(), kind);
        if fact.version() == version {
            let written: Value = serde_json::from_slice(&fact.encode()).unwrap();
            let read: Value = serde_json::from_str(payload).unwrap();
            // What has a default may be left out of a payload, and is written.
            assert_eq!(fields(&written, &read), read, "{kind} is written otherwise than it was");
        }
        let again = Fact::decode(kind, fact.version(), &fact.encode()).unwrap();
        assert_eq!(again, fact);
    }
}

/// Those top fields of a payload that another one has.
fn fields(written: &Value, read: &Value) -> Value {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            let kept = written.iter().filter(|(name, _)| read.contains_key(*name));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => written.clone(),
    }
}

#[test]
fn a_payload_with_a_field_of_a_newer_host_is_read() {
    let fact = Fact::decode("turn.started", 1, br#"{"commands":[1],"newer":true}"#).unwrap();
    assert_eq!(fact.kind(), "turn.started");
}

proptest! {
    #![proptest_config(config(2_000))]

    /// Else a replay would take the marker that a guest repeats for another one.
    #[test]
    fn numbers_of_an_author_are_read_as_they_were_written(digits in any::<i64>(), exponent in -320..300i32) {
        let text = format!("[{digits}e{exponent},{digits},{}]", u64::from_ne_bytes(digits.to_ne_bytes()));
        if let Ok(data) = serde_json::from_str::<Value>(&text) {
            let fact = Fact::from(Custom { kind: "custom.note".into(), data });
            prop_assert_eq!(Fact::decode("custom.note", 1, &fact.encode()), Ok(fact));
        }
    }
}
