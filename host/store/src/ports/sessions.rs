//! The sessions' port: what lists show. Reading it never loads a session.

use rewake_core::ids::SessionId;
use rewake_wire::{Fault, SessionSummary};

use super::Answer;

/// What lists show, and the faults beside the journals.
pub trait Sessions {
    /// A session as a list shows it; none if there is no such session.
    fn session<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>>;

    /// Sessions, the one that was created last first; `before` the last one of the page before.
    ///
    /// # Errors
    /// `NotFound` for `before`.
    fn list_sessions(&self, limit: u32, before: Option<SessionId>) -> Answer<'_, Vec<SessionSummary>>;

    /// Sets or clears why a session takes no step here. A fault with the reason `storage` also clears
    /// itself in the transaction of the session's next append.
    ///
    /// # Errors
    /// `NotFound`.
    fn set_fault<'a>(&'a self, id: &'a SessionId, fault: Option<Fault>) -> Answer<'a, ()>;

    /// Why a session takes no step here.
    ///
    /// # Errors
    /// `NotFound`.
    fn fault<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<Fault>>;
}
