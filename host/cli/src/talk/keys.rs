//! Keys, from the bytes that a terminal sends. Knows how terminals write them, not what they are for.

use rewake_core::limits::MESSAGE_BYTES_MAX;

/// Bytes of one paste that are kept; what is over is dropped. More than a message may have, so that one that was cut
/// is refused, and never sent as if it were whole.
const PASTE_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (64 << 10);
/// Bytes of a sequence that nobody knows the end of.
const SEQUENCE_BYTES_MAX: usize = 64;
pub(super) const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What was pressed, or pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    /// With Control; in small letters.
    Ctrl(char),
    /// With Alt, or after Escape.
    Alt(char),
    Enter,
    /// Enter that is meant as a new line of the same text.
    Newline,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    WordBackspace,
    Up,
    Down,
    Home,
    End,
    Escape,
    /// A text of any number of lines.
    Paste(String),
}

/// Bytes that are no whole key yet.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// How many of them were looked through for a paste's end.
    scanned: usize,
    /// The paste that is coming was given already, as far as it is kept: the rest of it goes.
    is_over: bool,
}

/// What the first bytes are.
enum Step {
    /// Nothing whole yet.
    More,
    /// So many bytes, which are this key, or none that is known.
    Taken(usize, Option<Key>),
}

impl Decoder {
    /// Takes bytes in, and gives the keys that are whole.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.bytes.is_empty() {
            if self.is_over {
                self.pass_over();
                if self.is_over {
                    break;
                }
                continue;
            }
            match step(&self.bytes, self.scanned) {
                Step::More => {
                    self.scanned = self.bytes.len().saturating_sub(PASTE_ENDS.len());
                    if self.bytes.starts_with(PASTE_BEGINS) && self.bytes.len() > PASTE_BYTES_MAX {
                        keys.push(Key::Paste(pasted(&self.bytes[PASTE_BEGINS.len()..self.scanned])));
                        self.bytes.drain(..self.scanned);
                        (self.scanned, self.is_over) = (0, true);
                    }
                    break;
                }
                Step::Taken(count, key) => {
                    self.bytes.drain(..count);
                    self.scanned = 0;
                    keys.extend(key);
                }
            }
        }
        keys
    }

    /// Drops what comes of a paste, to its end: typed, it would be keys.
    fn pass_over(&mut self) {
        let end = self.bytes.windows(PASTE_ENDS.len()).position(|end| end == PASTE_ENDS);
        self.is_over = end.is_none();
        let gone =
            end.map_or_else(|| self.bytes.len().saturating_sub(PASTE_ENDS.len()), |at| at + PASTE_ENDS.len());
        self.bytes.drain(..gone);
    }

    /// Whether a paste has begun whose end has not come.
    pub(super) fn is_pasting(&self) -> bool {
        self.is_over || self.bytes.starts_with(PASTE_BEGINS)
    }

    /// Ends a paste whose end does not come; returns it as far as it came and is kept.
    pub(super) fn end_paste(&mut self) -> Option<Key> {
        let bytes = std::mem::take(&mut self.bytes);
        self.scanned = 0;
        let is_given = std::mem::take(&mut self.is_over);
        let text = bytes.strip_prefix(PASTE_BEGINS).filter(|_| !is_given)?;
        Some(Key::Paste(pasted(text)))
    }

    /// Whether there is the beginning of something that may be whole as it is: an Escape.
    pub(super) fn is_waiting(&self) -> bool {
        !self.bytes.is_empty() && !self.is_pasting()
    }

    /// Nothing more came for a while: what there is, is all. The rest of a paste is waited for, however long.
    pub(super) fn give_up(&mut self) -> Option<Key> {
        if !self.is_waiting() {
            return None;
        }
        let bytes = std::mem::take(&mut self.bytes);
        (bytes == b"\x1b").then_some(Key::Escape)
    }
}

