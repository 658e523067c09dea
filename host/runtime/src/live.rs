//! What followers of a session are told as it happens. The journal is what happened; this is a view.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rewake_core::entry::Entry;
use rewake_core::ids::SessionId;
use rewake_core::view;
use rewake_wire::{Event, Fault};
use tokio::sync::broadcast;

pub use rewake_models::Delta;

/// Messages kept for a follower that lags; one that lags more reads the journal from where it was.
const LIVE_MAX: usize = 1_024;

/// Something that a follower of a session is told.
#[derive(Clone, Debug)]
pub enum Live {
    /// An entry is durable.
    Entry(Shown),
    /// What is being done now; never recorded.
    Activity(String),
    /// A piece of what a model is saying now; never recorded. The completion, once it is, says all of it.
    Delta {
        /// Seq of the call's `model.started`.
        start: u64,
        /// Attempts of the call before this one.
        attempt: u32,
        /// The piece.
        delta: Delta,
    },
    /// The pieces of a call's attempts so far say nothing: it is made again.
    DeltaReset {
        /// Seq of the call's `model.started`.
        start: u64,
        /// Attempts of the call before the one that begins.
        attempt: u32,
    },
    /// Nothing is being done, and nothing will be before something comes.
    Idle,
    /// This host no longer runs the session.
    Unloaded(UnloadReason),
}

/// An entry that is durable, as its followers share it.
#[derive(Clone, Debug)]
pub struct Shown(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    session: SessionId,
    entry: Arc<Entry>,
    event: OnceLock<Event>,
}

impl Shown {
    pub(crate) fn new(session: &SessionId, entry: Arc<Entry>) -> Self {
        Shown(Arc::new(Kept { session: session.clone(), entry, event: OnceLock::new() }))
    }

    /// Its number in the session's journal.
    pub fn seq(&self) -> u64 {
        self.0.entry.seq
    }

    /// The kind of what it says, such as `turn.completed`.
    pub fn kind(&self) -> &str {
        self.0.entry.fact.kind()
    }

    /// Its public event. Made when it is first asked for, by who asks: the session does not wait for it.
    pub fn event(&self) -> &Event {
        self.0.event.get_or_init(|| view::event(&self.0.session, &self.0.entry))
    }
}

/// Why a host no longer runs a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnloadReason {
    /// Unload it it in good order.
    Unloaded,
    /// The session ended for good.
    Ended,
    /// Another host has it.
    Fenced,
    /// It takes no step here.
    Faulted(Fault),
    /// This host could not go on with it; the journal is as it was.
    Failed(String),
}

/// The followers of one session. Room for messages is there only while somebody follows: ten thousand sessions that
/// rest would hold a gigabyte of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followers(Arc<Mutex<Option<broadcast::Sender<Live>>>>);

impl Followers {
    pub(crate) fn follow(&self) -> broadcast::Receiver<Live> {
        self.lock().get_or_insert_with(|| broadcast::Sender::new(LIVE_MAX)).subscribe()
    }

    /// Whether anybody listens.
    pub(crate) fn is_followed(&self) -> bool {
        self.lock().as_ref().is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Nobody needs to listen.
    pub(crate) fn tell(&self, live: Live) {
        if let Some(sender) = &*self.lock() {
            let _ = sender.send(live);
        }
    }

    /// Gives back the room for messages if nobody listens any more.
    pub(crate) fn tidy(&self) {
        self.lock().take_if(|sender| sender.receiver_count() == 0);
    }

    fn lock(&self) -> MutexGuard<'_, Option<broadcast::Sender<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
