//! Secrets kept out of what comes back: found in whatever dress a server may write them. Knows no request.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// What stands in the place of a secret in what comes back.
const MARK: &[u8] = b"[secret]";
/// Characters of a piece of base64 that is looked for; a shorter one would be found everywhere.
const PIECE_CHARS_MIN: usize = 8;
/// Ends of lines in a row that may part a secret.
const BREAKS_MAX: usize = 4;

/// Bytes of the longest way to write one byte: `&#x0000041;` and longer ones are not read.
const ESCAPE_BYTES_MAX: usize = 10;

/// Takes secrets out of what comes back: their values, in hexadecimal, in base64 at each of the three places
/// where it can begin; each of these as URLs, JSON and HTML escape it, and parted by ends of lines.
#[derive(Clone)]
pub struct Scrubber {
    needles: Vec<Needle>,
    /// The bytes that something which is looked for can begin with.
    beginnings: [bool; 256],
}

#[derive(Clone, PartialEq, Eq)]
struct Needle {
    bytes: Vec<u8>,
    ignores_case: bool,
}

impl Default for Scrubber {
    fn default() -> Self {
        Scrubber { needles: Vec::new(), beginnings: [false; 256] }
    }
}

impl Scrubber {
    /// Learns a value.
    pub fn learn(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        let mut learn = |bytes: Vec<u8>, ignores_case: bool| {
            for byte in [bytes[0].to_ascii_lowercase(), bytes[0].to_ascii_uppercase(), b'%', b'\\', b'&'] {
                self.beginnings[usize::from(byte)] = true;
            }
            self.beginnings[usize::from(b'+')] |= bytes[0] == b' ';
            let needle = Needle { bytes, ignores_case };
            if !self.needles.contains(&needle) {
                self.needles.push(needle);
            }
        };
        learn(value.into(), false);
        learn(hex.into_bytes(), true);
        learn(STANDARD_NO_PAD.encode(value).into_bytes(), false);
        learn(URL_SAFE_NO_PAD.encode(value).into_bytes(), false);
        pieces(value.as_bytes()).into_iter().for_each(|piece| learn(piece, false));
    }

    /// Whether there is anything to look for.
    pub(crate) fn is_armed(&self) -> bool {
        !self.needles.is_empty()
    }

    /// Whether a secret stands in it.
    pub fn finds(&self, bytes: &[u8]) -> bool {
        (0..bytes.len()).any(|at| self.end(bytes, at, false).is_some())
    }

    /// The same without the secrets.
    pub(crate) fn scrub(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.replaced(&bytes, false).unwrap_or(bytes)
    }

    /// The same without the secrets.
    pub fn scrub_text(&self, text: &str) -> String {
        let clean = self.replaced(text.as_bytes(), false);
        clean.map_or_else(|| text.to_owned(), |clean| String::from_utf8_lossy(&clean).into_owned())
    }

    /// A header's name without the secrets: it has come in lower case, whatever it was sent in.
    pub(crate) fn scrub_name(&self, name: &str) -> String {
        let clean = self.replaced(name.as_bytes(), true);
        clean.map_or_else(|| name.to_owned(), |clean| String::from_utf8_lossy(&clean).into_owned())
    }

    /// How many bytes from the first on are the same whatever follows: no secret begins in them that may go on
    /// behind the end. A secret that is there whole is not parted.
    pub fn settled(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let begins = self.beginnings[usize::from(bytes[at])];
            if begins && self.needles.iter().any(|needle| needle.is_open(bytes, at)) {
                return at;
            }
            at = self.end(bytes, at, false).unwrap_or(at + 1);
        }
        bytes.len()
    }

    /// None: there is no secret in it.
    fn replaced(&self, bytes: &[u8], ignores_case: bool) -> Option<Vec<u8>> {
        let (mut clean, mut kept, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            match self.end(bytes, at, ignores_case) {
                Some(end) => {
                    clean.extend_from_slice(&bytes[kept..at]);
                    clean.extend_from_slice(MARK);
                    (kept, at) = (end, end);
                }
                None => at += 1,
            }
        }
        if kept == 0 {
            return None;
        }
        clean.extend_from_slice(&bytes[kept..]);
        Some(clean)
    }

    /// Where the longest secret ends that begins here.
    fn end(&self, bytes: &[u8], at: usize, ignores_case: bool) -> Option<usize> {
        if !self.beginnings[usize::from(bytes[at])] {
            return None;
        }
        let ends = self.needles.iter().filter_map(|needle| needle.end(bytes, at, ignores_case));
        ends.max().filter(|end| *end > at)
    }
}

impl Needle {
    /// Where it ends, if it begins here.
    fn end(&self, bytes: &[u8], at: usize, ignores_case: bool) -> Option<usize> {
        self.follow(bytes, at, ignores_case, &mut |_| {})
    }

    /// Whether it may begin here and go on behind the end: there is nothing, or less than one character however
    /// it is written, left where the next of its characters would be.
    fn is_open(&self, bytes: &[u8], at: usize) -> bool {
        let mut is_open = false;
        self.follow(bytes, at, false, &mut |here| {
            let rest = &bytes[here..];
            is_open |=
                rest.is_empty() || rest.len() < ESCAPE_BYTES_MAX && matches!(rest[0], b'%' | b'\\' | b'&');
        });
        is_open
    }

