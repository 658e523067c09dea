//! What other processes send to sessions that this host runs. Nobody tells of it, so the store is asked: once for all
//! of them, as thousands that rest would ask thousands of times.

use std::sync::{Arc, Weak};
use std::time::Duration;

use rewake_store::StoreError;
use tracing::warn;

use super::{Host, Inner};

/// How often the store is asked: what another process sends is accepted so soon.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl Host {
    /// Begins to look, with the first session that is loaded.
    pub(super) async fn heed_arrivals(&self) -> Result<(), StoreError> {
        let begin = async || {
            // What is there by now is read by every session that is loaded from now on.
            let newest = self.0.store.arrivals(u64::MAX).await?.newest;
            tokio::spawn(heed(Arc::downgrade(&self.0), newest));
            Ok(())
        };
        self.0.arrivals.get_or_try_init(begin).await.copied()
    }
}

/// Wakes the sessions that something came for, until the host is gone.
async fn heed(host: Weak<Inner>, mut newest: u64) {
    let mut is_failing = false;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let Some(inner) = host.upgrade() else { return };
        let arrivals = match inner.store.arrivals(newest).await {
            Ok(arrivals) => arrivals,
            Err(StoreError::Closed) => return,
            Err(error) => {
                // Said once: what is missed now is found at the first look that can be had.
                if !is_failing {
                    warn!(%error, "the store cannot be asked what came for its sessions");
                }
                is_failing = true;
                continue;
            }
        };
        is_failing = false;
        // Fewer than before, as rows that were seen are gone with a disk that failed: any session may have new ones.
        let is_another = arrivals.newest < newest;
        newest = arrivals.newest;
        let host = Host(inner);
        let came = match is_another {
            true => host.lock().values().cloned().collect(),
            false => arrivals.sessions.iter().filter_map(|id| host.loaded(id)).collect::<Vec<_>>(),
        };
        for loaded in came {
            loaded.wake.notify_one();
        }
    }
}
