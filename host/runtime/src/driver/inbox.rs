//! What the driver knows of its session's inbox between two readings. A step has several points at which rows
//! may be accepted; reading the store at each of them would cost more than the step.

use futures_util::FutureExt as _;
use rewake_core::command::Row;
use rewake_core::session::Session;
use rewake_store::{Result, Store};
use tokio::sync::Notify;

/// The rows as they were last read. They are read again once somebody tells that there are more, and when the
/// driver asks for it.
#[derive(Default)]
pub(super) struct Inbox {
    rows: Vec<Row>,
    through: u64,
    is_known: bool,
    is_fresh: bool,
}

impl Inbox {
    /// The untaken rows, and the greatest number of all: read, unless nobody has told of more since.
    pub(super) async fn rows(
        &mut self,
        store: &dyn Store,
        session: &Session,
        wake: &Notify,
    ) -> Result<(Vec<Row>, u64)> {
        self.is_fresh = wake.notified().now_or_never().is_some() || !self.is_known;
        if self.is_fresh {
            self.is_known = false;
            // In this order: what comes between the two is read again, never missed.
            self.through = store.through(&session.id).await?;
            self.rows = store.pending(&session.id).await?;
            self.is_known = true;
        }
        self.rows.retain(|row| !session.taken.contains(row.n));
        Ok((self.rows.clone(), self.through))
    }

    /// Has the rows read again the next time.
    pub(super) fn forget(&mut self) {
        self.is_known = false;
    }

    /// Whether they were read when they were last asked for.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// The greatest number when they were last read.
    pub(super) fn through(&self) -> u64 {
        self.through
    }
}