fn step(bytes: &[u8], scanned: usize) -> Step {
    match bytes[0] {
        0x1b if bytes.starts_with(PASTE_BEGINS) => paste(bytes, scanned),
        0x1b => escape(bytes),
        b'\r' | b'\n' => Step::Taken(1, Some(Key::Enter)),
        b'\t' => Step::Taken(1, Some(Key::Tab)),
        0x08 | 0x7f => Step::Taken(1, Some(Key::Backspace)),
        byte @ 0x01..=0x1a => Step::Taken(1, Some(Key::Ctrl(char::from(byte + b'a' - 1)))),
        0x00..=0x1f => Step::Taken(1, None),
        _ => text(bytes),
    }
}

/// A character, which may be several bytes.
fn text(bytes: &[u8]) -> Step {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Step::Taken(1, None),
    };
    let Some(found) = bytes.get(..length) else { return Step::More };
    match std::str::from_utf8(found).ok().and_then(|text| text.chars().next()) {
        Some(c) => Step::Taken(length, Some(Key::Char(c))),
        None => Step::Taken(1, None),
    }
}

fn escape(bytes: &[u8]) -> Step {
    match bytes.get(1) {
        None => Step::More,
        Some(b'[') => sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Step::More,
            Some(end) => Step::Taken(3, named(b"", *end)),
        },
        Some(b'\r' | b'\n') => Step::Taken(2, Some(Key::Newline)),
        Some(0x08 | 0x7f) => Step::Taken(2, Some(Key::WordBackspace)),
        Some(0x1b) => Step::Taken(1, Some(Key::Escape)),
        Some(_) => match text(&bytes[1..]) {
            Step::More => Step::More,
            Step::Taken(count, Some(Key::Char(c))) => Step::Taken(count + 1, Some(Key::Alt(c))),
            Step::Taken(count, _) => Step::Taken(count + 1, None),
        },
    }
}

/// `ESC [`, parameters, and a byte that ends it.
fn sequence(bytes: &[u8]) -> Step {
    let rest = &bytes[2..];
    // Looked for in so many bytes only, so that it does not matter in which pieces they come.
    let near = &rest[..rest.len().min(SEQUENCE_BYTES_MAX)];
    match near.iter().position(|byte| !(0x20..=0x3f).contains(byte)) {
        Some(end) => Step::Taken(2 + end + 1, named(&rest[..end], rest[end])),
        None if near.len() == SEQUENCE_BYTES_MAX => Step::Taken(2 + SEQUENCE_BYTES_MAX, None),
        None => Step::More,
    }
}

fn named(parameters: &[u8], end: u8) -> Option<Key> {
    // `1;5D`: Left with Control.
    let modified = parameters.split(|byte| *byte == b';').nth(1).is_some_and(|with| with != b"1");
    let number = parameters.split(|byte| *byte == b';').next().unwrap_or_default();
    Some(match (end, number) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) if modified => Key::WordRight,
        (b'C', _) => Key::Right,
        (b'D', _) if modified => Key::WordLeft,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'~', b"3") => Key::Delete,
        // Enter with a modifier, as terminals write it that tell it from Enter.
        (b'u', b"13") | (b'~', b"27") if modified => Key::Newline,
        _ => return None,
    })
}

fn paste(bytes: &[u8], scanned: usize) -> Step {
    let from = scanned.max(PASTE_BEGINS.len());
    let found =
        bytes.get(from..).and_then(|rest| rest.windows(PASTE_ENDS.len()).position(|end| end == PASTE_ENDS));
    let Some(end) = found.map(|at| from + at) else { return Step::More };
    Step::Taken(end + PASTE_ENDS.len(), Some(Key::Paste(pasted(&bytes[PASTE_BEGINS.len()..end]))))
}

fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Decoder::default().push(bytes)
    }

    #[test]
    fn keys_are_told_apart() {
        for (bytes, expected) in [
            (&b"a\xc3\xa9"[..], &[Key::Char('a'), Key::Char('é')][..]),
            (b"\x03\x04", &[Key::Ctrl('c'), Key::Ctrl('d')]),
            (b"\r\n", &[Key::Enter, Key::Enter]),
            (b"\x1b\r", &[Key::Newline]),
            (b"\x1b[13;2u", &[Key::Newline]),
            (b"\x1b[A\x1bOB", &[Key::Up, Key::Down]),
            (b"\x1b[1;5D\x1b[C", &[Key::WordLeft, Key::Right]),
            (b"\x1b[3~\x1b[H\x1b[4~", &[Key::Delete, Key::Home, Key::End]),
            (b"\x1bb\x1b\x7f", &[Key::Alt('b'), Key::WordBackspace]),
            (b"\x1b[200~a\r\nb\x03\x1b[201~c", &[Key::Paste("a\nb\x03".into()), Key::Char('c')]),
            (b"\xffx\x1b[99;9zy", &[Key::Char('x'), Key::Char('y')]),
        ] {
            assert_eq!(keys(bytes), expected, "{bytes:?}");
            let mut decoder = Decoder::default();
            let one_by_one: Vec<Key> = bytes.iter().flat_map(|byte| decoder.push(&[*byte])).collect();
            assert_eq!(one_by_one, expected, "{bytes:?}, byte by byte");
            assert!(!decoder.is_waiting());
        }
    }

    #[test]
    fn an_escape_alone_is_one_only_after_a_while() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_waiting());
        assert_eq!(decoder.give_up(), Some(Key::Escape));
        assert_eq!(decoder.push(b"\x1b[20"), []);
        assert_eq!((decoder.give_up(), decoder.is_waiting()), (None, false));
        assert_eq!(decoder.push(b"\x1b[200~slow"), []);
        assert!(!decoder.is_waiting(), "a paste is waited for");
        assert_eq!(decoder.give_up(), None);
        assert_eq!(decoder.push(b"er\x1b[201"), []);
        assert_eq!(decoder.push(b"~"), [Key::Paste("slower".into())]);
    }

    /// What is over must not be taken for keys: each line of it would be sent.
    #[test]
    fn of_a_paste_that_is_too_long_the_beginning_is_kept_and_no_more() {
        let mut decoder = Decoder::default();
        let mut keys = decoder.push(PASTE_BEGINS);
        let piece = b"a line\n".repeat(1 << 16);
        for _ in 0..9 {
            keys.extend(decoder.push(&piece));
        }
        keys.extend(decoder.push(b"end\x1b[201"));
        assert!(!decoder.is_waiting(), "its end is waited for");
        assert_eq!(decoder.give_up(), None);
        keys.extend(decoder.push(b"~x"));
        let [Key::Paste(text), Key::Char('x')] = &keys[..] else { panic!("{} keys", keys.len()) };
        assert!(text.starts_with("a line\na line") && text.len() <= PASTE_BYTES_MAX + piece.len());
        assert!(
            text.len() > MESSAGE_BYTES_MAX,
            "it is refused, not sent as if it were whole: {}",
            text.len()
        );
    }

    /// N-C2: without its end mark, a paste would accept every key that follows, for ever.
    #[test]
    fn a_paste_without_an_end_is_ended_from_outside() {
        let mut decoder = Decoder::default();
        assert!(!decoder.is_pasting());
        assert_eq!(decoder.push(b"\x1b[200~one\rtwo\x1b[20"), []);
        assert!(decoder.is_pasting());
        assert_eq!(decoder.push(b"\x03"), [], "a paste may have a Ctrl-C in it");
        assert_eq!(decoder.end_paste(), Some(Key::Paste("one\ntwo\x1b[20\x03".into())));
        assert_eq!(decoder.push(b"\x03a"), [Key::Ctrl('c'), Key::Char('a')]);
        decoder.push(PASTE_BEGINS);
        let kept = decoder.push(&vec![b'x'; PASTE_BYTES_MAX + 1]);
        assert!(matches!(kept[..], [Key::Paste(_)]) && decoder.is_pasting(), "its rest is passed over");
        assert_eq!(decoder.end_paste(), None);
        assert_eq!(decoder.push(b"a"), [Key::Char('a')]);
    }
}
