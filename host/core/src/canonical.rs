//! JSON as it is compared: canonical form (RFC 8785), and the refusal of what has none.

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
    Ok(Digest::of(&bytes))
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
                return Err(A::Error::custom(format!("the key {key:?} stands twice in one object")));
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

    #[test]
    fn doubled_keys_and_trailing_text_are_refused() {
        assert!(digest(r#"{"a":1,"a":2}"#).unwrap_err().contains("\"a\" stands twice"));
        assert!(digest(r#"{"x":{"a":1,"a":2}}"#).is_err());
        assert!(digest("{} {}").is_err());
        assert!(digest("{").is_err());
        assert!(digest(&"[".repeat(100_000)).is_err(), "depth is bounded");
    }
}
