//! The leases' port: who may append to a session.

use rewake_core::ids::{HostId, SessionId, Timestamp};

use super::Answer;

/// A host's right to append to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// Who has it.
    pub host: HostId,
    /// Its number; grows by one at each acquisition, and fences.
    pub epoch: u64,
    /// When it ends unless renewed, by the store's clock.
    pub expires_at: Timestamp,
}

/// Who may append to which session. Ends are judged by the store's clock alone.
pub trait Leases {
    /// Takes a session's lease with a new epoch: if none has it, if it has ended, if the same host has
    /// it, or if `dead` says that its host is. After a crash the epoch was used up or not; it is never
    /// given twice. From then on every append under an older epoch is fenced.
    ///
    /// Another's lease that ends later than this one would is cut to that end: all hosts ask for the same
    /// time, so the clock has gone back since it was given. Its host, if it lives, renews it before.
    ///
    /// # Errors
    /// `Busy` if a host that lives has it; `NotFound`.
    fn acquire<'a>(
        &'a self,
        session: &'a SessionId,
        host: &'a HostId,
        ttl_ms: u64,
        dead: &'a (dyn Fn(&HostId) -> bool + Sync),
    ) -> Answer<'a, Lease>;

    /// Makes a lease last longer from now. One that has ended and that nobody took since is renewed too.
    ///
    /// # Errors
    /// `Fenced` if it was taken by another, or released.
    fn renew<'a>(&'a self, lease: &'a Lease, ttl_ms: u64) -> Answer<'a, Lease>;

    /// Gives a lease back. One that is another's by now is left alone.
    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, ()>;

    /// Who has it, ended or not; none if it was released or never taken.
    fn holder<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Lease>>;
}
