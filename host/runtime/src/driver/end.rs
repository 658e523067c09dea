//! The end of a step, as the driver takes it in: what it comes to, the state it saved, and snapshots.

use rewake_core::decide::{Input, StepEnd, StepOutcome};
use rewake_core::entry::{Draft, Place};
use rewake_core::error::Refusal;
use rewake_core::fact::{Ending, Fact, LogLines, Scope, SnapshotTaken, StateRef};
use rewake_store::{SavedState, Snapshot};
use tracing::warn;

use super::fault::fault;
use super::{Driver, Fatal};
use crate::HOST_VERSION;
use crate::load::{self, SNAPSHOT_VERSION};
use crate::step::{StepReport, StepResult};

impl Driver {
    pub(super) async fn step_ended(&mut self, report: StepReport) -> Result<(), Fatal> {
        let StepReport { end, ordinal, observed, logs, .. } = report;
        match end {
            StepResult::Outcome(outcome, saved) => {
                let end = StepEnd { outcome, ordinal, observed, logs, rows: Vec::new() };
                self.step_has_outcome(end, saved).await
            }
            StepResult::Waiting => self.step_waits(logs).await,
            StepResult::Mismatch(mismatch) => Err(Fatal::Fault(Box::new(mismatch.fault(HOST_VERSION)))),
            StepResult::StateRefused(why) => {
                let seq = self.ledger.session.open_step().map_or(0, |(_, step)| step.started_seq);
                let detail = format!("the harness does not take its saved state: {why}");
                Err(fault("state_refused", seq, &detail))
            }
            StepResult::Host(why) => Err(Fatal::Host(why)),
            StepResult::Dropped => Err(Fatal::Host("a task of the step died".into())),
        }
    }

    /// Accepts what the harness says of its step.
    async fn step_has_outcome(
        &mut self,
        end: StepEnd,
        saved: Option<(StateRef, Vec<u8>)>,
    ) -> Result<(), Fatal> {
        loop {
            let (rows, through) = self.rows().await?;
            let entries = self.end_of_step(StepEnd { rows, ..end.clone() })?;
            self.keep_state(&entries, saved.as_ref()).await?;
            if self.append(entries, through).await? {
                return Ok(());
            }
        }
    }

    /// The step has asked a person: its instance is gone, and it is run again when the answer is there (R10).
    /// A re-run is fed what is recorded, so that its diagnostics must be kept now.
    async fn step_waits(&mut self, logs: Option<LogLines>) -> Result<(), Fatal> {
        if let (Some(logs), Some((turn, step))) = (logs, self.ledger.session.open_step()) {
            let draft = Draft::agent(Place::step(turn, step.number), logs);
            self.record(draft)?;
        }
        self.ledger.flush(None).await?;
        self.snapshot(self.snapshot_entries).await
    }

    /// What the step's end comes to. One that the rules refuse is the harness's failure.
    fn end_of_step(&mut self, mut end: StepEnd) -> Result<Vec<Draft>, Fatal> {
        match self.ledger.decide(Input::StepEnd(end.clone())) {
            Ok(decision) => Ok(decision.entries),
            Err(Refusal::Conflict(detail)) => {
                let (how, scope, code) = (Ending::Failed, Scope::Turn, "invalid_answer".to_owned());
                end.outcome = StepOutcome::Broken { how, scope, code, detail };
                Ok(self.ledger.decide(Input::StepEnd(end))?.entries)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Keeps the state that a completed step saved; unchanged state costs nothing.
    async fn keep_state(
        &mut self,
        entries: &[Draft],
        saved: Option<&(StateRef, Vec<u8>)>,
    ) -> Result<(), Fatal> {
        let completed = entries.iter().position(|draft| matches!(draft.fact, Fact::StepCompleted(_)));
        let (Some(at), Some((state, bytes))) = (completed, saved) else { return Ok(()) };
        if Some(*state) == self.ledger.session.saved {
            return Ok(());
        }
        let step_seq = self.ledger.session.head.seq + 1 + at as u64;
        let saved =
            SavedState { version: state.version, digest: state.digest, bytes: bytes.clone(), step_seq };
        self.state = Some(saved.clone());
        self.ledger.save(saved).await
    }

    /// Keeps the fold, if so many entries have come since the last time.
    pub(super) async fn snapshot(&mut self, entries: u64) -> Result<(), Fatal> {
        let session = &self.ledger.session;
        let head = session.head;
        if head.seq < self.snapshot_seq + entries {
            return Ok(());
        }
        let bytes = load::seal_snapshot(session);
        let size = bytes.len() as u64;
        let state = session.saved.map(|state| state.digest);
        let snapshot = Snapshot { seq: head.seq, hash: head.hash, version: SNAPSHOT_VERSION, bytes, state };
        self.snapshot_seq = head.seq;
        // A cache: without it loading takes longer.
        if let Err(error) = self.cx.store.put_snapshot(&self.cx.id, snapshot).await {
            warn!(%error, "a snapshot could not be kept");
            return Ok(());
        }
        let taken = SnapshotTaken { at: head.seq, hash: head.hash, bytes: size };
        let decision = self.ledger.decide(Input::Record(Draft::system(Place::default(), taken)))?;
        self.ledger.stage(decision.entries)?;
        self.ledger.flush(None).await
    }
}
