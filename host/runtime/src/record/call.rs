//! The protocol of every recorded call (journal.md R3 to R6): a fresh call is started, performed and ended; an open
//! one is repeated or lost; an ended one is handed back; one that differs from its record ends the step. An import
//! only says what these mean for it.

use std::future::Future;
use std::sync::Arc;

use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::CallRetried;
use rewake_core::replay::{Progress, Recorded, ends_call};
use rewake_store::Blob;
use wasmtime::{Result, format_err};

use super::Recorder;
use super::queue::{Freed, Queue};
use crate::context::Busy;
use crate::event::{DriverHandle, Unrecorded};
use crate::join_all::join_all;

/// A call of a guest; or one of several that one call of it comes to, such as a use of a tool, or a hook that judges.
pub(crate) trait Call: Send + Sized + 'static {
    /// The function's name, as a mismatch shows it.
    fn function(&self) -> &'static str;

    /// Which of several uses it is.
    fn index(&self) -> u32 {
        0
    }

    /// The hook that it asks.
    fn hook(&self) -> Option<u32> {
        None
    }

    /// Whether a later call of the same request starts only after this one has ended.
    fn precedes(&self, _later: &Self) -> bool {
        false
    }

    /// Compares the call with its record. The seq is that of the entry in which they differ.
    fn compare(
        &self,
        place: Place,
        recorded: &Recorded,
    ) -> impl Future<Output = std::result::Result<(), (u64, Difference)>> + Send;

    /// Its start, which is recorded before it is performed; or its end, if there is nothing to perform.
    fn start(
        &mut self,
        recorder: &mut Recorder,
        place: Place,
        recorded: &Recorded,
    ) -> impl Future<Output = Result<Facts>> + Send;

    /// What is recorded before an open call is performed again; or its end, if it is not. `attempt`: the number of
    /// the next attempt, if it may have one. Calls that may not be repeated were settled when the session was loaded.
    fn again(
        &mut self,
        _recorder: &Recorder,
        _recorded: &Recorded,
        start: &Entry,
        attempt: Option<u32>,
    ) -> Facts {
        let draft = match attempt {
            Some(attempt) => Draft::system(start.place, CallRetried::again(start.seq, attempt)),
            None => self.lost(start),
        };
        draft.into()
    }

    /// Its end, if it was tried as often as it may be.
    fn lost(&self, start: &Entry) -> Draft;

    /// Performs it, and returns its end. The task that performs a call also records the end, so that the end is kept if
    /// the step is dropped while other calls run.
    fn perform(
        &mut self,
        driver: &DriverHandle,
        start: &Entry,
        attempt: u32,
    ) -> impl Future<Output = std::result::Result<Facts, Unrecorded>> + Send;
}

/// What a call has recorded at once.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) drafts: Vec<Draft>,
    /// The bytes that they name.
    pub(crate) blobs: Vec<Blob>,
    /// Whether they must be on the disk before the guest continues.
    pub(crate) durable: bool,
    /// Held until they are recorded: a driver that drops the step waits for what is still being done.
    pub(crate) busy: Option<Busy>,
}

impl Facts {
    /// Whether there is nothing to perform.
    fn end(&self) -> bool {
        self.drafts.iter().any(|draft| ends_call(&draft.fact))
    }
}

/// A durable one.
impl From<Draft> for Facts {
    fn from(draft: Draft) -> Self {
        Facts { drafts: vec![draft], durable: true, ..Facts::default() }
    }
}

/// A call that is about to be performed.
struct Begun<C> {
    at: usize,
    call: C,
    /// Its start, if an earlier run recorded it.
    start: Option<Arc<Entry>>,
    attempt: u32,
    /// Its end is not what is recorded first.
    is_live: bool,
    /// It waits for earlier calls, and has no start or repeat before.
    freed: Option<Freed>,
}

impl Recorder {
    /// Runs a call; returns it with its end.
    pub(crate) async fn run<C: Call>(&mut self, call: C) -> Result<(C, Arc<Entry>)> {
        let (place, recorded) = self.begin(call.function())?;
        let mut ended = self.run_all(place, &recorded, Vec::new(), vec![call]).await?;
        ended.pop().ok_or_else(|| format_err!("a call has no end"))
    }

