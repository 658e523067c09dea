//! One way in which bytes are corrupted: as bits rot, as lines are lost, and as somebody would who means harm.

use proptest::prelude::*;
use proptest::sample::Index;

/// What is odd nearly everywhere.
pub(crate) const WORDS: &[&[u8]] = &[
    b"",
    b"0",
    b"-1",
    b"1",
    b"2147483648",
    b"4294967296",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e999",
    b"-0.0",
    b"0.1",
    b"NaN",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\"",
    b"'",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b",",
    b":",
    b"=",
    b".",
    b"/",
    b"../",
    b"\x1b[2J",
    b"\x1b]0;x\x07",
    b"\x7f",
    b"\xc2\x9b2J",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xae",
    b"\xe2\x80\xa8",
    b"\xd8\x9c",
    b"\xef\xbb\xbf",
    b"\xcc\x81",
    b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",
    b"AAAAAAAAAAAAAAAA",
];
/// What opens something, so that many of it lie deep.
const OPENERS: &[&[u8]] =
    &[b"[", b"{\"a\":", b"(", b"<b>", b"a.", b"[[a]]\n", b"{a={", b"**", b"`", b"> ", b"- ", b"../"];
/// Times that something is said again.
const TIMES: &[u16] = &[1, 2, 3, 16, 129, 1_000, 20_000];

/// An edit; places and words are found in whatever it is applied to.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    how: How,
    at: Index,
    other: Index,
    from: Index,
    length: u16,
    times: u16,
    byte: u8,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Byte,
    Insert,
    ReplaceWord,
    ReplaceNumber,
    DropWord,
    Delete,
    Cut,
    Repeat,
    Splice,
    DropLine,
    RepeatLine,
    MoveLine,
    Deepen,
}

/// Edits that leave lines whole.
pub(crate) fn of_lines() -> impl Strategy<Value = Edit> {
    let how = proptest::sample::select(vec![How::DropLine, How::RepeatLine, How::MoveLine]);
    (how, any::<Edit>()).prop_map(|(how, edit)| Edit { how, times: 1, ..edit })
}

impl Arbitrary for Edit {
    type Parameters = ();
    type Strategy = BoxedStrategy<Edit>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        let how = prop_oneof![
            2 => Just(How::Byte),
            3 => Just(How::Insert),
            4 => Just(How::ReplaceWord),
            2 => Just(How::ReplaceNumber),
            1 => Just(How::DropWord),
            2 => Just(How::Delete),
            1 => Just(How::Cut),
            1 => Just(How::Repeat),
            2 => Just(How::Splice),
            2 => Just(How::DropLine),
            2 => Just(How::RepeatLine),
            2 => Just(How::MoveLine),
            1 => Just(How::Deepen),
        ];
        let places = (any::<Index>(), any::<Index>(), any::<Index>());
        (how, places, 1..64_u16, proptest::sample::select(TIMES), any::<u8>())
            .prop_map(|(how, (at, other, from), length, times, byte)| Edit {
                how,
                at,
                other,
                from,
                length,
                times,
                byte,
            })
            .boxed()
    }
}

impl Edit {
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[Vec<u8>]) {
        let at = self.at.index(bytes.len() + 1);
        let end = (at + usize::from(self.length)).min(bytes.len());
        let word = self.other.get(words);
        match self.how {
            How::Byte => match bytes.get_mut(at) {
                Some(byte) if self.length.is_multiple_of(2) => *byte ^= 1 << (self.byte % 8),
                Some(byte) => *byte = self.byte,
                None => bytes.push(self.byte),
            },
            How::Insert => replace(bytes, at..at, word),
            How::ReplaceWord => replace(bytes, run(bytes, at, is_of_word), word),
            How::ReplaceNumber => {
                if let Some(near) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    replace(bytes, run(bytes, at + near, |byte| byte.is_ascii_digit()), word);
                }
            }
            How::DropWord => replace(bytes, run(bytes, at, is_of_word), b""),
            How::Delete => replace(bytes, at..end, b""),
            How::Cut => bytes.truncate(at),
            How::Repeat => {
                let piece = bytes[at..end].to_vec();
                replace(bytes, at..at, &self.repeated(&piece));
            }
            How::Splice => {
                let from = self.other.get(inputs);
                let start = self.from.index(from.len() + 1);
                let piece = &from[start..(start + 4 * usize::from(self.length)).min(from.len())];
                replace(bytes, at..at, piece);
            }
            How::DropLine => replace(bytes, line(bytes, at), b""),
            How::RepeatLine => {
                let line = line(bytes, at);
                let piece = bytes[line.clone()].to_vec();
                replace(bytes, line.start..line.start, &self.repeated(&piece));
            }
            How::MoveLine => {
                let taken = line(bytes, at);
                let piece = bytes[taken.clone()].to_vec();
                replace(bytes, taken, b"");
                let to = line(bytes, self.other.index(bytes.len() + 1)).start;
                replace(bytes, to..to, &piece);
            }
            How::Deepen => replace(bytes, at..at, &self.repeated(self.other.get::<&[u8]>(OPENERS))),
        }
    }

    fn repeated(&self, piece: &[u8]) -> Vec<u8> {
        let room = super::INPUT_BYTES_MAX / piece.len().max(1);
        piece.repeat(usize::from(self.times).min(room))
    }
}

fn replace(bytes: &mut Vec<u8>, range: std::ops::Range<usize>, with: &[u8]) {
    bytes.splice(range, with.iter().copied());
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:@#".contains(&byte)
}

/// The run of such bytes around a place.
fn run(bytes: &[u8], at: usize, is_of: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let before = bytes[..at].iter().rev().take_while(|byte| is_of(**byte)).count();
    let after = bytes[at..].iter().take_while(|byte| is_of(**byte)).count();
    at - before..at + after
}

/// The line around a place, with its end.
fn line(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |near| at + near + 1);
    start..end
}
