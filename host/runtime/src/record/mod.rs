//! The recorder of one step: every use of an import goes through it, and it alone knows whether the step
//! is being replayed (journal.md R3, R6, R7). Imports ask it what is recorded, perform only what is not,
//! and hand it what came of it.

mod call;
mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;

use rewake_bindings::log;
use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::error::{Mismatch, Refusal};
use rewake_core::fact::{Fact, LogLine, Observed, StepObserved};
use rewake_core::ids::Seed;
use rewake_core::limits::{OBSERVED_BYTES_MAX, STEP_OBSERVED_BYTES_MAX};
use rewake_core::replay::{Recorded, Replay};
use rewake_store::Blob;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use self::call::{Call, Facts};
use crate::budget::Budget;
use crate::event::{DriverHandle, Unrecorded};
use crate::live::Live;
use rewake_sandbox::host_calls::HostCalls;
use rewake_sandbox::logs::Logs;

/// Why a step was ended from inside one of its calls. The guest sees a trap.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum Stop {
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Host(String),
    #[error("the session was dropped")]
    Dropped,
    #[error("a call waits for a person; the step is run again when the answer is there")]
    Waiting,
}

/// What a recorder starts from; all of it was fixed before the step runs.
pub(crate) struct Recording {
    pub(crate) place: Place,
    pub(crate) seed: Seed,
    /// What is recorded of the step.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// The step's open calls by their start, with the number of the next attempt of each that may have one.
    pub(crate) tries: BTreeMap<u64, Option<u32>>,
    /// The session's money.
    pub(crate) budget: Budget,
    /// The session's monotonic time resumes from here.
    pub(crate) monotonic_ns: u64,
    pub(crate) driver: DriverHandle,
}

/// The recorder of one step.
pub(crate) struct Recorder {
    step: Place,
    replay: Replay,
    ordinal: u32,
    /// The function that was called last.
    function: &'static str,
    pending: Vec<Observed>,
    /// What they take of an entry, about.
    pending_bytes: usize,
    /// What all observations of this run take, about.
    observed_bytes: usize,
    calls: HostCalls,
    driver: DriverHandle,
    live: watch::Sender<bool>,
    stop: Option<Stop>,
    clock: Clock,
    random: blake3::OutputReader,
    tries: BTreeMap<u64, Option<u32>>,
    /// The session's money.
    pub(crate) budget: Budget,
    logs: Logs,
}

/// What a step's end has still to tell.
pub(crate) struct Unwritten {
    pub(crate) ordinal: u32,
    /// The function that was called last, of those that are recorded.
    pub(crate) function: &'static str,
    pub(crate) observed: Vec<Observed>,
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) stop: Option<Stop>,
    pub(crate) logs: Logs,
    pub(crate) unclaimed: Result<(), Mismatch>,
}

/// The session's monotonic time: it goes on from its greatest recorded value.
struct Clock {
    base_ns: u64,
    since: Instant,
}

impl Clock {
    fn now_ns(&self) -> u64 {
        let passed = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.base_ns.saturating_add(passed)
    }
}

impl Recorder {
    pub(crate) fn new(recording: Recording) -> Self {
        let Recording { place, seed, entries, tries, budget, monotonic_ns, driver } = recording;
        let replay = Replay::new(&entries);
        let live = watch::Sender::new(replay.is_over());
        Recorder {
            step: place,
            replay,
            ordinal: 0,
            function: "",
            pending: Vec::new(),
            pending_bytes: 0,
            observed_bytes: 0,
            calls: HostCalls::default(),
            driver,
            live,
            stop: None,
            clock: Clock { base_ns: monotonic_ns, since: Instant::now() },
            random: blake3::Hasher::new_keyed(&seed.0).finalize_xof(),
            tries,
            budget,
            logs: Logs::after(journaled_lines(&entries, place)),
        }
    }

    /// Tells when the step goes live: its deadline runs from then on.
    pub(crate) fn live(&self) -> watch::Receiver<bool> {
        self.live.subscribe()
    }

    /// The driver, for tasks of their own.
    pub(crate) fn driver(&self) -> DriverHandle {
        self.driver.clone()
    }

