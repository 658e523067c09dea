//! Names and numbers: sessions, hosts, digests, positions in a journal. Makes none of them up:
//! ids, seeds and times come in as arguments.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::BadId;
use crate::limits;

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes an id as it is written.
            ///
            /// # Errors
            /// If it lacks the prefix, is too long, or holds anything but letters and digits.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                let tail = text.strip_prefix($prefix).filter(|tail| {
                    !tail.is_empty()
                        && tail.len() <= limits::ID_BYTES_MAX
                        && tail.bytes().all(|b| b.is_ascii_alphanumeric())
                });
                match tail {
                    Some(_) => Ok($name(text.to_owned())),
                    None => Err(BadId { given: text.chars().take(80).collect(), prefix: $prefix }),
                }
            }

            /// The id as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The id without its prefix.
            pub fn tail(&self) -> &str {
                &self.0[$prefix.len()..]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

string_id!(
    /// A session: `ses_` and letters or digits.
    SessionId,
    "ses_"
);
string_id!(
    /// One process able to run sessions: `host_` and letters or digits.
    HostId,
    "host_"
);

/// A turn's name outside of the journal: `turn_3`.
pub fn turn_name(turn: u32) -> String {
    format!("turn_{turn}")
}

/// A blake3 digest; hexadecimal where it is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of several parts, each with its length before it, so that no two lists of parts
    /// make the same bytes.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(*hasher.finalize().as_bytes())
    }

    /// 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        hex(&self.0)
    }

    /// Reads 64 hexadecimal digits, with or without `blake3:` before them.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("blake3:").unwrap_or(text);
        let mut bytes = [0; 32];
        unhex(digits, &mut bytes).then_some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", &self.to_hex()[..12])
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::from_hex(&text).ok_or_else(|| D::Error::custom(format!("no blake3 digest: {text:?}")))
    }
}

/// What a step's random stream is made from.
pub type Seed = Digest;

/// The end of a journal: the newest entry's number and chain hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// 0 while there is no entry.
    pub seq: u64,
    /// Zeros while there is no entry.
    pub hash: Digest,
}

/// Milliseconds since 1970 in UTC, as the store's clock gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl Timestamp {
    /// Reads RFC 3339, to the millisecond.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|at| Timestamp(at.as_millisecond()))
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)]);
    String::from_utf8(digits.collect()).expect("digits are ASCII")
}

fn unhex(digits: &str, bytes: &mut [u8; 32]) -> bool {
    let digits = digits.as_bytes();
    if digits.len() != 64 {
        return false;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else { return false };
        *byte = high << 4 | low;
    }
    true
}

fn nibble(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hold_letters_and_digits_only() {
        assert_eq!(SessionId::parse("ses_01AB").unwrap().tail(), "01AB");
        for bad in ["", "ses_", "01AB", "ses_a/b", "ses_..", &format!("ses_{}", "a".repeat(65))] {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn digests_are_read_as_they_are_written() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::from_hex(&digest.to_hex()), Some(digest));
        assert_eq!(Digest::from_hex(&format!("blake3:{digest}")), Some(digest));
        assert_eq!(Digest::from_hex("blake3:00"), None);
        assert_eq!(Digest::from_hex(&"g".repeat(64)), None);
    }

    #[test]
    fn parts_are_told_apart_by_their_lengths() {
        let one = Digest::of_parts([b"ab".as_slice(), b"c"]);
        let two = Digest::of_parts([b"a".as_slice(), b"bc"]);
        assert_ne!(one, two);
    }

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        assert_eq!(Timestamp(1_764_417_600_005).to_string(), "2025-11-29T12:00:00.005Z");
        assert_eq!(Timestamp::parse("2025-11-29T12:00:00.005Z"), Some(Timestamp(1_764_417_600_005)));
    }
}
