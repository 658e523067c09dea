//! What runs on a session's behalf: a step, or hooks that fire. How it is begun, heard and dropped; what comes of
//! what it says is decided elsewhere.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use rewake_core::entry::Place;
use rewake_core::fact::Fact;
use rewake_core::firing::Firing;
use rewake_core::ids::Digest;
use rewake_store::StoreError;
use tokio::sync::mpsc;
use tracing::debug;

use super::fault::fault;
use super::{Driver, Fatal, Phase};
use crate::budget::Budget;
use crate::event::{DriverHandle, Event, Unrecorded};
use crate::hooks::{self, HookPayload};
use crate::record::Recording;
use crate::step::{self, StepReport, StepRun};

/// What runs on the session's behalf.
pub(super) struct Running {
    work: Pin<Box<dyn Future<Output = Finished> + Send>>,
    events: mpsc::Receiver<Event>,
    /// How it ended, while something that it said before is still to be heard.
    finished: Option<Finished>,
}

impl Running {
    fn new(work: impl Future<Output = Finished> + Send + 'static, events: mpsc::Receiver<Event>) -> Self {
        Running { work: Box::pin(work), events, finished: None }
    }
}

pub(super) enum Finished {
    Step(Box<StepReport>),
    Fired(Result<(), Unrecorded>),
}

/// What comes of what runs.
pub(super) enum Happened {
    Event(Event),
    Finished(Finished),
}

impl Driver {
    pub(super) async fn run_step(&mut self) -> Result<(), Fatal> {
        if !self.may_ride() {
            let begins = self.ledger.staged().any(|fact| matches!(fact, Fact::StepStarted(_)));
            self.ledger.flush(None).await?;
            self.has_begun |= begins;
        }
        self.keeper.ensure().await?;
        let session = &self.ledger.session;
        let Some((turn, step)) = session.open_step() else {
            return Err(Fatal::Host("there is no open step to run".into()));
        };
        let place = Place::step(turn, step.number);
        let (fixed, entries, seq) = (step.fixed.clone(), step.entries.clone(), step.started_seq);
        let state = match fixed.state {
            Some(state) => Some((state.version, self.state_bytes(state.digest, seq).await?)),
            None => None,
        };
        let (driver, events) = DriverHandle::open();
        let recording = Recording {
            place,
            seed: fixed.seed,
            entries,
            tries: self.ledger.session.calls.iter().map(|(seq, call)| (*seq, call.next_try())).collect(),
            budget: Budget::of(&self.ledger.session),
            monotonic_ns: self.ledger.session.monotonic_ns(self.cx.store.now()),
            driver,
        };
        let run = StepRun { cx: self.cx.clone(), input: fixed.input, state, recording };
        let work = async move { Finished::Step(Box::new(step::run(run).await)) };
        self.phase = Phase::Running(Running::new(work, events));
        Ok(())
    }

    /// Whether the open step's start may be written with what the step first records (journal.md R2, ADR 15). What kills
    /// its host must be seen at the next load: so the first start after a load is written before its step runs, and so is
    /// a re-run, and one start at most is not. Anyone who sent a message may change it until it is on the disk: no guest is
    /// told of it before.
    fn may_ride(&self) -> bool {
        let is_before = |fact: &Fact| matches!(fact, Fact::StepRerun(_) | Fact::UserMessage(_));
        let starts = self.ledger.staged().filter(|fact| matches!(fact, Fact::StepStarted(_)));
        self.has_begun && starts.count() == 1 && !self.ledger.staged().any(is_before)
    }

    pub(super) async fn fire(&mut self, firings: Vec<Firing>) -> Result<(), Fatal> {
        self.ledger.flush(None).await?;
        self.keeper.ensure().await?;
        let (driver, events) = DriverHandle::open();
        let cx = self.cx.clone();
        let turn = self.ledger.session.turn.as_ref().map(|turn| turn.number);
        let session = &self.ledger.session;
        let firings = firings.into_iter().map(|firing| (firing, HookPayload::of(session, &firing))).collect();
        let work = async move { Finished::Fired(hooks::fire(cx, driver, turn, firings).await) };
        self.phase = Phase::Running(Running::new(work, events));
        Ok(())
    }

    async fn state_bytes(&mut self, digest: Digest, seq: u64) -> Result<Vec<u8>, Fatal> {
        if let Some(state) = self.state.as_ref().filter(|state| state.digest == digest) {
            return Ok(state.bytes.clone());
        }
        match self.cx.store.state(&self.cx.id, &digest).await {
            Ok(Some(state)) if Digest::of(&state.bytes) == digest => Ok(state.bytes),
            Ok(_) => Err(fault(
                "state_lost",
                seq,
                "the saved state that the open step starts from is not in this store; take it from a copy of the \
                 data folder",
            )),
            Err(StoreError::Corrupt { what, why }) => Err(fault(
                "state_damaged",
                seq,
                &format!("{what}: {why}; take it from a copy of the data folder"),
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Drops the guest. Its queued starts are withdrawn; an outcome that is in memory already is kept.
    pub(super) async fn drop_guest(&mut self) -> Result<(), Fatal> {
        if !self.is_running() {
            return Ok(());
        }
        let running = std::mem::replace(&mut self.phase, Phase::Resting(None));
        let Phase::Running(Running { work, mut events, .. }) = running else { return Ok(()) };
        drop(work);
        self.cx.quiesce().await;
        events.close();
        while let Ok(event) = events.try_recv() {
            let Event::Record { drafts, blobs, durable: false, .. } = event else { continue };
            let before = self.ledger.session.head;
            for draft in drafts {
                match self.record(draft) {
                    Ok(_) => {}
                    Err(Fatal::Refused(refusal)) => debug!(%refusal, "an end of a call came too late"),
                    Err(fatal) => return Err(fatal),
                }
            }
            // What names them may all have been refused.
            if self.ledger.session.head != before {
                self.ledger.keep(blobs);
            }
        }
        Ok(())
    }

    pub(super) async fn finished(&mut self, finished: Finished) -> Result<(), Fatal> {
        self.phase = Phase::Resting(None);
        match finished {
            Finished::Fired(Ok(())) => Ok(()),
            Finished::Fired(Err(Unrecorded::Refused(refusal))) => Err(refusal.into()),
            Finished::Fired(Err(Unrecorded::Dropped)) => Err(Fatal::Host("a hook's task died".into())),
            Finished::Step(report) => self.step_ended(*report).await,
        }
    }
}

/// What comes next of what runs: everything it has to say before its end. What it says while it is polled is
/// heard in the same poll: going back to the scheduler for it would wake another thread each time.
pub(super) async fn happens(phase: &mut Phase) -> Happened {
    let Phase::Running(Running { work, events, finished }) = phase else { return pending().await };
    poll_fn(|cx| {
        if let Poll::Ready(Some(event)) = events.poll_recv(cx) {
            return Poll::Ready(Happened::Event(event));
        }
        if finished.is_none()
            && let Poll::Ready(end) = work.as_mut().poll(cx)
        {
            *finished = Some(end);
        }
        if let Poll::Ready(Some(event)) = events.poll_recv(cx) {
            return Poll::Ready(Happened::Event(event));
        }
        finished.take().map_or(Poll::Pending, |end| Poll::Ready(Happened::Finished(end)))
    })
    .await
}
