//! JSON as it is compared: canonical form (RFC 8785), and the refusal of what has none. The canonical form knows
//! numbers as floating point only; whole numbers that it rounds are told apart besides.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};

use crate::ids::Digest;

/// The digest of a JSON text's canonical form.
///
/// # Errors
/// What is wrong with it: it is no JSON, or an object has a key twice.
pub fn digest(json: &str) -> Result<Digest, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = Strict.deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    let bytes = serde_json_canonicalizer::to_vec(&value).map_err(|error| error.to_string())?;
    let mut rounded = Vec::new();
    collect_rounded(&value, &mut rounded);
    match rounded.is_empty() {
        true => Ok(Digest::of(&bytes)),
        false => {
            let exact = rounded.iter().map(String::as_bytes);
            Ok(Digest::of_parts(std::iter::once(bytes.as_slice()).chain(exact)))
        }
    }
}

/// The whole numbers that floating point does not have, in the order of their places: a tool may read them to the
/// last digit, and what a hook judged must be that.
fn collect_rounded(value: &serde_json::Value, rounded: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(number) => {
            let whole = number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from));
            if whole.is_some_and(|whole| whole as f64 as i128 != whole) {
                rounded.push(number.to_string());
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_rounded(item, rounded)),
        serde_json::Value::Object(fields) => {
            fields.values().for_each(|field| collect_rounded(field, rounded))
        }
        _ => {}
    }
}

/// Arrays and objects inside one another; no deeper than what a reader of JSON has let in.
pub fn levels(data: &serde_json::Value) -> usize {
    match data {
        serde_json::Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        serde_json::Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// Reads a value, and refuses an object that has a key twice: which of the two counts would differ
/// between the hook that judges and the tool that acts.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = serde_json::Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = serde_json::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(serde_json::Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Strict)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut values = serde_json::Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Strict)?;
            if values.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} is twice in one object")));
            }
            values.insert(key, value);
        }
        Ok(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_has_the_same_digest() {
        assert_eq!(
            digest(r#"{"a":1,"b":[true,null]}"#),
            digest(" { \"b\" : [ true , null ] , \"a\" : 1.0 } ")
        );
        assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":"1"}"#));
    }

    /// Numbers as identifiers have them: a hook would have judged one of them, and a tool been given the other.
    #[test]
    fn whole_numbers_are_told_apart_to_the_last_digit() {
        let digest = |text: &str| digest(text).unwrap();
        for (one, other) in [
            ("9007199254740992", "9007199254740993"),
            ("-9223372036854775808", "-9223372036854775807"),
            ("18446744073709551614", "18446744073709551615"),
            (r#"{"a":[1,9007199254740993]}"#, r#"{"a":[1,9007199254740995]}"#),
            ("[9007199254740993,9007199254740995]", "[9007199254740995,9007199254740993]"),
        ] {
            assert_ne!(digest(one), digest(other), "{one} and {other}");
        }
        assert_eq!(digest("9007199254740992"), digest("9007199254740992.0"));
        assert_eq!(digest("10000000000000000000"), digest("1e19"));
        let (one, other) = (r#"{"b":9007199254740993,"a":1}"#, r#"{"a":1,"b":9007199254740993}"#);
        assert_eq!(digest(one), digest(other));
    }

    #[test]
    fn doubled_keys_and_trailing_text_are_refused() {
        assert!(digest(r#"{"a":1,"a":2}"#).unwrap_err().contains("\"a\" is twice"));
        assert!(digest(r#"{"x":{"a":1,"a":2}}"#).is_err());
        assert!(digest("{} {}").is_err());
        assert!(digest("{").is_err());
        assert!(digest(&"[".repeat(100_000)).is_err(), "depth is bounded");
    }
}
