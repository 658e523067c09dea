//! What followers of a session are told as it happens. The journal is what happened; this is a view.

use std::sync::Arc;

use rewake_wire::{Event, Fault};
use tokio::sync::broadcast;

/// Messages kept for a follower that lags; one that lags more reads the journal from where it was.
const LIVE_MAX: usize = 1_024;

/// Something that a follower of a session is told.
#[derive(Clone, Debug)]
pub enum Live {
    /// An entry is durable.
    Entry(Arc<Event>),
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
    Gone(Gone),
}

/// A piece of what a model is saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of its reasoning.
    Thinking(String),
    /// It begins to ask for this tool.
    ToolUse(String),
}

/// Why a host no longer runs a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It let go of it in good order.
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

/// The followers of one session.
#[derive(Clone, Debug)]
pub(crate) struct Followers(broadcast::Sender<Live>);

impl Followers {
    pub(crate) fn new() -> Self {
        Followers(broadcast::Sender::new(LIVE_MAX))
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Live> {
        self.0.subscribe()
    }

    /// Whether anybody listens.
    pub(crate) fn is_followed(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Nobody needs to listen.
    pub(crate) fn tell(&self, live: Live) {
        let _ = self.0.send(live);
    }
}
