//! What is recorded of an interrupted step, handed out as the step asks for it again (journal.md R6):
//! by position and by content. Performs nothing and appends nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::entry::Entry;
use crate::error::Mismatch;
use crate::fact::{Fact, Observed, QuestionAsked, UserAnswer};
use crate::money::Usd;

/// The recorded part of a step.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    observed: VecDeque<(u64, u32, Observed)>,
    calls: BTreeMap<u32, Recorded>,
    /// The entry of the observation that was claimed last.
    claimed: u64,
}

/// What is recorded of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    entries: Vec<Arc<Entry>>,
}

/// How far a call got before its host died or unloaded the session.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// It was not started.
    Fresh,
    /// It has this start and no end: it may have been performed.
    Open(&'a Arc<Entry>),
    /// It has this end.
    Ended(&'a Arc<Entry>),
}

impl Replay {
    /// From the entries that the open step caused.
    pub fn new(entries: &[Arc<Entry>]) -> Self {
        let mut replay = Replay::default();
        for entry in entries {
            match &entry.fact {
                Fact::StepObserved(body) => {
                    let items = body.items.iter().cloned();
                    replay.observed.extend(items.map(|item| (entry.seq, entry.place.ordinal, item)));
                }
                Fact::LogLines(_) => {}
                _ => replay.calls.entry(entry.place.ordinal).or_default().entries.push(Arc::clone(entry)),
            }
        }
        replay
    }

    /// Whether everything recorded has been claimed: what is asked from now on is live.
    pub fn is_over(&self) -> bool {
        self.observed.is_empty() && self.calls.is_empty()
    }

    /// The entry of the observation that was claimed last; 0 before the first.
    pub fn claimed_seq(&self) -> u64 {
        self.claimed
    }

    /// The next recorded observation after call `ordinal`; none: observe live.
    ///
    /// # Errors
    /// If what is recorded next is something else.
    pub fn observe(&mut self, ordinal: u32, function: &str) -> Result<Option<Observed>, Mismatch> {
        match self.observed.front() {
            Some((_, at, item)) if *at == ordinal && item.function() == function => {
                let claimed = self.observed.pop_front();
                Ok(claimed.map(|(seq, _, item)| {
                    self.claimed = seq;
                    item
                }))
            }
            Some((seq, at, item)) => Err(Mismatch {
                seq: *seq,
                expected: format!("{} after call {at}", item.function()),
                got: format!("{function} after call {ordinal}"),
                field: if *at == ordinal { "function".into() } else { "position".into() },
            }),
            None => match self.calls.iter().find(|(at, _)| **at > ordinal) {
                Some((at, recorded)) => Err(Mismatch {
                    seq: recorded.seq(),
                    expected: format!("{} as call {at}", recorded.function()),
                    got: format!("{function} after call {ordinal}"),
                    field: "function".into(),
                }),
                None => Ok(None),
            },
        }
    }

    /// What is recorded of call `ordinal`, if `function` is what was called; none: the call is live.
    ///
    /// # Errors
    /// If something else is recorded there, or something is recorded after it and nothing here.
    pub fn call(&mut self, ordinal: u32, function: &str) -> Result<Option<Recorded>, Mismatch> {
        let got = || format!("{function} as call {ordinal}");
        if let Some((seq, at, item)) = self.observed.front()
            && *at < ordinal
        {
            let expected = format!("{} after call {at}", item.function());
            return Err(Mismatch { seq: *seq, expected, got: got(), field: "function".into() });
        }
        match self.calls.remove(&ordinal) {
            Some(recorded) if recorded.function() == function => Ok(Some(recorded)),
            Some(recorded) => {
                let expected = format!("{} as call {ordinal}", recorded.function());
                Err(Mismatch { seq: recorded.seq(), expected, got: got(), field: "function".into() })
            }
            None => match self.calls.first_key_value() {
                Some((at, recorded)) => {
                    let expected = format!("{} as call {at}", recorded.function());
                    Err(Mismatch { seq: recorded.seq(), expected, got: got(), field: "position".into() })
                }
                None => Ok(None),
            },
        }
    }

    /// Whether all that is recorded was claimed, as it must be at the end of the step (R6).
    ///
    /// # Errors
    /// If something is.
    pub fn unclaimed(&self) -> Result<(), Mismatch> {
        let left = match (self.observed.front(), self.calls.first_key_value()) {
            (Some((seq, at, item)), _) => Some((*seq, format!("{} after call {at}", item.function()))),
            (None, Some((at, recorded))) => {
                Some((recorded.seq(), format!("{} as call {at}", recorded.function())))
            }
            (None, None) => None,
        };
        match left {
            None => Ok(()),
            Some((seq, expected)) => {
                Err(Mismatch { seq, expected, got: "the end of the step".into(), field: "function".into() })
            }
        }
    }
}

impl Recorded {
    /// The seq of its first entry.
    pub fn seq(&self) -> u64 {
        self.entries.first().map_or(0, |entry| entry.seq)
    }

    /// Its first entry.
    pub fn first(&self) -> Option<&Arc<Entry>> {
        self.entries.first()
    }

    /// The function whose call it records.
    pub fn function(&self) -> &'static str {
        match self.entries.first().map(|entry| &entry.fact) {
            Some(Fact::ModelStarted(_)) => "model.complete",
            Some(Fact::ToolsRequested(_)) => "tools.call",
            // Hooks judge a request before it has an entry of its own; a call of tools has one before.
            Some(Fact::HttpStarted(_) | Fact::HttpCompleted(_) | Fact::HookStarted(_)) => "http.fetch",
            Some(Fact::AgentMessage(_)) => "session.say",
            Some(Fact::AgentTitle(_)) => "session.set-title",
            Some(Fact::Custom(_)) => "session.emit",
            _ => "an unknown call",
        }
    }

    /// How far the use at `index` got, or a call that has no uses (index 0); or the hook that judges it.
    pub fn progress(&self, index: u32, hook: Option<u32>) -> Progress<'_> {
        let (start, end) = match hook {
            None => (self.started(index), self.ended(index)),
            Some(hook) => (self.asked(index, hook), self.judged(index, hook)),
        };
        match (start, end) {
            (_, Some(end)) => Progress::Ended(end),
            (Some(start), None) => Progress::Open(start),
            (None, None) => Progress::Fresh,
        }
    }

    /// The start of the use at `index`, or of a call that is none of many.
    pub fn started(&self, index: u32) -> Option<&Arc<Entry>> {
        self.at(index).find(|entry| {
            matches!(entry.fact, Fact::ToolStarted(_) | Fact::ModelStarted(_) | Fact::HttpStarted(_))
        })
    }

    /// The end of the use at `index`, or of a call that is none of many.
    pub fn ended(&self, index: u32) -> Option<&Arc<Entry>> {
        self.at(index).find(|entry| ends_call(&entry.fact) && !matches!(entry.fact, Fact::HookVerdict(_)))
    }

    /// The most that the newest attempt of a call to a model can cost.
    pub fn reserved(&self) -> Usd {
        let reserved = self.entries.iter().rev().find_map(|entry| match &entry.fact {
            Fact::ModelStarted(body) => Some(body.reserved),
            Fact::CallRetried(body) => Some(body.reserved),
            _ => None,
        });
        reserved.unwrap_or_default()
    }

    /// The start of a hook on the use at `index`.
    pub fn asked(&self, index: u32, hook: u32) -> Option<&Arc<Entry>> {
        self.at(index).find(|entry| matches!(&entry.fact, Fact::HookStarted(body) if body.hook == hook))
    }

    /// The hooks that were asked about the use at `index`.
    pub fn judges(&self, index: u32) -> impl Iterator<Item = u32> {
        self.at(index).filter_map(|entry| match &entry.fact {
            Fact::HookStarted(body) => Some(body.hook),
            _ => None,
        })
    }

    /// A hook's verdict on the use at `index`.
    pub fn judged(&self, index: u32, hook: u32) -> Option<&Arc<Entry>> {
        self.at(index).find(|entry| matches!(&entry.fact, Fact::HookVerdict(body) if body.hook == hook))
    }

    /// The question to people about the use at `index`.
    pub fn question(&self, index: u32) -> Option<&QuestionAsked> {
        self.at(index).find_map(|entry| match &entry.fact {
            Fact::QuestionAsked(body) => Some(body),
            _ => None,
        })
    }

    /// The answer to a question about the use at `index`: they are joined by the question's id (R2).
    pub fn answer(&self, index: u32, question: &str) -> Option<&UserAnswer> {
        self.at(index).find_map(|entry| match &entry.fact {
            Fact::UserAnswer(body) if body.question == question => Some(body),
            _ => None,
        })
    }

    /// Whether nothing is recorded: the call is live.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn at(&self, index: u32) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(move |entry| entry.place.index == index)
    }
}

/// Whether a fact is the end of a call: nothing of it is performed after it. Some calls have no start; recording
/// them is all there is to do.
pub fn ends_call(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::ToolCompleted(_)
            | Fact::ToolLost(_)
            | Fact::ModelCompleted(_)
            | Fact::ModelLost(_)
            | Fact::HttpCompleted(_)
            | Fact::HttpLost(_)
            | Fact::HookVerdict(_)
            | Fact::AgentMessage(_)
            | Fact::AgentTitle(_)
            | Fact::Custom(_)
    )
}
