//! The people of a seed: what they send next, what they send at a bad moment, and what they were told. They know
//! what everybody can read in the journal, and nothing of hosts.

use std::collections::{BTreeMap, VecDeque};

use rewake_core::command::{Command, Row};
use rewake_core::entry::Entry;
use rewake_core::fact::{Asker, Decision, Fact, WaitOn};
use rewake_tests::chooser::Chooser;
use rewake_tests::world::ann;
use rewake_wire::{Part, Sender};

use crate::plan::{self, Talk};

/// What everybody can read in the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) turn: Option<u32>,
    turns: u32,
    /// Open questions, and whether only an operator may answer.
    questions: BTreeMap<String, bool>,
    waiting: Option<WaitOn>,
    /// A message has come that ends the wait, unless a hook refuses it.
    is_steered: bool,
    pub(crate) has_ended: bool,
}

impl View {
    /// Accepts an entry that was appended.
    pub(crate) fn read(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::TurnStarted(_) => {
                self.turn = Some(entry.place.turn);
                self.turns = entry.place.turn;
            }
            fact if fact.is_turn_end() => {
                (self.turn, self.waiting, self.is_steered) = (None, None, false);
            }
            Fact::TurnWaiting(body) => self.waiting = Some(body.on.clone()),
            Fact::TurnSteered(_) => self.is_steered = true,
            // The message that would have ended the wait was refused.
            Fact::HookVerdict(body) if body.decision == Decision::Block => self.is_steered = false,
            Fact::StepStarted(_) => (self.waiting, self.is_steered) = (None, false),
            Fact::QuestionAsked(body) => {
                self.questions.insert(body.question.id.clone(), body.by != Asker::Harness);
            }
            Fact::QuestionWithdrawn(body) => drop(self.questions.remove(&body.id)),
            Fact::UserAnswer(body) => drop(self.questions.remove(&body.question)),
            Fact::SessionStopped(_) | Fact::SessionFailed(_) => self.has_ended = true,
            _ => {}
        }
    }
}

/// One thing that was sent, perhaps several times.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) key: String,
    pub(crate) sender: Sender,
    pub(crate) command: Command,
    /// The row's number, once somebody was told it.
    pub(crate) acked: Option<u64>,
    /// The session had ended, or it is about a message that does not wait, and it was refused.
    pub(crate) refused: bool,
}

/// What somebody does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends what stands at this place of [`Crowd::sent`].
    Send(usize),
    /// Sends something else with a key that was used: it must be refused.
    Reuse(usize),
}

/// In which way something reaches a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By its host, which looks at once, whatever it is doing.
    AtOnce,
    /// By its host, when all else waits: a tool, a hook or a model then runs, or nothing does.
    WhenQuiet,
    /// By another process: the host finds it when it looks by itself.
    Past,
}

/// What is left to be done when nothing is being done.
#[derive(Clone, Debug)]
pub(crate) enum Idle {
    Do(Act),
    /// Something will come by itself.
    Wait,
    Settled,
}

/// All people of a session.
#[derive(Debug)]
pub(crate) struct Crowd {
    chooser: Chooser,
    people: plan::People,
    script: VecDeque<String>,
    /// What they still do at bad moments.
    wild_left: u64,
    pub(crate) sent: Vec<Sent>,
}

impl Crowd {
    pub(crate) fn new(mut chooser: Chooser, talk: &Talk) -> Self {
        let wild_left = if talk.people == plan::People::Wild { chooser.below(12) } else { 0 };
        let script = talk.messages.iter().cloned().collect();
        Crowd { chooser, people: talk.people, script, wild_left, sent: Vec::new() }
    }

    /// Something is done at this very moment, or not.
    pub(crate) fn interfere(&mut self, view: &View, odds: u64) -> Option<Act> {
        let is_wild = self.people == plan::People::Wild && self.wild_left > 0;
        (is_wild && self.chooser.one_in(odds)).then(|| {
            self.wild_left -= 1;
            self.wild(view)
        })
    }

    /// How what is done at a bad moment is done.
    pub(crate) fn way(&mut self) -> Way {
        *self.chooser.pick(&[Way::AtOnce, Way::WhenQuiet, Way::Past])
    }

