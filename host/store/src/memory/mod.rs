//! A store in memory: the same answers as the embedded one, and none of its durability. For tests, and for sessions that
//! nobody wants back.

#[cfg(any(test, feature = "testing"))]
mod failures;
mod installed;
mod kept;
mod ports;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use rewake_core::command::Command;
use rewake_core::ids::{Digest, SessionId, Timestamp};
use rewake_wire::Sender;

use crate::ports::{Arrivals, Bundle, BundleName, Installed};
use kept::Kept;

#[cfg(any(test, feature = "testing"))]
pub use failures::Failure;

/// A store in memory.
#[derive(Default)]
pub struct MemoryStore {
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    sessions: BTreeMap<SessionId, Kept>,
    /// Sessions in the order of their creation.
    order: Vec<SessionId>,
    blobs: BTreeMap<(String, Digest), Vec<u8>>,
    /// Bundles in the order of their coming.
    bundles: Vec<(BundleName, Bundle)>,
    /// What is installed, by project, in the order of its coming.
    installed: Vec<(String, Installed)>,
    /// Whose each row of any inbox is, in the order of their coming.
    rows: Vec<SessionId>,
    #[cfg(any(test, feature = "testing"))]
    asked: failures::Asked,
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        // A test that panicked while it held the lock has said what is wrong already.
        self.all.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl All {
    fn now(&self) -> Timestamp {
        #[cfg(any(test, feature = "testing"))]
        if let Some(now) = self.asked.now {
            return now;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn session(&self, id: &SessionId) -> crate::Result<&Kept> {
        self.sessions.get(id).ok_or_else(|| crate::StoreError::no_session(id))
    }

    fn send(
        &mut self,
        id: &SessionId,
        sender: Sender,
        command: Command,
        key: Option<String>,
    ) -> crate::Result<u64> {
        let kept = self.session_mut(id)?;
        let before = kept.through();
        let n = kept.send(sender, command, key)?;
        // One that came with the same key before is there already.
        if n > before {
            self.rows.push(id.clone());
        }
        Ok(n)
    }

    fn arrivals(&self, after: u64) -> Arrivals {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let came: BTreeSet<&SessionId> = self.rows.iter().skip(after).collect();
        Arrivals { newest: self.rows.len() as u64, sessions: came.into_iter().cloned().collect() }
    }

    fn session_mut(&mut self, id: &SessionId) -> crate::Result<&mut Kept> {
        self.sessions.get_mut(id).ok_or_else(|| crate::StoreError::no_session(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_the_contract() {
        let store = MemoryStore::new();
        crate::contract::check(&store).await;
    }

    #[tokio::test]
    async fn fails_as_it_is_told() {
        crate::contract::failures(&MemoryStore::new()).await;
    }

    #[tokio::test]
    async fn leases_end_by_its_clock() {
        crate::contract::clock(&MemoryStore::new()).await;
    }
}
