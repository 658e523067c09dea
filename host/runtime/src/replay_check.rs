//! Checks of a journal that change nothing: whether its chain holds, and whether its steps, replayed, do
//! again what they are recorded to have done. Performs no effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use rewake_core::decide::StepOutcome;
use rewake_core::difference::Difference;
use rewake_core::entry::{Entry, Place};
use rewake_core::error::{Corrupt, Mismatch};
use rewake_core::fact::{Fact, StateRef, StepCompleted, StepStarted};
use rewake_core::ids::{Head, SessionId};
use rewake_core::session::Session;
use rewake_store::{Store, StoreError};
use serde_json::json;

use crate::budget::Budget;
use crate::context::SessionContext;
use crate::event::DriverHandle;
use crate::load::{Unreadable, fold_whole};
use crate::record::Recording;
use crate::step::{self, StepResult, StepRun};

/// What verifying a journal showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Entries that hold.
    pub entries: u64,
    /// The newest of them.
    pub head: Head,
    /// The first that does not, and why.
    pub broken: Option<Corrupt>,
    /// What is wrong with the saved state that the next step starts from.
    pub state: Option<String>,
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

/// Verifies chain, payloads and fold of a journal, and the saved state that its next step starts from.
///
/// # Errors
/// If the store cannot be read.
pub(crate) async fn verify(store: &dyn Store, id: &SessionId) -> Result<Verified, StoreError> {
    let mut session = Session::new(id.clone());
    let broken = match fold_whole(store, &mut session, |_| {}).await {
        Ok(_) => None,
        Err(Unreadable::Store(error)) => return Err(error),
        Err(Unreadable::Corrupt(broken)) => Some(broken),
    };
    let head = session.head;
    let state = match broken {
        None => state_fault(store, &session).await?,
        Some(_) => None,
    };
    Ok(Verified { entries: head.seq, head, broken, state })
}

/// What is wrong with the saved state that the next step starts from.
async fn state_fault(store: &dyn Store, session: &Session) -> Result<Option<String>, StoreError> {
    let Some(saved) = session.saved.filter(|_| session.ended.is_none()) else { return Ok(None) };
    match store.state(&session.id, &saved.digest).await {
        Ok(Some(_)) => Ok(None),
        // A host that runs it meanwhile has saved others.
        Ok(None) if store.head(&session.id).await? != Some(session.head) => Ok(None),
        Ok(None) => Ok(Some("the saved state that its next step starts from is not in this store".into())),
        Err(error @ StoreError::Corrupt { .. }) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// A step of the journal, and what it caused.
struct Recorded {
    place: Place,
    started: StepStarted,
    entries: Vec<Arc<Entry>>,
    monotonic_ns: u64,
}

/// Replays every completed step of a session from its entries, each from the state that the replay of the
/// one before it saved, and compares what it does, wants and saves.
pub(crate) async fn replay(cx: &Arc<SessionContext>, entries: Vec<Arc<Entry>>) -> Result<Replayed, String> {
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

fn fed(entries: &[Arc<Entry>]) -> u64 {
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
    let (driver, events) = DriverHandle::open();
    drop(events);
    let recording = Recording {
        place: recorded.place,
        seed: recorded.started.seed,
        entries: recorded.entries,
        tries: BTreeMap::new(),
        budget: Budget::default(),
        monotonic_ns: recorded.monotonic_ns,
        driver,
    };
    let state = state.map(|(state, bytes)| (state.version, bytes));
    let report = step::run(StepRun { cx: cx.clone(), input: recorded.started.input, state, recording }).await;
    let differs = |field: &str, expected: String, got: String| {
        Ok(Err(Mismatch { seq, expected, got, field: field.to_owned() }))
    };
    match report.end {
        StepResult::Mismatch(mismatch) => Ok(Err(mismatch)),
        StepResult::Host(why) => Err(why),
        StepResult::Dropped | StepResult::Waiting => {
            let got = format!("{} as call {}, which is not recorded", report.function, report.ordinal);
            differs("function", "the end of the step".into(), got)
        }
        StepResult::StateRefused(why) => differs("state", "the state that the step before saved".into(), why),
        StepResult::Outcome(StepOutcome::Broken { code, detail, .. }, _) => {
            differs("end", "a step that ended well".into(), format!("{code}: {detail}"))
        }
        StepResult::Outcome(StepOutcome::Completed { next, calls, .. }, saved) => {
            if let Some(more) = report.observed.first() {
                let got = format!("{} after call {}, which is not recorded", more.function(), report.ordinal);
                return differs("function", "the end of the step".into(), got);
            }
            let of_state = saved_otherwise(cx, completed.state, &saved).await?;
            let of_state = of_state.map(|difference| difference.within("state"));
            let of_next =
                || Difference::of(&json!(completed.next), &json!(next)).map(|found| found.within("next"));
            let of_calls =
                || Difference::of(&json!(completed.calls), &json!(calls)).map(|found| found.within("calls"));
            match of_next().or(of_state).or_else(of_calls) {
                Some(Difference { path, expected, got }) => differs(&path, expected, got),
                None => Ok(Ok(saved)),
            }
        }
    }
}

/// Where the state that a step saved differs from the one that it is recorded to have saved. The bytes of few states
/// are kept; of others only digests can be told.
async fn saved_otherwise(
    cx: &SessionContext,
    before: Option<StateRef>,
    now: &Option<(StateRef, Vec<u8>)>,
) -> Result<Option<Difference>, String> {
    let is = now.as_ref().map(|(state, _)| *state);
    if before == is {
        return Ok(None);
    }
    let whole = Difference::of(&json!(before), &json!(is));
    let (Some(before), Some((now, bytes))) = (before, now) else { return Ok(whole) };
    // What is kept of it may be damaged or gone: then only that they differ can be told.
    let kept = cx.store.state(&cx.id, &before.digest).await.ok().flatten();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let texts = kept.and_then(|kept| text(&kept.bytes)).zip(text(bytes));
    let inner = texts.filter(|_| before.version == now.version);
    Ok(inner
        .and_then(|(before, now)| Difference::of_json(&before, &now))
        .map(|found| found.within("data"))
        .or(whole))
}