    /// Runs calls, all of them parts of the guest's call at `place`; returns them in their order, each with its end. They
    /// run side by side, apart from those that others precede. `first` is recorded in one transaction with the starts.
    pub(crate) async fn run_all<C: Call>(
        &mut self,
        place: Place,
        recorded: &Recorded,
        first: Vec<Draft>,
        calls: Vec<C>,
    ) -> Result<Vec<(C, Arc<Entry>)>> {
        let before = first.len();
        let mut all = Facts { drafts: first, durable: before > 0, ..Facts::default() };
        let queue = Arc::new(Queue::default());
        let (mut ended, mut begun) = (Vec::new(), Vec::<Begun<C>>::new());
        for (at, mut call) in calls.into_iter().enumerate() {
            if !recorded.is_empty()
                && let Err((seq, difference)) = call.compare(place, recorded).await
            {
                return Err(self.differs(seq, call.function(), difference));
            }
            let (facts, start, attempt) = match recorded.progress(call.index(), call.hook()) {
                Progress::Ended(end) => {
                    ended.push((at, call, Arc::clone(end)));
                    continue;
                }
                Progress::Open(start) => {
                    let attempt = self.next_try(start.seq);
                    let facts = call.again(self, recorded, start, attempt);
                    (facts, Some(Arc::clone(start)), attempt.unwrap_or_default())
                }
                Progress::Fresh => (call.start(self, place, recorded).await?, None, 0),
            };
            let is_live = !facts.end();
            let precede =
                begun.iter().filter(|earlier| is_live && earlier.is_live && earlier.call.precedes(&call));
            let after: Vec<usize> = precede.map(|earlier| earlier.at).collect();
            let mut freed = None;
            if after.is_empty() {
                all.drafts.extend(facts.drafts);
                all.blobs.extend(facts.blobs);
                all.durable |= facts.durable;
            } else {
                freed = Some(queue.push(after, facts));
            }
            begun.push(Begun { at, call, start, attempt, is_live, freed });
        }
        let mut entries = Vec::new();
        if !all.drafts.is_empty() {
            entries = self.record_with(place, all.drafts, all.blobs, all.durable).await?;
        }
        // After the first ones, one entry stands for each call that does not wait: its start, its repeat, or its end.
        let mut entries = entries.into_iter().skip(before);
        let mut live = Vec::new();
        for begun in begun {
            let entry = if begun.freed.is_none() { entries.next() } else { None };
            match entry {
                Some(end) if ends_call(&end.fact) => ended.push((begun.at, begun.call, end)),
                entry => live.push(perform(begun, entry, Arc::clone(&queue), self.driver())),
            }
        }
        ended.extend(join_all(live).await.map_err(|why| self.unrecorded(why))?);
        ended.sort_by_key(|(at, ..)| *at);
        Ok(ended.into_iter().map(|(_, call, end)| (call, end)).collect())
    }
}

/// Performs one call, after those that precede it, and records its end. `entry` is its start, or its repeat.
async fn perform<C: Call>(
    begun: Begun<C>,
    entry: Option<Arc<Entry>>,
    queue: Arc<Queue>,
    driver: DriverHandle,
) -> std::result::Result<(usize, C, Arc<Entry>), Unrecorded> {
    let Begun { at, mut call, start, attempt, freed, .. } = begun;
    let entry = match freed {
        Some(freed) => Some(freed.await.map_err(|_| Unrecorded::Dropped)??),
        None => entry,
    };
    let start = start.or(entry).ok_or(Unrecorded::Dropped)?;
    let Facts { drafts, blobs, durable, busy: _busy } = call.perform(&driver, &start, attempt).await?;
    let entries = queue.end(at, &driver, (drafts, blobs, durable)).await?;
    let end = entries.into_iter().find(|entry| ends_call(&entry.fact));
    end.map(|end| (at, call, end)).ok_or(Unrecorded::Dropped)
}
