//! Calls of one request that wait for earlier ones (journal.md R4): what frees a call, and its start, which is recorded
//! with the end that frees it. A call that waits has no start, so that a host that dies leaves none that never began.

use std::sync::{Arc, Mutex, PoisonError};

use rewake_core::entry::{Draft, Entry};
use rewake_store::Blob;
use tokio::sync::oneshot;

use super::call::Facts;
use crate::event::{DriverHandle, Unrecorded};

/// Where a call that waits gets its start from.
pub(super) type Freed = oneshot::Receiver<Result<Arc<Entry>, Unrecorded>>;

/// The calls that wait.
#[derive(Default)]
pub(super) struct Queue(Mutex<Vec<Waiting>>);

struct Waiting {
    /// The calls whose ends it waits for.
    after: Vec<usize>,
    /// Its start, or its repeat.
    facts: Facts,
    reply: oneshot::Sender<Result<Arc<Entry>, Unrecorded>>,
}

impl Queue {
    /// Adds a call that starts after others have ended.
    pub(super) fn push(&self, after: Vec<usize>, facts: Facts) -> Freed {
        let (reply, freed) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Waiting { after, facts, reply });
        freed
    }

    /// Records the end of a call together with the starts that it frees. Both are sent before either is answered, so
    /// that they share a commit; an end stays if the starts are refused, or withdrawn with the guest.
    pub(super) async fn end(
        &self,
        at: usize,
        driver: &DriverHandle,
        (drafts, blobs, durable): (Vec<Draft>, Vec<Blob>, bool),
    ) -> Result<Vec<Arc<Entry>>, Unrecorded> {
        let freed = self.freed_by(at);
        let end = driver.record_with(drafts, blobs, durable);
        let (ended, ()) = tokio::join!(biased; end, start(freed, driver));
        ended
    }

    /// The calls that waited for this one last.
    fn freed_by(&self, at: usize) -> Vec<Waiting> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter_mut().for_each(|one| one.after.retain(|before| *before != at));
        waiting.extract_if(.., |one| one.after.is_empty()).collect()
    }
}

/// Records the starts of calls, and hands each to its call.
async fn start(freed: Vec<Waiting>, driver: &DriverHandle) {
    if freed.is_empty() {
        return;
    }
    let (mut drafts, mut blobs, mut replies) = (Vec::new(), Vec::new(), Vec::new());
    for Waiting { facts, reply, .. } in freed {
        drafts.extend(facts.drafts);
        blobs.extend(facts.blobs);
        replies.push(reply);
    }
    let started = driver.record_with(drafts, blobs, true).await;
    // A call that is gone needs no answer.
    match started {
        Ok(entries) => {
            replies.into_iter().zip(entries).for_each(|(reply, entry)| drop(reply.send(Ok(entry))));
        }
        Err(Unrecorded::Dropped) => {}
        Err(Unrecorded::Refused(refusal)) => {
            replies.into_iter().for_each(|reply| drop(reply.send(Err(Unrecorded::Refused(refusal.clone())))))
        }
    }
}