    /// Follows it from here, a character after the other, each however it is written; where a character can be
    /// read in two ways, both are followed. `next_at` is told each place where another of its characters is looked
    /// for.
    fn follow(
        &self,
        bytes: &[u8],
        at: usize,
        ignores_case: bool,
        next_at: &mut dyn FnMut(usize),
    ) -> Option<usize> {
        let ignores_case = ignores_case || self.ignores_case;
        let is = |byte: u8, wanted: u8| byte == wanted || ignores_case && byte.eq_ignore_ascii_case(&wanted);
        let mut ends = vec![at];
        for (nth, wanted) in self.bytes.iter().enumerate() {
            let mut next = Vec::new();
            for end in ends {
                let mut here = end;
                for _ in 0..=BREAKS_MAX {
                    next_at(here.min(bytes.len()));
                    for (byte, after) in readings(bytes, here) {
                        if is(byte, *wanted) && !next.contains(&after) {
                            next.push(after);
                        }
                    }
                    match line_end(bytes, here).filter(|_| nth > 0) {
                        Some(after) => here = after,
                        None => break,
                    }
                }
            }
            ends = next;
            if ends.is_empty() {
                return None;
            }
        }
        ends.into_iter().max()
    }
}

/// The ways to read the character that begins here, each with where it ends: as it is, and as what an
/// escape of URLs, JSON or HTML means.
fn readings(bytes: &[u8], at: usize) -> impl Iterator<Item = (u8, usize)> {
    let rest = bytes.get(at..).unwrap_or_default();
    let plain = rest.first().map(|byte| (*byte, at + 1));
    let escaped = match rest {
        [b'+', ..] => Some((b' ', 1)),
        [b'%', digits @ ..] => number(digits, 2, 16).map(|byte| (byte, 3)),
        [b'\\', b'u', digits @ ..] => number(digits, 4, 16).map(|byte| (byte, 6)),
        [b'\\', b'x', digits @ ..] => number(digits, 2, 16).map(|byte| (byte, 4)),
        [b'\\', b'n', ..] => Some((b'\n', 2)),
        [b'\\', b'r', ..] => Some((b'\r', 2)),
        [b'\\', byte @ (b'/' | b'\\' | b'"' | b'\''), ..] => Some((*byte, 2)),
        [b'&', rest @ ..] => entity(rest).map(|(byte, length)| (byte, length + 1)),
        _ => None,
    };
    plain.into_iter().chain(escaped.map(|(byte, length)| (byte, at + length)))
}

/// Where an end of a line ends that begins here, however it is written.
fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    readings(bytes, at).filter(|(byte, _)| matches!(byte, b'\r' | b'\n')).map(|(_, after)| after).max()
}

/// A number of so many digits that is one byte.
fn number(digits: &[u8], count: usize, radix: u32) -> Option<u8> {
    let text = std::str::from_utf8(digits.get(..count)?).ok()?;
    if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, radix).ok()?.try_into().ok()
}

/// What an entity of HTML means behind its `&`, and its length.
fn entity(rest: &[u8]) -> Option<(u8, usize)> {
    let end = rest.iter().take(8).position(|byte| *byte == b';')?;
    let byte = match &rest[..end] {
        b"amp" => b'&',
        b"lt" => b'<',
        b"gt" => b'>',
        b"quot" => b'"',
        b"apos" => b'\'',
        [b'#', b'x' | b'X', digits @ ..] => number(digits, digits.len(), 16)?,
        [b'#', digits @ ..] => number(digits, digits.len(), 10)?,
        _ => return None,
    };
    Some((byte, end + 1))
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
            VALUE.replace(' ', "&#32;"),
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

    /// Where an escape's own characters are the value's, both readings are followed.
    #[test]
    fn a_value_that_looks_like_an_escape_is_found() {
        for value in ["%41%42", "a%b&c;d", "\\u0041x", "&amp;&amp;", "a+b c"] {
            let mut scrubber = Scrubber::default();
            scrubber.learn(value);
            let percent: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            for text in [value.to_owned(), percent, value.replace('&', "&amp;"), value.replace('\\', "\\\\")]
            {
                assert_eq!(scrubber.scrub_text(&format!("<{text}>")), "<[secret]>", "{value}: {text}");
            }
        }
    }

    #[test]
    fn what_may_go_on_is_told_from_what_is_settled() {
        let scrubber = armed();
        for (text, settled) in [
            ("", 0),
            ("nothing of it", 13),
            ("a s3cret/wi", 2),
            ("a s3cret/wx", 11),
            ("a %73", 2),
            ("a %7", 2),
            ("a &#x7", 2),
            ("a %~~~~~~~~~~", 13),
            ("s3cret/with+odd chars", 21),
            ("s3cret/with+odd chars s", 22),
        ] {
            assert_eq!(scrubber.settled(text.as_bytes()), settled, "{text}");
        }
        assert_eq!(Scrubber::default().settled(b"s3cret"), 6);
    }

    #[test]
    fn nothing_else_is_touched() {
        let almost = "s3cret/with+odd char %41 \\u0041 &amp; %zz %4 \\ & &#; %\u{e4}";
        assert_eq!(armed().scrub_text(almost), almost);
        assert!(!Scrubber::default().is_armed());
        assert_eq!(Scrubber::default().scrub(vec![b'%'; 3]), b"%%%");
        let mut empty = Scrubber::default();
        empty.learn("");
        assert!(!empty.is_armed());
    }

    /// A body is a server's to choose: what is nearly a secret everywhere takes no longer.
    #[test]
    fn a_body_that_almost_holds_it_everywhere_is_read_in_time() {
        let scrubber = armed();
        let since = std::time::Instant::now();
        for text in ["s3cret/with+odd chat\n", "s\n", "%73%0a", "\\n\\n", "&#115;", "s3", "%"] {
            assert!(!scrubber.finds(text.repeat((1 << 20) / text.len()).as_bytes()), "{text}");
        }
        assert!(since.elapsed() < std::time::Duration::from_secs(20), "{:?}", since.elapsed());
    }
}