    /// The number of the turn that the step belongs to.
    pub(crate) fn turn(&self) -> u32 {
        self.step.turn
    }

    /// Keeps a line of diagnostics, unless the journal has it of an earlier run.
    pub(crate) fn log(&mut self, level: log::Level, text: &str) {
        self.count("log.log");
        self.logs.push(level, text);
    }

    /// Shows what is being done now; silent while replaying.
    pub(crate) async fn activity(&mut self, line: String) {
        self.count("session.set-activity");
        if self.is_live() {
            self.driver.show(Live::Activity(line)).await;
        }
    }

    /// Whether everything recorded has been claimed. Not for imports: they ask for what is recorded.
    pub(crate) fn is_live(&self) -> bool {
        self.replay.is_over()
    }

    /// The number of the next attempt of an open call; none, if it was tried as often as it may be.
    pub(crate) fn next_try(&self, start: u64) -> Option<u32> {
        self.tries.get(&start).copied().flatten()
    }

    /// Counts a call whose value is pinned and so not recorded.
    pub(crate) fn count(&mut self, function: &'static str) {
        self.calls.count(function);
    }

    /// An observation: what a guest is told of the world around it. It has no start, because observing again harms
    /// nobody. `replayed` compares what is recorded with what is asked now, and makes the answer of it.
    pub(crate) async fn observe<T>(
        &mut self,
        function: &'static str,
        replayed: impl FnOnce(Observed) -> Result<T, Difference>,
        live: impl AsyncFnOnce(&mut Self) -> wasmtime::Result<(Observed, T)>,
    ) -> wasmtime::Result<T> {
        self.count(function);
        self.function = function;
        let recorded = self.replay.observe(self.ordinal, function);
        if let Some(recorded) = recorded.map_err(|mismatch| self.stopped(mismatch))? {
            return replayed(recorded).map_err(|difference| self.misread(function, difference));
        }
        self.go_live();
        let (observed, answer) = live(self).await?;
        self.observed(observed)?;
        Ok(answer)
    }

    /// Keeps what was observed live.
    ///
    /// # Errors
    /// If the step has observed more without any call than is recorded together.
    fn observed(&mut self, observed: Observed) -> wasmtime::Result<()> {
        self.pending_bytes += weight(&observed);
        self.observed_bytes += weight(&observed);
        for (what, got, max) in [
            ("bytes of observations between two calls", self.pending_bytes, OBSERVED_BYTES_MAX),
            ("bytes of observations of a step", self.observed_bytes, STEP_OBSERVED_BYTES_MAX),
        ] {
            if got > max {
                let (got, max) = (got as u64, max as u64);
                return Err(self.stopped(Refusal::Limit { what, got, max }));
            }
        }
        self.pending.push(observed);
        Ok(())
    }

    /// Opens the next call: its place, and what is recorded of it; nothing, if it is live.
    pub(crate) fn begin(&mut self, function: &'static str) -> wasmtime::Result<(Place, Recorded)> {
        self.count(function);
        self.function = function;
        let ordinal = self.ordinal + 1;
        let recorded = self.replay.call(ordinal, function).map_err(|mismatch| self.stopped(mismatch))?;
        if self.replay.is_over() {
            self.go_live();
        }
        let place = Place { ordinal, ..self.step };
        if recorded.is_some() {
            self.ordinal = ordinal;
        }
        Ok((place, recorded.unwrap_or_default()))
    }

    /// Records facts of the call at `place`; what was observed before it goes along.
    pub(crate) async fn record(
        &mut self,
        place: Place,
        drafts: Vec<Draft>,
        durable: bool,
    ) -> wasmtime::Result<Vec<Arc<Entry>>> {
        self.record_with(place, drafts, Vec::new(), durable).await
    }

    /// Records facts of the call at `place`, and the bytes that they name.
    pub(crate) async fn record_with(
        &mut self,
        place: Place,
        drafts: Vec<Draft>,
        blobs: Vec<Blob>,
        durable: bool,
    ) -> wasmtime::Result<Vec<Arc<Entry>>> {
        let mut all = Vec::with_capacity(drafts.len() + 1);
        let observed = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let skip = usize::from(!observed.is_empty());
        if !observed.is_empty() {
            let at = Place { ordinal: self.ordinal, ..self.step };
            all.push(Draft::agent(at, StepObserved { items: observed }));
        }
        all.extend(drafts);
        self.ordinal = place.ordinal;
        let recorded = self.driver.record_with(all, blobs, durable).await;
        let mut entries = recorded.map_err(|why| self.unrecorded(why))?;
        entries.drain(..skip);
        Ok(entries)
    }

