//! A session that a host runs, as anyone who asked for it holds it: to follow it, and to have unload it.
//! What happens to the session is its driver's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rewake_core::error::Refusal;
use rewake_core::ids::SessionId;
use rewake_core::money::Usd;
use rewake_wire::Sender;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

use crate::live::{Followers, Live, UnloadReason};

/// A request to a driver.
#[derive(Debug)]
pub(crate) enum DriverRequest {
    /// Unload the session, whatever is being done.
    Now {
        /// Why.
        why: String,
    },
    /// Unload it only if nothing is being done.
    IfIdle {
        /// Why.
        why: String,
        /// Told, if something is.
        busy: oneshot::Sender<()>,
    },
    /// Change what its models may cost.
    Budget {
        /// The cap; none: as much as they like.
        max_usd: Option<Usd>,
        /// Whose doing it is.
        by: Sender,
        /// Told what came of it.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
}

/// A session that this host runs.
#[derive(Clone)]
pub struct Loaded {
    /// Its id.
    pub id: SessionId,
    pub(crate) followers: Followers,
    pub(crate) wake: Arc<Notify>,
    pub(crate) requests: mpsc::Sender<DriverRequest>,
    /// It is being unloaded: a new request loads it again.
    pub(crate) unloading: Arc<AtomicBool>,
    pub(crate) reason: watch::Receiver<Option<UnloadReason>>,
}

impl Loaded {
    /// Follows the session: what happens from now on.
    pub fn follow(&self) -> broadcast::Receiver<Live> {
        self.followers.follow()
    }

    /// Asks for it to be unloaded, and waits until it is.
    pub async fn unload(&self, why: &str) -> UnloadReason {
        self.unloading.store(true, Ordering::Release);
        let _ = self.requests.send(DriverRequest::Now { why: why.to_owned() }).await;
        self.unloaded().await
    }

    /// The same, if nothing is being done. None, if something is: [`Live::Idle`] is told again after it.
    /// What is told of idleness may be over when it is heard; this is not.
    pub async fn unload_if_idle(&self, why: &str) -> Option<UnloadReason> {
        let (busy, told) = oneshot::channel();
        let _ = self.requests.send(DriverRequest::IfIdle { why: why.to_owned(), busy }).await;
        match told.await {
            Ok(()) => None,
            Err(_) => Some(self.unloaded().await),
        }
    }

    /// Changes what the session's models may cost, from the next call on (`budget.changed`).
    ///
    /// # Errors
    /// If the session's rules refuse it, or the session was unloaded meanwhile.
    pub async fn set_budget(&self, max_usd: Option<Usd>, by: Sender) -> Result<(), Refusal> {
        let (reply, told) = oneshot::channel();
        let _ = self.requests.send(DriverRequest::Budget { max_usd, by, reply }).await;
        let gone = || Refusal::Conflict(format!("session {} was unloaded; try again", self.id));
        told.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits until this host no longer runs it.
    pub async fn unloaded(&self) -> UnloadReason {
        let mut reason = self.reason.clone();
        match reason.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or(UnloadReason::Unloaded),
            Err(_) => UnloadReason::Failed("its driver died".into()),
        }
    }
}
