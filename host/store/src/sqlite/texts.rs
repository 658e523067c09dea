//! One copy of each text. A long string of JSON is a blob, and the payloads, blobs, states and snapshots that hold it
//! refer to that blob. This is known here alone: bytes go in and out whole, and digests and the hash chain cover the
//! whole bytes.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use rewake_core::ids::Digest;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::shared::Keys;

/// Bytes of a string, as it is written in JSON, from which on it is a text: below, a blob costs more than the copies.
const TEXT_BYTES_MIN: usize = 1 << 10;
/// Bytes of a reference: the text's place in the rest, and its digest.
const REFERENCE_BYTES: usize = 4 + 32;
/// Why bytes cannot be put together.
const TEXT_GONE: &str = "a text that it names is gone";

/// The texts of some bytes, in their order, and where they are.
pub(super) struct Texts(Vec<(Digest, Range<usize>)>);

/// Bytes as a row has them.
pub(super) struct Stored<'a> {
    /// Without the texts that are referred to.
    pub(super) rest: Cow<'a, [u8]>,
    /// The references; none if the rest is all.
    pub(super) texts: Option<Vec<u8>>,
}

impl Texts {
    /// Finds them. Bytes that are not JSON have none, or some that mean nothing, which does no harm.
    pub(super) fn of(bytes: &[u8]) -> Self {
        // Most payloads are shorter than a text.
        if bytes.len() < TEXT_BYTES_MIN {
            return Texts(Vec::new());
        }
        let found = long_strings(bytes, TEXT_BYTES_MIN).unwrap_or_default();
        Texts(found.into_iter().map(|range| (Digest::of(&bytes[range.clone()]), range)).collect())
    }

    /// Each with its digest.
    pub(super) fn each<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (Digest, &'a [u8])> {
        self.0.iter().map(|(digest, range)| (*digest, &bytes[range.clone()]))
    }

    /// The bytes for a row, without those texts that are to be referred to.
    fn stored<'a, E>(
        &self,
        bytes: &'a [u8],
        mut is_referred: impl FnMut(&Digest) -> Result<bool, E>,
    ) -> Result<Stored<'a>, E> {
        let (mut rest, mut texts, mut at) = (Vec::new(), Vec::new(), 0);
        for (digest, range) in &self.0 {
            let Ok(place) = u32::try_from(rest.len() + range.start - at) else { break };
            if is_referred(digest)? {
                rest.extend_from_slice(&bytes[at..range.start]);
                texts.extend_from_slice(&place.to_le_bytes());
                texts.extend_from_slice(&digest.0);
                at = range.end;
            }
        }
        if texts.is_empty() {
            return Ok(Stored { rest: bytes.into(), texts: None });
        }
        rest.extend_from_slice(&bytes[at..]);
        Ok(Stored { rest: rest.into(), texts: Some(texts) })
    }
}

impl<'a> Stored<'a> {
    /// All of its texts are referred to.
    pub(super) fn without(bytes: &'a [u8], texts: &Texts) -> Self {
        let Ok(stored) = texts.stored(bytes, |_| Ok::<_, Infallible>(true));
        stored
    }

    /// Only those are referred to that an entry of the session names: what else a state says goes with the state.
    pub(super) fn without_named(
        connection: &Connection,
        keys: Keys,
        bytes: &'a [u8],
        texts: &Texts,
    ) -> rusqlite::Result<Self> {
        let mut query = connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM blobs AS b JOIN blob_refs AS r ON r.blob = b.id \
             WHERE b.project = ? AND b.digest = ? AND b.texts IS NULL AND r.session = ?)",
        )?;
        texts.stored(bytes, |digest| {
            query.query_row(params![keys.project, digest.0, keys.session], |row| row.get(0))
        })
    }

    /// The whole bytes, or why they cannot be read. A file that was tampered with could name one blob any number of times, or
    /// hold one that no host wrote: no more than `bytes_max` are read.
    pub(super) fn whole(
        self,
        connection: &Connection,
        project: i64,
        bytes_max: usize,
    ) -> rusqlite::Result<Result<Vec<u8>, String>> {
        let too_long = || Ok(Err(too_long(bytes_max)));
        let Stored { rest, texts } = self;
        if rest.len() > bytes_max {
            return too_long();
        }
        let Some(texts) = texts else { return Ok(Ok(rest.into_owned())) };
        let mut query = connection.prepare_cached(
            "SELECT iif(length(bytes) <= ?3, bytes, NULL) FROM blobs \
             WHERE project = ?1 AND digest = ?2 AND texts IS NULL",
        )?;
        let (mut whole, mut at, mut left) = (Vec::with_capacity(rest.len()), 0, bytes_max - rest.len());
        let (references, excess) = texts.as_chunks::<REFERENCE_BYTES>();
        for reference in references {
            let (place, digest) = reference.split_at(4);
            let place = place.iter().rev().fold(0, |place, byte| place << 8 | usize::from(*byte));
            let text: Option<Option<Vec<u8>>> =
                query.query_row(params![project, digest, left], |row| row.get(0)).optional()?;
            let (Some(text), Some(before)) = (text, rest.get(at..place)) else {
                return Ok(Err(TEXT_GONE.into()));
            };
            let Some(text) = text else { return too_long() };
            left -= text.len();
            whole.extend_from_slice(before);
            whole.extend_from_slice(&text);
            at = place;
        }
        whole.extend_from_slice(&rest[at..]);
        Ok(if excess.is_empty() { Ok(whole) } else { Err(TEXT_GONE.into()) })
    }
}

/// Why bytes are not read.
pub(super) fn too_long(bytes_max: usize) -> String {
    format!("it has more than {bytes_max} bytes, which no host writes")
}

/// The strings of JSON with at least so many bytes between their quotes. None if the bytes are not JSON, as far as
/// quotes and backslashes tell: so a string that was found never holds another one, and a text has no texts.
fn long_strings(bytes: &[u8], min: usize) -> Option<Vec<Range<usize>>> {
    let special = |from: usize| {
        let rest = bytes.get(from..)?;
        rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|at| from + at)
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(quote) = special(at) {
        if bytes[quote] == b'\\' {
            return None;
        }
        let start = quote + 1;
        let mut end = special(start)?;
        while bytes[end] == b'\\' {
            end = special(end + 2)?;
        }
        if end - start >= min {
            found.push(start..end);
        }
        at = end + 1;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Option<Vec<&str>> {
        long_strings(text.as_bytes(), 3).map(|found| found.into_iter().map(|range| &text[range]).collect())
    }

    #[test]
    fn long_strings_are_found_and_hold_none() {
        assert_eq!(strings(r#"{"a":"long","b":["","no","a\"b\\",7]}"#), Some(vec!["long", r#"a\"b\\"#]));
        for text in ["", "[1,2]", "long"] {
            assert_eq!(strings(text), Some(vec![]), "{text}");
        }
        for text in [r#"\"long""#, r#"{"a":"cut"#, r#""cut\"#, r#""long" \ "long""#] {
            assert_eq!(strings(text), None, "{text}");
        }
        // What was found is bytes that have no strings of their own, whatever they are.
        let alphabet = [b'"', b'\\', b'a'];
        for number in 0..3_usize.pow(9) {
            let bytes: Vec<u8> = (0..9).map(|digit| alphabet[number / 3_usize.pow(digit) % 3]).collect();
            for found in long_strings(&bytes, 0).unwrap_or_default() {
                assert!(long_strings(&bytes[found], 0).is_none_or(|inner| inner.is_empty()), "{bytes:?}");
            }
        }
    }
}
