//! Pieces of an answer on their way to who follows the session. A key that is repeated piece by piece is no less
//! a key: what may be the beginning of one is held back until it is known to be none.

use super::{Delta, Deltas};
use rewake_egress::Scrubber;

/// Shows the pieces of one attempt.
pub(super) struct Shown<'a> {
    scrubber: &'a Scrubber,
    deltas: Deltas<'a>,
    is_thinking: bool,
    /// What has come and is not shown yet.
    held: String,
}

impl<'a> Shown<'a> {
    pub(super) fn new(scrubber: &'a Scrubber, deltas: Deltas<'a>) -> Shown<'a> {
        Shown { scrubber, deltas, is_thinking: false, held: String::new() }
    }

    /// Shows a piece, or holds it back.
    pub(super) async fn show(&mut self, delta: Delta) {
        let (is_thinking, text) = match delta {
            Delta::Text(text) => (false, text),
            Delta::Thinking(text) => (true, text),
            Delta::ToolUse(name) => {
                self.flush().await;
                self.deltas.show(Delta::ToolUse(self.scrubber.scrub_text(&name))).await;
                return;
            }
        };
        if is_thinking != self.is_thinking {
            self.flush().await;
            self.is_thinking = is_thinking;
        }
        self.held.push_str(&text);
        let mut settled = self.scrubber.settled(self.held.as_bytes());
        while !self.held.is_char_boundary(settled) {
            settled -= 1;
        }
        let rest = self.held.split_off(settled);
        self.flush().await;
        self.held = rest;
    }

    /// Shows what is held back: nothing follows it.
    pub(super) async fn flush(&mut self) {
        let text = self.scrubber.scrub_text(&std::mem::take(&mut self.held));
        if text.is_empty() {
            return;
        }
        self.deltas.show(if self.is_thinking { Delta::Thinking(text) } else { Delta::Text(text) }).await;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;

    use futures_util::future::BoxFuture;

    use super::*;
    use crate::DeltaSink;

    /// Keeps the pieces of attempt 0 of call 7.
    #[derive(Default)]
    pub(crate) struct Pieces(Mutex<Vec<Delta>>);

    impl Pieces {
        pub(crate) fn take(&self) -> Vec<Delta> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    impl DeltaSink for Pieces {
        fn show(&self, start: u64, attempt: u32, delta: Delta) -> BoxFuture<'_, ()> {
            assert_eq!((start, attempt), (7, 0), "{delta:?}");
            self.0.lock().unwrap().push(delta);
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn a_key_in_pieces_is_not_shown() {
        let mut scrubber = Scrubber::default();
        scrubber.learn("sk-canary-12s");
        let pieces = Pieces::default();
        let mut shown = Shown::new(&scrubber, Deltas { sink: &pieces, start: 7, attempt: 0 });
        // The second time it is whole at the end of a piece, and ends with what it could begin with.
        for piece in ["it is s", "k-can", "ary-12s", ", so sk-canary-12s", " it is"] {
            shown.show(Delta::Text(piece.into())).await;
        }
        shown.show(Delta::Thinking("%73k-c".into())).await;
        shown.show(Delta::ToolUse("read".into())).await;
        shown.flush().await;
        let told = pieces.take();
        let text: String =
            told.iter().map(|delta| if let Delta::Text(text) = delta { text.as_str() } else { "" }).collect();
        assert_eq!(text, "it is [secret], so [secret] it is");
        assert_eq!(told[0], Delta::Text("it is ".into()), "what cannot be a key is shown at once");
        assert_eq!(told[told.len() - 2..], [Delta::Thinking("%73k-c".into()), Delta::ToolUse("read".into())]);
    }
}