    /// What the observations take, about, that wait for the next call.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// Has what was observed recorded, without a call to go with and without waiting for it.
    pub(crate) fn write_observed(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.pending);
        let bytes = std::mem::take(&mut self.pending_bytes);
        let at = Place { ordinal: self.ordinal, ..self.step };
        // A driver that is busy gets them with the next call.
        if let Err(refused) = self.driver.try_record(vec![Draft::agent(at, StepObserved { items })]) {
            for draft in refused {
                if let Fact::StepObserved(StepObserved { items }) = draft.fact {
                    (self.pending, self.pending_bytes) = (items, bytes);
                }
            }
        }
    }

    /// Ends the step: what a guest asked for is not what is recorded, or the host cannot go on.
    pub(crate) fn stopped(&mut self, stop: impl Into<Stop>) -> wasmtime::Error {
        let stop = stop.into();
        self.stop.get_or_insert_with(|| stop.clone());
        wasmtime::Error::new(stop)
    }

    /// Ends the step because the driver would not or could not record.
    pub(crate) fn unrecorded(&mut self, why: Unrecorded) -> wasmtime::Error {
        match why {
            Unrecorded::Dropped => self.stopped(Stop::Dropped),
            Unrecorded::Refused(refusal) => self.stopped(refusal),
        }
    }

    /// A mismatch in what a call was given: `function` is named before both values, the field is the
    /// difference's path.
    pub(crate) fn differs(&mut self, seq: u64, function: &str, difference: Difference) -> wasmtime::Error {
        let Difference { path, expected, got } = difference;
        let (expected, got) = (format!("{function} {expected}"), format!("{function} {got}"));
        self.stopped(Mismatch { seq, expected, got, field: path })
    }

    /// A mismatch in what the observation that was claimed last was asked with.
    pub(crate) fn misread(&mut self, function: &str, difference: Difference) -> wasmtime::Error {
        self.differs(self.replay.claimed_seq(), function, difference)
    }

    pub(crate) fn monotonic_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The next bytes of the step's random stream.
    pub(crate) fn fill_random(&mut self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    /// What the step's end has still to tell.
    pub(crate) fn finish(&mut self) -> Unwritten {
        Unwritten {
            ordinal: self.ordinal,
            function: self.function,
            observed: std::mem::take(&mut self.pending),
            calls: std::mem::take(&mut self.calls).into_map(),
            stop: self.stop.take(),
            logs: std::mem::take(&mut self.logs),
            unclaimed: self.replay.unclaimed(),
        }
    }

    fn go_live(&mut self) {
        self.live.send_if_modified(|live| !std::mem::replace(live, true));
    }
}

/// The lines of the step itself that its journal has; those of its tools and hooks are at their calls.
fn journaled_lines(entries: &[Arc<Entry>], step: Place) -> impl Iterator<Item = &LogLine> {
    let of_step = entries.iter().filter(move |entry| entry.place == step);
    of_step.flat_map(|entry| match &entry.fact {
        Fact::LogLines(said) => said.lines.as_slice(),
        _ => &[],
    })
}

/// An observation that is of no such function.
pub(crate) fn misfit(recorded: &Observed) -> Difference {
    let (expected, got) = (recorded.function().to_owned(), "another observation".to_owned());
    Difference { path: "function".to_owned(), expected, got }
}

/// The bytes that an observation takes of an entry, about.
fn weight(observed: &Observed) -> usize {
    match observed {
        Observed::Wall(..) | Observed::Monotonic(_) | Observed::Deadline(..) => 48,
        Observed::Ready(ready) => 16 + 6 * ready.len(),
        Observed::Events { shown, .. } | Observed::Blob { shown, .. } => {
            256 + shown.as_ref().map_or(0, String::len)
        }
        Observed::File(used) => used.weight(),
    }
}
