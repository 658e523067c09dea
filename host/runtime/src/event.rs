//! Everything a driver can receive from what runs on its behalf, in one place.

use rewake_bindings::session;
use rewake_core::entry::{Draft, Entry};
use rewake_core::error::Refusal;
use tokio::sync::{mpsc, oneshot};

/// Events that wait for a driver; senders wait for room.
const EVENTS_MAX: usize = 64;

/// What a running step, tool or hook says to its session's driver.
#[derive(Debug)]
pub(crate) enum Event {
    /// Facts to record, in one transaction.
    Record {
        drafts: Vec<Draft>,
        /// Answered only once they, and all before them, are on the disk. Else they share the next commit.
        durable: bool,
        reply: oneshot::Sender<Result<Vec<Entry>, Refusal>>,
    },
    /// A slice of the own journal. `head` none: as it is now, and durable; else as it was then.
    Slice {
        slice: session::Slice,
        head: Option<u64>,
        reply: oneshot::Sender<Result<(u64, Vec<session::Event>), String>>,
    },
    /// What is being done now: shown while it is true, never recorded.
    Activity(String),
}

/// Why a guest's call gets no answer.
#[derive(Debug)]
pub(crate) enum Unrecorded {
    /// The session was dropped meanwhile; nobody will hear of this guest any more.
    Dropped,
    /// The journal's rules or limits refuse it.
    Refused(Refusal),
}

/// The way to a session's driver.
#[derive(Clone, Debug)]
pub(crate) struct Port(mpsc::Sender<Event>);

impl Port {
    /// A port and what comes out of it.
    pub(crate) fn open() -> (Port, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        (Port(sender), receiver)
    }

    /// Records facts, and returns them as entries.
    pub(crate) async fn record(&self, drafts: Vec<Draft>, durable: bool) -> Result<Vec<Entry>, Unrecorded> {
        let (reply, answer) = oneshot::channel();
        self.send(Event::Record { drafts, durable, reply }).await?;
        answer.await.map_err(|_| Unrecorded::Dropped)?.map_err(Unrecorded::Refused)
    }

    /// Reads a slice of the session's journal.
    pub(crate) async fn slice(
        &self,
        slice: session::Slice,
        head: Option<u64>,
    ) -> Result<Result<(u64, Vec<session::Event>), String>, Unrecorded> {
        let (reply, answer) = oneshot::channel();
        self.send(Event::Slice { slice, head, reply }).await?;
        answer.await.map_err(|_| Unrecorded::Dropped)
    }

    /// Shows what is being done.
    pub(crate) async fn activity(&self, line: String) -> Result<(), Unrecorded> {
        self.send(Event::Activity(line)).await
    }

    async fn send(&self, event: Event) -> Result<(), Unrecorded> {
        self.0.send(event).await.map_err(|_| Unrecorded::Dropped)
    }
}
