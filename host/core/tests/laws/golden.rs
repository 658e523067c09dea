//! Journals of earlier versions are read: the kinds, payloads of every kind and version as they are in journals
//! (`golden.txt`), what a payload is read as (`written.txt`), and the hash chain (`chain.txt`).
//! `tests/golden/README.md` says how these files change.

use std::collections::BTreeSet;

use expect_test::expect_file;
use proptest::prelude::*;
use rewake_core::codec::{self, Payload, Record};
use rewake_core::entry::Place;
use rewake_core::fact::{Custom, Fact, KINDS};
use rewake_core::ids::{Digest, Head, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
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

/// A21: a kind that vanishes or is renamed makes journals unreadable. Add a new kind or version to the list
/// with `UPDATE_EXPECT=1`, and to `golden.txt` by hand.
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

/// A21: recorded payloads are decoded, and encoded as they were recorded.
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
            assert!(holds(&written, &read), "{kind} is written otherwise than it was: {written}, not {read}");
        }
        let again = Fact::decode(kind, fact.version(), &fact.encode()).unwrap();
        assert_eq!(again, fact);
    }
}

/// The lines of a golden file beside this one. `cargo xtask golden` has it written first, with the lines of today.
#[allow(clippy::disallowed_methods, reason = "golden files are files; the rules know none")]
fn kept(name: &str, today: &[String]) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laws/").to_owned() + name;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, today.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Whether all that a value has is in another one: in lists at the same place.
fn holds(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().all(|(name, then)| now.get(name).is_some_and(|now| holds(now, then)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| holds(now, then))
        }
        (now, then) => now == then,
    }
}

/// What a payload leaves out means today what it meant when the payload was put here: a default that changed
/// would change what old journals say. Fields that are new may come to it.
#[test]
fn what_a_payload_leaves_out_still_means_the_same() {
    let written: Vec<String> = golden()
        .map(|(kind, version, payload)| {
            let fact = Fact::decode(kind, version, payload.as_bytes()).unwrap();
            String::from_utf8(fact.encode()).unwrap()
        })
        .collect();
    let kept = kept("written.txt", &written);
    assert_eq!(kept.len(), written.len(), "a payload is new or gone: run `cargo xtask golden`");
    for ((kept, now), (kind, ..)) in kept.iter().zip(&written).zip(golden()) {
        let (then, now): (Value, Value) =
            (serde_json::from_str(kept).unwrap(), serde_json::from_str(now).unwrap());
        assert!(holds(&now, &then), "{kind} was read as {then}, and is now read as {now}");
    }
}

/// An entry's columns, all that is hashed of it as bytes, and its hash.
#[derive(Serialize, Deserialize)]
struct Link {
    session: String,
    prev: Digest,
    seq: u64,
    epoch: u64,
    kind: String,
    version: u32,
    place: Place,
    at: i64,
    actor: String,
    salt: String,
    payload: String,
    payload_digest: Digest,
    /// In hexadecimal.
    bytes: String,
    hash: Digest,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// The layout, written down once more: each field with its length before it, numbers little-endian.
fn hashed(link: &Link) -> Vec<u8> {
    let Link { prev, session, seq, epoch, kind, version, place, at, actor, payload_digest, .. } = link;
    let Place { turn, step, ordinal, index } = place;
    let fields: [&[u8]; 13] = [
        &prev.0,
        session.as_bytes(),
        &seq.to_le_bytes(),
        &epoch.to_le_bytes(),
        kind.as_bytes(),
        &version.to_le_bytes(),
        &turn.to_le_bytes(),
        &step.to_le_bytes(),
        &ordinal.to_le_bytes(),
        &index.to_le_bytes(),
        &at.to_le_bytes(),
        actor.as_bytes(),
        &payload_digest.0,
    ];
    let lengths = fields.map(|field| u32::try_from(field.len()).unwrap().to_le_bytes());
    lengths.iter().zip(fields).flat_map(|(length, field)| [length, field].concat()).collect()
}

fn links() -> Vec<Link> {
    let link = |seq: u64, kind: &str, place: Place, at: i64, actor: &str, payload: &str| Link {
        session: if seq == 1 { "ses_1" } else { "ses_01JDX0000000000000000000ZZ" }.into(),
        prev: if seq == 1 { Digest::default() } else { Digest::of(b"before") },
        seq,
        epoch: seq * 3,
        kind: kind.into(),
        version: u32::try_from(seq % 7).unwrap(),
        place,
        at,
        actor: actor.into(),
        salt: hex(&[7; 16]),
        payload: payload.into(),
        payload_digest: Digest::of(&[[7_u8; 16].as_slice(), payload.as_bytes()].concat()),
        bytes: String::new(),
        hash: Digest::default(),
    };
    let far = Place { turn: u32::MAX, step: 0x0102_0304, ordinal: 7, index: 9 };
    let mut links = vec![
        link(
            1,
            "turn.started",
            Place::default(),
            0,
            "{\"type\":\"system\",\"id\":\"host\"}",
            "{\"commands\":[1]}",
        ),
        link(300, "custom.ü", far, 1_764_417_600_005, "{\"type\":\"operator\",\"id\":\"é\"}", "\"é\""),
        link(u64::MAX / 3, "log.lines", Place::step(1, 2), -5, "", ""),
    ];
    for link in &mut links {
        let bytes = hashed(link);
        (link.hash, link.bytes) = (Digest::of(&bytes), hex(&bytes));
    }
    links
}

/// R0: the layout is fixed, byte by byte; a chain of today holds for ever.
#[test]
fn the_hash_chain_is_laid_out_as_ever() {
    let today: Vec<String> = links().iter().map(|link| serde_json::to_string(link).unwrap()).collect();
    let kept: Vec<Link> =
        kept("chain.txt", &today).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(kept.len() >= 3);
    for link in kept {
        assert_eq!(hex(&hashed(&link)), link.bytes, "{}", link.kind);
        assert_eq!(Digest::of(&unhex(&link.bytes)), link.hash);
        let salt: [u8; 16] = unhex(&link.salt).try_into().unwrap();
        let payload = Payload { salt, bytes: link.payload.clone().into_bytes() };
        let Link { seq, epoch, kind, version, place, at, actor, payload_digest, hash, .. } = link;
        let at = Timestamp(at);
        let record = Record {
            seq,
            epoch,
            kind,
            version,
            place,
            at,
            actor,
            payload_digest,
            hash,
            payload: Some(payload),
        };
        let before = Head { seq: seq - 1, hash: link.prev };
        let session = SessionId::parse(&link.session).unwrap();
        assert_eq!(codec::verify(&session, before, &record), Ok(Head { seq, hash }));
        let other = Record { hash: Digest::of(b"another"), ..record };
        assert!(codec::verify(&session, before, &other).is_err());
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
