//! Everything a driver can receive from what runs on its behalf, in one place.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rewake_core::entry::{Draft, Entry};
use rewake_core::error::Refusal;
use rewake_store::Blob;
use tokio::sync::{mpsc, oneshot};

use crate::live::Live;
use rewake_models::{Delta, DeltaSink};

/// Events that wait for a driver; senders wait for room.
const EVENTS_MAX: usize = 64;

/// What a running step, tool or hook says to its session's driver.
#[derive(Debug)]
pub(crate) enum Event {
    /// Facts to record, in one transaction.
    Record {
        drafts: Vec<Draft>,
        /// Bytes that they name by digest: written in their transaction.
        blobs: Vec<Blob>,
        /// Answered only once they, and all before them, are on the disk. Else they share the next commit.
        durable: bool,
        reply: oneshot::Sender<Result<Vec<Arc<Entry>>, Refusal>>,
    },
    /// How far the own journal goes, once all of it is on the disk.
    Head(oneshot::Sender<u64>),
    /// What is being done or said now: shown while it is true, never recorded.
    Show(Live),
}

/// Why a guest's call gets no answer.
#[derive(Debug)]
pub(crate) enum Unrecorded {
    /// The session was dropped meanwhile; nobody will hear of this guest any more.
    Dropped,
    /// The journal's rules or limits refuse it.
    Refused(Refusal),
}

/// A handle on a session's driver.
#[derive(Clone, Debug)]
pub(crate) struct DriverHandle(mpsc::Sender<Event>);

impl DriverHandle {
    /// A handle, and the events that are sent with it.
    pub(crate) fn open() -> (DriverHandle, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        (DriverHandle(sender), receiver)
    }

    /// Records facts, and returns them as entries.
    pub(crate) async fn record(
        &self,
        drafts: Vec<Draft>,
        durable: bool,
    ) -> Result<Vec<Arc<Entry>>, Unrecorded> {
        self.record_with(drafts, Vec::new(), durable).await
    }

    /// Records facts and the bytes that they name, and returns the facts as entries.
    pub(crate) async fn record_with(
        &self,
        drafts: Vec<Draft>,
        blobs: Vec<Blob>,
        durable: bool,
    ) -> Result<Vec<Arc<Entry>>, Unrecorded> {
        let (reply, answer) = oneshot::channel();
        self.send(Event::Record { drafts, blobs, durable, reply }).await?;
        answer.await.map_err(|_| Unrecorded::Dropped)?.map_err(Unrecorded::Refused)
    }

    /// Has facts recorded without waiting for it; if the driver is busy they go with what comes next.
    pub(crate) fn try_record(&self, drafts: Vec<Draft>) -> Result<(), Vec<Draft>> {
        let (reply, _) = oneshot::channel();
        let blobs = Vec::new();
        self.0.try_send(Event::Record { drafts, blobs, durable: false, reply }).map_err(|refused| {
            match refused.into_inner() {
                Event::Record { drafts, .. } => drafts,
                Event::Head(_) | Event::Show(_) => Vec::new(),
            }
        })
    }

    /// How far the session's journal goes, once all of it is on the disk.
    pub(crate) async fn head(&self) -> Result<u64, Unrecorded> {
        let (reply, answer) = oneshot::channel();
        self.send(Event::Head(reply)).await?;
        answer.await.map_err(|_| Unrecorded::Dropped)
    }

    /// Shows something to anyone who follows the session.
    pub(crate) async fn show(&self, live: Live) {
        let _ = self.0.send(Event::Show(live)).await;
    }

    async fn send(&self, event: Event) -> Result<(), Unrecorded> {
        self.0.send(event).await.map_err(|_| Unrecorded::Dropped)
    }
}

impl DeltaSink for DriverHandle {
    fn show(&self, start: u64, attempt: u32, delta: Delta) -> BoxFuture<'_, ()> {
        Box::pin(DriverHandle::show(self, Live::Delta { start, attempt, delta }))
    }
}