    fn wild(&mut self, view: &View) -> Act {
        if self.chooser.one_in(4)
            && let Some(act) = self.change(view)
        {
            return act;
        }
        let question = {
            let open: Vec<&String> = view.questions.keys().collect();
            if open.is_empty() { "never".to_owned() } else { (*self.chooser.pick(&open)).clone() }
        };
        let turn = view.turn.unwrap_or(view.turns);
        match self.chooser.below(20) {
            0..=4 => match self.script.pop_front() {
                Some(text) => self.message(ann(), text),
                None => self.extra(),
            },
            5 | 6 => self.extra(),
            7..=9 if !self.sent.is_empty() => Act::Send(self.any_sent()),
            10 => {
                let at = self.any_sent();
                let is_acked = self.sent.get(at).is_some_and(|sent| sent.acked.is_some());
                if is_acked { Act::Reuse(at) } else { self.extra() }
            }
            11 | 12 => self.send(ann(), Command::Answer { question, value: "\"allow\"".into() }),
            13 => self.send(Sender::System, Command::Answer { question, value: "\"allow\"".into() }),
            14 => self.send(ann(), Command::Answer { question: "never".into(), value: "1".into() }),
            15 => self.send(ann(), Command::Interrupt { turn: turn.saturating_sub(1) }),
            16 => self.send(ann(), Command::Interrupt { turn: turn + 1 }),
            17 if self.chooser.one_in(4) => self.send(ann(), Command::Stop { reason: "enough".into() }),
            _ => self.send(ann(), Command::Interrupt { turn }),
        }
    }

    /// Somebody edits, cancels or promotes one of the last messages, whether it still waits or not.
    fn change(&mut self, view: &View) -> Option<Act> {
        let is_message = |sent: &&Sent| matches!(sent.command, Command::Message { .. });
        let rows = self.sent.iter().filter(is_message).filter_map(|sent| sent.acked);
        let last: Vec<u64> = rows.rev().take(3).collect();
        let target = if last.is_empty() { return None } else { *self.chooser.pick(&last) };
        let sender = if self.chooser.one_in(6) { Sender::Trigger("daily".into()) } else { ann() };
        let command = match self.chooser.below(7) {
            0 | 1 => Command::Cancel { target },
            2 => Command::Promote { target, turn: view.turn },
            3 => Command::Promote { target, turn: view.turns.checked_sub(1) },
            _ => {
                let text = format!(r#"[{{"op":"say","text":"edited {}"}}]"#, self.sent.len());
                Command::Edit { target, parts: vec![Part::text(text)] }
            }
        };
        Some(self.send(sender, command))
    }

    fn any_sent(&mut self) -> usize {
        usize::try_from(self.chooser.below(self.sent.len() as u64)).unwrap_or(0)
    }

    fn extra(&mut self) -> Act {
        let text = if self.chooser.one_in(5) {
            "no list of operations".to_owned()
        } else {
            format!(r#"[{{"op":"say","text":"extra {}"}}]"#, self.sent.len())
        };
        let sender = if self.chooser.one_in(3) { Sender::Trigger("daily".into()) } else { ann() };
        self.message(sender, text)
    }

    fn message(&mut self, sender: Sender, text: String) -> Act {
        self.send(sender, Command::Message { parts: vec![Part::text(text)] })
    }

    fn send(&mut self, sender: Sender, command: Command) -> Act {
        let key = format!("key-{}", self.sent.len());
        self.sent.push(Sent { key, sender, command, acked: None, refused: false });
        Act::Send(self.sent.len() - 1)
    }

    /// Nothing is being done: what somebody does about it.
    pub(crate) fn idle(&mut self, view: &View, pending: &[Row]) -> Idle {
        if let Some(at) = self.sent.iter().position(|sent| sent.acked.is_none() && !sent.refused) {
            return Idle::Do(Act::Send(at));
        }
        if view.has_ended {
            return Idle::Wait;
        }
        if let Some(act) = self.interfere(view, 3) {
            return Idle::Do(act);
        }
        let is_answered = |id: &str| {
            pending
                .iter()
                .any(|row| matches!(&row.command, Command::Answer { question, .. } if question == id))
        };
        if let Some((question, _)) = view.questions.first_key_value() {
            if is_answered(question) {
                return Idle::Wait;
            }
            let sum: u32 = question.bytes().map(u32::from).sum();
            let value = if sum.is_multiple_of(3) { "\"deny\"" } else { "\"allow\"" };
            let command = Command::Answer { question: question.clone(), value: value.into() };
            return Idle::Do(self.send(ann(), command));
        }
        let has_messages = pending.iter().any(|row| matches!(row.command, Command::Message { .. }));
        match (view.turn, &view.waiting) {
            (Some(_), Some(WaitOn::Time { until: None, on_message: true }))
                if !has_messages && !view.is_steered =>
            {
                Idle::Do(self.message(ann(), "wake up".into()))
            }
            (Some(_), _) => Idle::Wait,
            (None, _) if !pending.is_empty() => Idle::Wait,
            (None, _) => match self.script.pop_front() {
                Some(text) => Idle::Do(self.message(ann(), text)),
                None => Idle::Settled,
            },
        }
    }
}
