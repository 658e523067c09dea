//! What became of a command that was sent: the turn it belongs to and how that ended, as the entries tell.
//! Reads entries; waits for nothing and writes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rewake_core::entry::Entry;
use rewake_core::fact::Fact;

use crate::describe;
use crate::exit::Outcome;

/// What to look for, and what was seen.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The inbox row of the command that was sent; none: whatever is open.
    row: Option<u64>,
    /// The turn it belongs to.
    turn: Option<u32>,
    /// The open turn, 0 if there is none; for anyone who wants to interrupt it.
    open: Arc<AtomicU32>,
    /// How the turn ended.
    end: Option<Outcome>,
    /// It waits.
    waits: bool,
    /// The session has ended for good.
    session_ended: bool,
    /// Why the command had no effect.
    rejected: Option<String>,
    /// Questions that were shown.
    asked: BTreeSet<String>,
}

impl Watch {
    /// Looks for what becomes of a row, or of whatever is open.
    pub(crate) fn new(row: Option<u64>, open_turn: u32) -> Watch {
        Watch { row, open: Arc::new(AtomicU32::new(open_turn)), ..Watch::default() }
    }

    /// The open turn's number, 0 if there is none.
    pub(crate) fn open(&self) -> Arc<AtomicU32> {
        self.open.clone()
    }

    /// How the turn that is looked for ended, if it has.
    pub(crate) fn end(&self) -> Option<Outcome> {
        self.end
    }

    /// The row that was sent, if one was.
    pub(crate) fn row(&self) -> Option<u64> {
        self.row
    }

    /// Whether the turn that is looked for waits.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Something was answered: what was seen of waiting may be over.
    pub(crate) fn answered(&mut self) {
        self.waits = false;
    }

    /// Whether the session has ended for good.
    pub(crate) fn session_ended(&self) -> bool {
        self.session_ended
    }

    /// Why the command had no effect, if it had none.
    pub(crate) fn rejected(&self) -> Option<&str> {
        self.rejected.as_deref()
    }

    /// The row, if it was not accepted yet.
    pub(crate) fn untaken(&self) -> Option<u64> {
        self.row.filter(|_| self.turn.is_none() && self.rejected.is_none())
    }

    /// Whether a question was shown.
    pub(crate) fn was_asked(&self, question: &str) -> bool {
        self.asked.contains(question)
    }

