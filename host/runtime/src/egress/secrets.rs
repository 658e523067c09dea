//! Secrets on the way out: where their values come from, and how they are kept out of what comes back.
//! Knows no request and no grant.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// What stands in the place of a secret in what comes back.
const MARK: &[u8] = b"[secret]";
/// Characters of a piece of base64 that is looked for; a shorter one would be found everywhere.
const PIECE_CHARS_MIN: usize = 8;

/// A secret value. It is never shown: what prints it prints that it is one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Of a value.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Secret(value.into())
    }

    /// The value: for a request's header, and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where the values of sensitive configuration come from. They are asked for when they are used, and kept
/// nowhere else.
pub trait Secrets: Send + Sync + 'static {
    /// The value of a configuration key of a bundle, such as `acme/word-tools` and `api_key`; none: the
    /// operator has set none.
    fn secret(&self, bundle: &str, key: &str) -> Option<Secret>;
}

/// No secrets at all.
impl Secrets for () {
    fn secret(&self, _bundle: &str, _key: &str) -> Option<Secret> {
        None
    }
}

/// Secrets in memory, by bundle and key.
impl Secrets for std::collections::BTreeMap<(String, String), Secret> {
    fn secret(&self, bundle: &str, key: &str) -> Option<Secret> {
        self.get(&(bundle.to_owned(), key.to_owned())).cloned()
    }
}

/// Takes secrets out of what comes back: their values, their values' base64 at each of the three places it
/// can begin, and their percent-encoding.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    needles: Vec<Vec<u8>>,
}

impl Scrubber {
    /// Learns a value.
    pub(crate) fn learn(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let mut needles = vec![value.as_bytes().to_vec(), STANDARD_NO_PAD.encode(value).into_bytes()];
        needles.push(URL_SAFE_NO_PAD.encode(value).into_bytes());
        needles.extend(pieces(value.as_bytes()));
        let percent: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        needles.push(percent.replace('+', "%20").into_bytes());
        needles.push(percent.into_bytes());
        self.needles.extend(needles);
        // The longest first, so that what holds another one goes as a whole.
        self.needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.needles.dedup();
    }

    /// Whether there is anything to look for.
    pub(crate) fn is_armed(&self) -> bool {
        !self.needles.is_empty()
    }

    /// Whether a secret stands in it.
    pub(crate) fn finds(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| find(bytes, needle).is_some())
    }

    /// The same without the secrets.
    pub(crate) fn scrub(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.needles.iter().fold(bytes, |bytes, needle| replace(bytes, needle))
    }

    /// The same without the secrets.
    pub(crate) fn scrub_text(&self, text: &str) -> String {
        if !self.is_armed() {
            return text.to_owned();
        }
        String::from_utf8_lossy(&self.scrub(text.as_bytes().to_vec())).into_owned()
    }
}

/// The characters of base64 that say nothing but the value, wherever in a longer text it stands.
fn pieces(value: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for before in 0..3_usize {
        let mut padded = vec![0; before];
        padded.extend(value);
        let first = (before * 8).div_ceil(6);
        let whole = padded.len() * 8 / 6;
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            if let Some(piece) = encoded.get(first..whole)
                && piece.len() >= PIECE_CHARS_MIN
            {
                pieces.push(piece.as_bytes().to_vec());
            }
        }
    }
    pieces
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        let at = from + at;
        if bytes[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn replace(bytes: Vec<u8>, needle: &[u8]) -> Vec<u8> {
    let Some(mut at) = find(&bytes, needle) else { return bytes };
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    loop {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(MARK);
        rest = &rest[at + needle.len()..];
        match find(rest, needle) {
            Some(next) => at = next,
            None => break,
        }
    }
    clean.extend_from_slice(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    const VALUE: &str = "s3cret/with+odd chars";

    fn armed() -> Scrubber {
        let mut scrubber = Scrubber::default();
        scrubber.learn(VALUE);
        scrubber
    }

    #[test]
    fn a_value_goes_in_every_dress() {
        let scrubber = armed();
        let percent: String = url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect();
        for text in [
            format!("a {VALUE} b {VALUE}"),
            STANDARD.encode(VALUE),
            URL_SAFE_NO_PAD.encode(VALUE),
            format!("x={percent}&y"),
            percent.replace('+', "%20"),
        ] {
            assert!(scrubber.finds(text.as_bytes()), "{text}");
            let clean = scrubber.scrub_text(&text);
            assert!(clean.contains("[secret]") && !scrubber.finds(clean.as_bytes()), "{text}: {clean}");
        }
    }

    #[test]
    fn base64_of_a_longer_text_does_not_hide_it() {
        let scrubber = armed();
        for before in ["", "u", "us", "use", "user:"] {
            let encoded = STANDARD.encode(format!("{before}{VALUE}!"));
            let clean = scrubber.scrub_text(&encoded);
            assert!(clean.contains("[secret]"), "{before}: {encoded}");
        }
    }

    #[test]
    fn nothing_else_is_touched_and_nothing_is_shown() {
        assert_eq!(armed().scrub_text("s3cret/with+odd char"), "s3cret/with+odd char");
        assert!(!Scrubber::default().is_armed());
        assert_eq!(format!("{:?}", Secret::new("canary")), "Secret(…)");
        let mut empty = Scrubber::default();
        empty.learn("");
        assert!(!empty.is_armed());
    }
}
