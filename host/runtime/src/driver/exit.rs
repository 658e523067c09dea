//! How a driver comes to its end: the session is not run here any more, or it is to be read back and driven
//! again. Decides nothing about when.

use std::sync::atomic::Ordering;

use rewake_core::decide::Input;
use rewake_core::ids::Timestamp;
use rewake_store::StoreError;
use tracing::warn;

use super::{Driver, Fatal, Phase};
use crate::live::UnloadReason;
use crate::loaded::DriverRequest;

/// What a driver left of its session's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseState {
    /// Nothing.
    Released,
    /// It may still be this host's, which does nothing under it any more.
    Held,
    /// Something is still being done under it: it must run out by itself.
    Busy,
}

/// How a driver came to its end.
pub(crate) enum DriverExit {
    /// This host does not run the session any more.
    Unload(UnloadReason),
    /// The session is reloaded, if this host has or gets its lease (journal.md R0).
    Reload(ReloadReason),
}

/// Why a session is to be read back by the host that had it.
#[derive(Debug)]
pub(crate) enum ReloadReason {
    /// The operator's rules are others for it than when it was loaded. It was unloaded in good order.
    Rules,
    /// Its lease has run out, or was another's.
    Lease,
    /// It is not known what was written.
    Store(String),
}

impl ReloadReason {
    /// A word for it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            ReloadReason::Rules => "rules",
            ReloadReason::Lease => "lease",
            ReloadReason::Store(_) => "store",
        }
    }

    /// What it comes to if the session is not loaded again.
    pub(crate) fn unload_reason(self) -> UnloadReason {
        match self {
            ReloadReason::Rules => UnloadReason::Unloaded,
            ReloadReason::Lease => UnloadReason::Fenced,
            ReloadReason::Store(why) => UnloadReason::Failed(why),
        }
    }
}

impl Driver {
    /// Why the session is unloaded now. Not at all, if that was asked for only while it is idle, and it is not.
    pub(super) async fn accept(
        &mut self,
        request: Option<DriverRequest>,
        until: Option<Timestamp>,
    ) -> Result<Option<String>, Fatal> {
        let (why, busy) = match request {
            None => return Ok(Some("shutdown".into())),
            Some(DriverRequest::Now { why }) => return Ok(Some(why)),
            Some(DriverRequest::IfIdle { why, busy }) => (why, busy),
            Some(DriverRequest::Budget { max_usd, by, reply }) => {
                let changed = match self.ledger.decide(Input::Budget { max_usd, by }) {
                    Ok(decision) => Ok(self.ledger.stage(decision.entries).map(drop)?),
                    Err(refusal) => Err(refusal),
                };
                self.ledger.flush(None).await?;
                let _ = reply.send(changed);
                return Ok(None);
            }
        };
        let is_due = until.is_some_and(|until| until <= self.cx.store.now());
        if is_due || self.is_running() || self.ledger.is_dirty() || self.is_inbox_moved().await? {
            let _ = busy.send(());
            return Ok(None);
        }
        self.unloading.store(true, Ordering::Release);
        Ok(Some(why))
    }

    /// Drops the guest and writes everything, so that the next driver has nothing to recover.
    pub(super) async fn unload(&mut self, why: String) -> Result<(), Fatal> {
        self.drop_guest().await?;
        let unloaded = self.ledger.decide(Input::Unload { why })?;
        self.ledger.stage(unloaded.entries)?;
        self.ledger.flush(None).await?;
        self.snapshot(self.snapshot_entries.div_ceil(10)).await
    }

    /// What comes of a driver that cannot go on. What is in its memory is written where only time or the step was at
    /// fault, and given up where the store contradicts it.
    pub(super) async fn give_up(&mut self, fatal: Fatal) -> DriverExit {
        let fatal = self.write_last(fatal).await;
        self.phase = Phase::Ended;
        let gone = match fatal {
            Fatal::Store(StoreError::Fenced { .. }) | Fatal::LeaseLost => {
                return DriverExit::Reload(ReloadReason::Lease);
            }
            Fatal::Store(
                error
                @ (StoreError::Unknown(_) | StoreError::RowTaken { .. } | StoreError::RowChanged { .. }),
            ) => {
                return DriverExit::Reload(ReloadReason::Store(error.to_string()));
            }
            // A session that is another host's by now has moved on: what does not fit is not its fault. A store that
            // cannot be asked does not say whose it is, and the own clock cannot: this host may have been taken for dead.
            Fatal::Fault(_) if !self.keeper.is_confirmed().await => {
                return DriverExit::Reload(ReloadReason::Lease);
            }
            Fatal::Fault(fault) => UnloadReason::Faulted(*fault),
            other => UnloadReason::Failed(other.to_string()),
        };
        if let UnloadReason::Faulted(fault) = &gone
            && let Err(error) = self.cx.store.set_fault(&self.cx.id, Some(fault.clone())).await
        {
            warn!(%error, "a fault could not be kept");
        }
        DriverExit::Unload(gone)
    }

    /// Writes what is in memory, if that is believed still: a session that is another's by now refuses it. Returns why
    /// the driver cannot go on.
    async fn write_last(&mut self, fatal: Fatal) -> Fatal {
        match fatal {
            Fatal::LeaseLost => {
                // What has ended and is not heard yet is an outcome, and not lost (journal.md R5).
                let heard = self.drop_guest().await;
                if let Err(error) = heard.and(self.ledger.flush(None).await) {
                    warn!(%error, "what was done under the lease that has run out is not written");
                }
                Fatal::LeaseLost
            }
            Fatal::Fault(_) | Fatal::Host(_) => {
                self.phase = Phase::Ended;
                self.ledger.flush(None).await.err().unwrap_or(fatal)
            }
            other => other,
        }
    }
}
