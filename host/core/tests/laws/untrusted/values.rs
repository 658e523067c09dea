//! Values that are read from what others wrote: amounts, ids, digests, times, JSON, rows of an inbox. Each is refused,
//! or read as it is written.
//!
//! Knows the core's public API only: fuzzers run this file too.

use rewake_core::canonical;
use rewake_core::command::{Command, Row};
use rewake_core::fact::Fact;
use rewake_core::grant::Grants;
use rewake_core::ids::{Digest, HostId, SessionId, Timestamp};
use rewake_core::money::Usd;
use serde_json::Value;

/// Short texts.
pub(crate) fn are_read_as_written(text: &str) {
    if let Ok(amount) = text.parse::<Usd>() {
        assert_eq!(amount.to_string().parse(), Ok(amount), "{text:?}");
    }
    if let Ok(id) = SessionId::parse(text) {
        assert_eq!(id.as_str(), text);
        assert_eq!(format!("ses_{}", id.tail()), text);
    }
    if let Ok(id) = HostId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
    if let Some(digest) = Digest::from_hex(text) {
        assert_eq!(Digest::from_hex(&digest.to_hex()), Some(digest));
        assert!(text.to_ascii_lowercase().ends_with(&digest.to_hex()));
    }
    if let Some(at) = Timestamp::parse(text) {
        assert_eq!(Timestamp::parse(&at.to_string()), Some(at), "{text:?}");
    }
    if let Ok(number) = text.parse::<i64>() {
        let _ = Timestamp(number).to_string();
    }
}

/// JSON as it is compared.
pub(crate) fn canonical_json_is_json(text: &str) {
    let value = serde_json::from_str::<Value>(text);
    match canonical::digest(text) {
        Ok(digest) => {
            let value = value.expect("what has a canonical form is JSON");
            let written = value.to_string();
            assert_eq!(canonical::digest(&written), Ok(digest), "{written}");
            assert!(canonical::levels(&value) <= 128);
            if let Some(other) = another(&value) {
                assert_ne!(canonical::digest(&other.to_string()), Ok(digest), "{value} and {other}");
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

/// The same value but for one number in it.
fn another(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Some(number.wrapping_add(1).into()),
            (None, Some(number)) => Some(number.wrapping_add(1).into()),
            (None, None) => None,
        },
        Value::Array(items) => {
            let (n, other) = items.iter().enumerate().find_map(|(n, item)| Some((n, another(item)?)))?;
            let mut items = items.clone();
            items[n] = other;
            Some(items.into())
        }
        Value::Object(fields) => {
            let (key, other) = fields.iter().find_map(|(key, field)| Some((key.clone(), another(field)?)))?;
            let mut fields = fields.clone();
            fields.insert(key, other);
            Some(fields.into())
        }
        _ => None,
    }
}

/// Rows of an inbox, grants, and payloads of every kind.
pub(crate) fn rows_are_read_as_written(text: &str) {
    if let Ok(row) = serde_json::from_str::<Row>(text) {
        let _: Result<(), _> = row.command.check();
        let written = serde_json::to_string(&row).expect("a row is plain data");
        assert_eq!(serde_json::from_str::<Row>(&written).expect("a row is read as it was written"), row);
    }
    if let Ok(command) = serde_json::from_str::<Command>(text) {
        let _: Result<(), _> = command.check();
    }
    if let Ok(grants) = serde_json::from_str::<Grants>(text) {
        assert!(grants.is_within(&grants), "what is granted is within itself: {grants:?}");
        assert!(Grants::default().is_within(&grants));
        let _ = grants.describe();
    }
    for (kind, version) in rewake_core::fact::KINDS {
        if let Ok(fact) = Fact::decode(kind, *version, text.as_bytes()) {
            assert_eq!(Fact::decode(kind, *version, &fact.encode()), Ok(fact));
        }
    }
}