    /// Takes an entry in.
    pub(crate) fn see(&mut self, entry: &Entry) {
        let turn = entry.place.turn;
        let end = match &entry.fact {
            Fact::TurnCompleted(_) => Some(Outcome::Done),
            Fact::TurnInterrupted(_) => Some(Outcome::Interrupted),
            Fact::TurnFailed(_) => Some(Outcome::TurnFailed),
            _ => None,
        };
        if let Some(end) = end {
            self.open.store(0, Ordering::Relaxed);
            self.waits = false;
            if self.row.is_none() || self.turn == Some(turn) {
                self.end = Some(end);
            }
            return;
        }
        if turn > 0 {
            self.open.store(turn, Ordering::Relaxed);
        }
        match &entry.fact {
            Fact::UserMessage(body) if Some(body.n) == self.row => self.turn = Some(turn),
            Fact::UserAnswer(body) => {
                self.waits = false;
                if Some(body.n) == self.row {
                    self.turn = Some(turn);
                }
            }
            Fact::CommandRejected(body) if Some(body.n) == self.row => {
                self.rejected = Some(body.why.clone());
            }
            Fact::CommandCanceled(body) if Some(body.target) == self.row => {
                self.rejected = Some(format!("{} took it back", describe::sender(&body.sender)));
            }
            // A message that no step of its turn took in opens the next one.
            Fact::TurnStarted(body) if self.row.is_some_and(|row| body.commands.contains(&row)) => {
                self.turn = Some(turn);
                self.end = None;
            }
            // A harness that lets messages in between two steps waits for nothing.
            Fact::TurnWaiting(body) => self.waits = self.turn == Some(turn) && !body.on.is_over(entry.at),
            Fact::StepStarted(_) | Fact::StepRerun(_) => self.waits = false,
            Fact::SessionStopped(_) | Fact::SessionFailed(_) => self.session_ended = true,
            Fact::QuestionAsked(body) => {
                self.asked.insert(body.question.id.clone());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rewake_core::entry::Place;
    use rewake_core::fact::{
        CommandRejected, Scope, SessionStopped, StepRerun, TurnCompleted, TurnFailed, TurnInterrupted,
        TurnStarted, TurnWaiting, UserMessage, WaitOn,
    };
    use rewake_core::ids::Timestamp;
    use rewake_core::money::Usd;
    use rewake_wire::{Sender, Usage};

    use super::*;
    use crate::stream::tests::entry;

    fn message(n: u64) -> UserMessage {
        UserMessage { n, sender: Sender::System, parts: vec![] }
    }

    fn see(watch: &mut Watch, turn: u32, fact: impl Into<Fact>) {
        watch.see(&entry(Place::turn(turn), fact));
    }

    #[test]
    fn only_the_end_of_the_own_turn_counts() {
        let mut watch = Watch::new(Some(2), 1);
        assert_eq!(watch.untaken(), Some(2));
        assert_eq!(watch.open().load(Ordering::Relaxed), 1);
        let failed = TurnFailed {
            scope: Scope::Turn,
            code: "x".into(),
            detail: "y".into(),
            usage: Usage::default(),
            cost: Usd::ZERO,
            pending: 0,
        };
        see(&mut watch, 1, failed);
        assert_eq!((watch.end(), watch.open().load(Ordering::Relaxed)), (None, 0));
        see(&mut watch, 2, message(2));
        see(&mut watch, 2, TurnStarted { commands: vec![2] });
        assert_eq!((watch.end(), watch.open().load(Ordering::Relaxed)), (None, 2));
        assert_eq!(watch.untaken(), None);
        see(&mut watch, 2, TurnCompleted { steps: 1, ..TurnCompleted::default() });
        assert_eq!(watch.end(), Some(Outcome::Done));
        see(&mut watch, 3, TurnInterrupted::default());
        assert_eq!(watch.end(), Some(Outcome::Done));
    }

    #[test]
    fn a_message_that_its_turn_did_not_take_is_followed_into_the_next() {
        let mut watch = Watch::new(Some(2), 1);
        see(&mut watch, 1, message(2));
        see(&mut watch, 1, TurnCompleted { steps: 1, ..TurnCompleted::default() });
        see(&mut watch, 2, TurnStarted { commands: vec![2] });
        assert_eq!(watch.end(), None);
        see(&mut watch, 2, TurnInterrupted::default());
        assert_eq!(watch.end(), Some(Outcome::Interrupted));
    }

    #[test]
    fn a_turn_that_waits_is_seen_until_it_goes_on() {
        let wait = || TurnWaiting { on: WaitOn::Time { until: None, on_message: true } };
        let mut watch = Watch::new(Some(2), 0);
        see(&mut watch, 1, wait());
        assert!(!watch.waits(), "another's turn");
        see(&mut watch, 2, message(2));
        let over = WaitOn::Time { until: Some(Timestamp(0)), on_message: true };
        see(&mut watch, 2, TurnWaiting { on: over });
        assert!(!watch.waits(), "it only lets messages in");
        see(&mut watch, 2, wait());
        assert!(watch.waits());
        watch.answered();
        assert!(!watch.waits());
        see(&mut watch, 2, wait());
        watch.see(&entry(Place::step(2, 2), StepRerun { again: 1 }));
        assert!(!watch.waits() && !watch.session_ended());
        see(&mut watch, 2, SessionStopped { reason: "enough".into() });
        assert!(watch.session_ended());
    }

    #[test]
    fn without_a_row_the_last_end_counts_and_rejections_are_kept() {
        let mut watch = Watch::new(None, 0);
        see(&mut watch, 4, TurnInterrupted::default());
        assert_eq!(watch.end(), Some(Outcome::Interrupted));
        let mut watch = Watch::new(Some(7), 0);
        see(&mut watch, 0, CommandRejected { n: 6, why: "other".into() });
        assert_eq!(watch.rejected(), None);
        see(&mut watch, 0, CommandRejected { n: 7, why: "late".into() });
        assert_eq!(watch.rejected(), Some("late"));
    }
}
