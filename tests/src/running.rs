//! A session that a host runs, followed: tests wait for what happens, never for time to pass.

use std::sync::Arc;

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_runtime::live::{Live, UnloadReason};
use rewake_runtime::{Host, HostError, Loaded};
use rewake_wire::{Event, Part};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::world::{HANGS, Outcome, ann, send};

/// A session that a host runs, and what was heard of it.
pub struct Running {
    host: Host,
    id: SessionId,
    loaded: Loaded,
    follower: broadcast::Receiver<Live>,
    /// What it said that it was doing.
    pub activities: Vec<String>,
}

impl Running {
    /// Loads a session.
    ///
    /// # Panics
    /// If it cannot be loaded.
    pub async fn load(host: &Host, id: &SessionId) -> Self {
        Running::try_load(host, id).await.expect("loaded")
    }

    /// Loads a session.
    ///
    /// # Errors
    /// As the host says.
    pub async fn try_load(host: &Host, id: &SessionId) -> Result<Self, HostError> {
        let (loaded, follower) = host.load(id).await?;
        Ok(Running { host: host.clone(), id: id.clone(), loaded, follower, activities: Vec::new() })
    }

    /// Sends a message to a session, loads it, and follows it from there.
    ///
    /// # Panics
    /// If it cannot be sent or loaded.
    pub async fn start(host: &Host, id: &SessionId, text: &str) -> Self {
        send(host, id, text).await;
        Running::load(host, id).await
    }

    /// Loads a session and waits until it rests.
    ///
    /// # Panics
    /// If it does not come to rest.
    pub async fn rested(host: &Host, id: &SessionId) -> Self {
        let mut running = Running::load(host, id).await;
        assert_eq!(running.rest().await, Outcome::Idle);
        running
    }

    /// Sends a message.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn send(&mut self, text: &str) -> u64 {
        self.command(Command::Message { parts: vec![Part::text(text)] }).await.expect("taken")
    }

    /// Sends a command. What was heard before it is forgotten, so that what is heard next comes after it.
    ///
    /// # Errors
    /// As the host says.
    pub async fn command(&mut self, command: Command) -> Result<u64, HostError> {
        self.command_with_key(command, None).await
    }

    /// Sends a command that is to be taken once, however often it is sent.
    ///
    /// # Errors
    /// As the host says.
    pub async fn command_with_key(
        &mut self,
        command: Command,
        key: Option<String>,
    ) -> Result<u64, HostError> {
        while let Ok(live) = self.follower.try_recv() {
            self.note(&live);
        }
        self.host.send(&self.id, ann(), command, key).await
    }

    /// Waits for the next entry of a kind.
    ///
    /// # Panics
    /// If none comes.
    pub async fn event(&mut self, kind: &str) -> Arc<Event> {
        loop {
            match self.next().await {
                Some(Live::Entry(shown)) if shown.kind() == kind => return Arc::new(shown.event().clone()),
                Some(Live::Unloaded(gone)) => panic!("gone ({gone:?}) before {kind}"),
                None => panic!("closed before {kind}"),
                Some(_) => {}
            }
        }
    }

    /// Waits until it rests.
    ///
    /// # Panics
    /// If it never does.
    pub async fn rest(&mut self) -> Outcome {
        loop {
            match self.next().await {
                Some(Live::Idle) => return Outcome::Idle,
                Some(Live::Unloaded(gone)) => return Outcome::Gone(gone),
                None => return Outcome::Gone(UnloadReason::Unloaded),
                Some(_) => {}
            }
        }
    }

    /// Has the host unloaded it.
    pub async fn unload(self) -> UnloadReason {
        self.loaded.unload("test").await
    }

    /// Has the host unloaded it, unless it has something to do: then false.
    pub async fn unload_if_idle(&self) -> bool {
        self.loaded.unload_if_idle("test").await.is_some()
    }

    async fn next(&mut self) -> Option<Live> {
        loop {
            let heard = tokio::time::timeout(HANGS, self.follower.recv()).await;
            match heard.expect("the session hangs") {
                Ok(live) => {
                    self.note(&live);
                    return Some(live);
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn note(&mut self, live: &Live) {
        if let Live::Activity(line) = live {
            self.activities.push(line.clone());
        }
    }
}
