//! The vouchers' port: what the trust keys of machines say about the grants of sessions. Beside the journals, because a
//! voucher is worth something only on a machine with its key. Checks none of them.

use rewake_core::ids::{Digest, SessionId};

use super::Answer;

/// A trust key's voucher for what is granted to one bundle of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voucher {
    /// The bundle.
    pub bundle: Digest,
    /// Who approved; empty: the operator's rules.
    pub by: String,
    /// What the key made of session, entry, bundle, grants and approver.
    pub mac: Digest,
}

/// The vouchers of every session. [`super::Journal::create`] writes those that a session begins with.
pub trait Vouchers {
    /// Adds vouchers, in one transaction. One that is there stays as it is.
    ///
    /// # Errors
    /// `NotFound` for the session.
    fn vouch<'a>(&'a self, session: &'a SessionId, vouchers: Vec<Voucher>) -> Answer<'a, ()>;

    /// A session's vouchers, of whatever keys; at most 1,000, since a file from elsewhere may hold any number.
    ///
    /// # Errors
    /// `NotFound`.
    fn vouchers<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Vec<Voucher>>;
}

/// Vouchers of a session that are read.
pub(crate) const VOUCHERS_MAX: usize = 1_000;
