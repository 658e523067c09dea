//! Checks of a journal that change nothing: whether its chain holds, and whether its steps, replayed, do
//! again what they are recorded to have done. Performs no effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use rewake_core::decide::StepOutcome;
use rewake_core::entry::{Entry, Place};
use rewake_core::error::{Corrupt, Mismatch};
use rewake_core::fact::{Fact, StateRef, StepCompleted, StepStarted};
use rewake_core::ids::{Head, SessionId};
use rewake_core::session::Session;
use rewake_store::{Store, StoreError};

use crate::context::SessionContext;
use crate::event::Port;
use crate::load::{Unreadable, fold_on};
use crate::spending::Spending;
use crate::step::{self, Ended, StepRun};

/// What verifying a journal showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Entries that hold.
    pub entries: u64,
    /// The newest of them.
    pub head: Head,
    /// The first that does not, and why.
    pub broken: Option<Corrupt>,
}

/// What replaying a session's steps showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Steps that did the same again.
    pub steps: u32,
    /// Steps that did not end well and so have nothing to be compared with.
    pub skipped: u32,
    /// Recorded calls and observations that were fed back.
    pub fed: u64,
    /// The first difference.
    pub mismatch: Option<Mismatch>,
}

/// Verifies chain, payloads and fold of a journal.
///
/// # Errors
/// If the store cannot be read.
pub async fn verify(store: &dyn Store, id: &SessionId) -> Result<Verified, StoreError> {
    let mut session = Session::new(id.clone());
    match fold_on(store, &mut session, |_| {}).await {
        Ok(_) => {}
        Err(Unreadable::Store(error)) => return Err(error),
        Err(Unreadable::Corrupt(broken)) => {
            let head = session.head;
            return Ok(Verified { entries: head.seq, head, broken: Some(broken) });
        }
    }
    let head = session.head;
    let told = store.head(id).await?.unwrap_or_default();
    let broken = (told != head).then(|| {
        Corrupt::at(head.seq + 1, format!("the session's row says that {} entries were appended", told.seq))
    });
    Ok(Verified { entries: head.seq, head, broken })
}

/// A step of the journal, and what it caused.
struct Recorded {
    place: Place,
    started: StepStarted,
    entries: Vec<Entry>,
    monotonic_ns: u64,
}

/// Replays every completed step of a session from its entries, each from the state that the replay of the
/// one before it saved, and compares what it does, wants and saves.
pub(crate) async fn replay(cx: &Arc<SessionContext>, entries: Vec<Entry>) -> Result<Replayed, String> {
    let mut report = Replayed::default();
    let mut state: Option<(StateRef, Vec<u8>)> = None;
    let mut open: Option<Recorded> = None;
    let mut monotonic_ns = 0;
    for entry in entries {
        match &entry.fact {
            Fact::StepStarted(started) => {
                let started = started.clone();
                open = Some(Recorded { place: entry.place, started, entries: Vec::new(), monotonic_ns });
            }
            Fact::StepCompleted(completed) => {
                let Some(recorded) = open.take() else { continue };
                report.fed += fed(&recorded.entries);
                match one(cx, recorded, completed, state.take(), entry.seq).await? {
                    Ok(saved) => state = saved,
                    Err(mismatch) => {
                        report.mismatch = Some(mismatch);
                        return Ok(report);
                    }
                }
                report.steps += 1;
            }
            Fact::StepAborted(_) => {
                open = None;
                report.skipped += 1;
            }
            Fact::StepRerun(_) => {}
            fact => {
                if let Fact::StepObserved(observed) = fact {
                    monotonic_ns = observed.items.iter().fold(monotonic_ns, |max, item| match item {
                        rewake_core::fact::Observed::Monotonic(ns) => max.max(*ns),
                        _ => max,
                    });
                }
                if let Some(open) =
                    open.as_mut().filter(|open| entry.place.is_in_step(open.place.turn, open.place.step))
                {
                    open.entries.push(entry);
                }
            }
        }
    }
    Ok(report)
}

fn fed(entries: &[Entry]) -> u64 {
    let count = entries.iter().map(|entry| match &entry.fact {
        Fact::StepObserved(observed) => observed.items.len() as u64,
        Fact::LogLines(_) | Fact::CallRetried(_) => 0,
        _ => 1,
    });
    count.sum()
}

/// Replays one step; returns what it saved.
async fn one(
    cx: &Arc<SessionContext>,
    recorded: Recorded,
    completed: &StepCompleted,
    state: Option<(StateRef, Vec<u8>)>,
    seq: u64,
) -> Result<Result<Option<(StateRef, Vec<u8>)>, Mismatch>, String> {
    // Nobody listens: whatever is not recorded ends the step.
    let (port, events) = Port::open();
    drop(events);
    let run = StepRun {
        cx: cx.clone(),
        place: recorded.place,
        input: recorded.started.input,
        seed: recorded.started.seed,
        state: state.map(|(state, bytes)| (state.version, bytes)),
        entries: recorded.entries,
        tries: BTreeMap::new(),
        spending: Spending::default(),
        monotonic_ns: recorded.monotonic_ns,
        port,
    };
    let report = step::run(run).await;
    let differs = |field: &str, expected: String, got: String| {
        Ok(Err(Mismatch { seq, expected, got, field: field.to_owned() }))
    };
    match report.end {
        Ended::Mismatch(mismatch) => Ok(Err(mismatch)),
        Ended::Host(why) => Err(why),
        Ended::Dropped | Ended::Waiting => {
            differs("calls", "no further call".into(), "a call that is not recorded".into())
        }
        Ended::StateRefused(why) => differs("state", "the state that the step before saved".into(), why),
        Ended::Told(StepOutcome::Broken { code, detail, .. }, _) => {
            differs("end", "a step that ended well".into(), format!("{code}: {detail}"))
        }
        Ended::Told(StepOutcome::Completed { next, state, calls }, saved) => {
            if !report.observed.is_empty() {
                differs(
                    "observations",
                    "no further observation".into(),
                    format!("{} more", report.observed.len()),
                )
            } else if next != completed.next {
                differs("next", format!("{:?}", completed.next), format!("{next:?}"))
            } else if state != completed.state {
                differs("state", format!("{:?}", completed.state), format!("{state:?}"))
            } else if calls != completed.calls {
                differs("calls", counts(&completed.calls), counts(&calls))
            } else {
                Ok(Ok(saved))
            }
        }
    }
}

fn counts(calls: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = calls.iter().map(|(function, count)| format!("{function} × {count}")).collect();
    counts.join(", ")
}
