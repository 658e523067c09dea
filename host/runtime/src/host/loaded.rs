//! A session that a host runs, as who asked for it holds it: to follow it, and to have it let go of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rewake_core::ids::SessionId;
use tokio::sync::{Notify, broadcast, mpsc, watch};

use crate::live::{Followers, Gone, Live};

/// A session that this host runs.
#[derive(Clone)]
pub struct Loaded {
    /// Its id.
    pub id: SessionId,
    pub(super) followers: Followers,
    pub(super) wake: Arc<Notify>,
    pub(super) unload: mpsc::Sender<String>,
    /// It is being let go of: whoever wants it takes it up anew.
    pub(super) leaving: Arc<AtomicBool>,
    pub(super) gone: watch::Receiver<Option<Gone>>,
}

impl Loaded {
    /// Follows the session: what happens from now on.
    pub fn follow(&self) -> broadcast::Receiver<Live> {
        self.followers.follow()
    }

    /// Asks for it to be let go of, and waits until it is.
    pub async fn unload(&self, why: &str) -> Gone {
        self.leaving.store(true, Ordering::Release);
        let _ = self.unload.send(why.to_owned()).await;
        self.gone().await
    }

    /// Waits until this host no longer runs it.
    pub async fn gone(&self) -> Gone {
        let mut gone = self.gone.clone();
        match gone.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or(Gone::Unloaded),
            Err(_) => Gone::Failed("its driver died".into()),
        }
    }
}
