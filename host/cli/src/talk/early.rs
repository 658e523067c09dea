//! The terminal from the first moment on: it is taken before anything else is done, so that the system cuts no paste
//! to the length of a line, and what is typed until the conversation begins waits for it.

use std::time::{Duration, Instant};

use rewake_text::row;
use tokio::sync::mpsc;

use super::keys::{Decoder, Key, PASTE_BEGINS};
use super::tty::{self, Tty, Typed};
use crate::exit::Failure;
use crate::out::note;

/// Silence after which no paste began before the terminal was taken.
const SILENCE: Duration = Duration::from_millis(100);
/// Silence after which the rest of one does not come any more, however slow the line; keys that are pressed one by one
/// are known before that, by their bytes.
const LONG_SILENCE: Duration = Duration::from_secs(1);
const KEY_BYTES_MAX: usize = 16;
/// What is said of input that is dropped.
pub(super) const DROPPED: &str = "what was typed before the session was ready is not kept";

/// The terminal, before the conversation.
pub(crate) struct Early {
    pub(super) tty: Tty,
    pub(super) keyboard: Keyboard,
}

/// What is typed.
pub(super) struct Keyboard {
    input: mpsc::Receiver<Typed>,
    /// As long as the rest of a paste may come whose beginning, and with it the mark, is missing: when something came
    /// last. Each line of that rest would be sent as a message.
    unsettled: Option<Instant>,
    /// Something of one came.
    is_cut: bool,
    /// Something was dropped, which is not reported yet.
    pub(super) has_dropped: bool,
}

impl Early {
    /// Takes the terminal.
    pub(crate) fn take() -> Result<Early, Failure> {
        let tty = Tty::take()?;
        Ok(Early { tty, keyboard: Keyboard::new(tty::input(), Instant::now()) })
    }

    /// Puts a question, as [`crate::out::confirm`] does. What was typed before it is no answer to it.
    pub(crate) async fn confirm(&mut self, question: &str) -> Result<bool, Failure> {
        let writing = |error| Failure::io("asking at the terminal", error);
        while self.keyboard.input.try_recv().is_ok() {
            self.keyboard.has_dropped = true;
        }
        if std::mem::take(&mut self.keyboard.has_dropped) {
            note(DROPPED);
        }
        self.keyboard.unsettled = None;
        tty::write(format!("rewake: {} [y/N] ", row(question)).as_bytes()).map_err(writing)?;
        let (mut decoder, mut answer) = (Decoder::default(), String::new());
        while let Some(typed) = self.keyboard.next().await {
            for key in decoder.push(&typed.bytes) {
                match key {
                    Key::Char(c) => {
                        answer.push(c);
                        tty::write(row(c.encode_utf8(&mut [0; 4])).as_bytes()).map_err(writing)?;
                    }
                    Key::Backspace if answer.pop().is_some() => {
                        tty::write(b"\x08 \x08").map_err(writing)?;
                    }
                    Key::Enter | Key::Ctrl('d') => {
                        tty::write(b"\n").map_err(writing)?;
                        return Ok(matches!(answer.trim(), "y" | "Y" | "yes"));
                    }
                    _ => {}
                }
            }
        }
        Ok(false)
    }
}

impl Keyboard {
    fn new(input: mpsc::Receiver<Typed>, now: Instant) -> Keyboard {
        Keyboard { input, unsettled: Some(now), is_cut: false, has_dropped: false }
    }

    /// What is typed next; it has no bytes where they were dropped. None: the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<Typed> {
        let typed = self.input.recv().await?;
        Some(self.settle(typed))
    }

    /// Waits until keys that are typed next are kept: a user types as soon as a prompt is shown.
    pub(super) async fn ready(&self) {
        if let Some(last) = self.unsettled {
            tokio::time::sleep_until((last + SILENCE).into()).await;
        }
    }

    fn settle(&mut self, mut typed: Typed) -> Typed {
        let Some(last) = self.unsettled else { return typed };
        let marked = typed.bytes.windows(PASTE_BEGINS.len()).position(|bytes| bytes == PASTE_BEGINS);
        let silence = typed.at.saturating_duration_since(last);
        let is_key = !self.is_cut || typed.bytes.len() <= KEY_BYTES_MAX;
        let is_settled = silence >= LONG_SILENCE || (silence >= SILENCE && is_key);
        self.unsettled = (!is_settled && marked.is_none()).then_some(typed.at);
        let dropped = if is_settled { 0 } else { marked.unwrap_or(typed.bytes.len()) };
        self.is_cut |= dropped > 0;
        self.has_dropped |= dropped > 0;
        typed.bytes.drain(..dropped);
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyboard(at: Instant) -> Keyboard {
        let (_, input) = mpsc::channel(1);
        Keyboard::new(input, at)
    }

    /// N-A6: of a paste whose beginning may be lost nothing is kept; one that is marked is whole.
    #[test]
    fn what_may_be_the_rest_of_a_paste_is_dropped() {
        let start = Instant::now();
        let typed =
            |ms: u64, bytes: &[u8]| Typed { bytes: bytes.to_vec(), at: start + Duration::from_millis(ms) };
        let mut keys = keyboard(start);
        for (ms, bytes, kept) in [
            (5, &b"a line\rof a "[..], &b""[..]),
            (60, b"paste\r", b""),
            (150, b"more of it", b""),
            (900, b"and, after a while, its end\x1b[201~", b""),
            (1_000, b"typed\r", b"typed\r"),
            (1_001, b"and more than that\r", b"and more than that\r"),
        ] {
            assert_eq!(keys.settle(typed(ms, bytes)).bytes, kept, "{ms} ms");
        }
        assert!(keys.has_dropped);
        let mut keys = keyboard(start);
        assert_eq!(keys.settle(typed(5, b"\x1b[200~a paste")).bytes, b"\x1b[200~a paste");
        assert_eq!(keys.settle(typed(6, b"\r")).bytes, b"\r");
        assert!(!keys.has_dropped);
        let mut keys = keyboard(start);
        assert_eq!(keys.settle(typed(100, b"the first that comes")).bytes, b"the first that comes");
        let mut keys = keyboard(start);
        assert_eq!(keys.settle(typed(5, b"x\x1b[200~a")).bytes, b"\x1b[200~a");
        assert!(keys.has_dropped);
    }
}
