//! The inbox's port: what was sent to a session. Needs no lease.

use rewake_core::command::{Command, Row};
use rewake_core::ids::SessionId;
use rewake_wire::Sender;

use super::Answer;

/// What came into a store's inboxes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The mark of the newest row of all; 0 if there is none.
    pub newest: u64,
    /// The sessions that rows came for, each once, in no order.
    pub sessions: Vec<SessionId>,
}

/// What was sent to a session, append-only. Rows are accepted by [`super::Journal::append`] alone.
pub trait Inbox {
    /// Puts a command into a session's inbox; returns its row's number. `Ok` is the acknowledgement: the
    /// row is on the disk, and will be in an entry. With a key, sending the same again by the same sender
    /// acknowledges the same row again, even after the session's end.
    ///
    /// # Errors
    /// `NotFound`; `Refused` if the command is none, the session has ended, there is no room for it, or the
    /// key came with something else before. `Unknown`: send again with the same key. Messages have room in
    /// the inbox and in the sender's quarter of it; answers, interrupts, stops and the like each have some of
    /// their own for every sender, so that a full inbox keeps none of them out.
    ///
    /// A command about a message (an edit, a cancellation, a promotion) is refused if that is accepted
    /// (`Delivered`), was canceled, is no message or one that its sender may not change, and `NotFound` if
    /// there is none: seen in the transaction that inserts it, so that what is acknowledged has its effect.
    fn send<'a>(
        &'a self,
        session: &'a SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> Answer<'a, u64>;

    /// The rows that are in no entry yet, by number.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if a row is none that this host knows.
    fn pending<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Row>>;

    /// The sessions that rows came for after the one with this mark, anyone who sent them: one look for all sessions of
    /// a process. Marks grow with every row of any session.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn arrivals(&self, after: u64) -> Answer<'_, Arrivals>;

    /// The greatest row's number, accepted or not; 0 if there is none.
    ///
    /// # Errors
    /// `NotFound`.
    fn through<'a>(&'a self, session: &'a SessionId) -> Answer<'a, u64>;
}
