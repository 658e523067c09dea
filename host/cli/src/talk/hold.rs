//! Whether this process has the session, and what comes from there. Loads it in the background, so that whoever
//! sits at the terminal is never waited for by anything.

use std::time::Duration;

use rewake_core::ids::SessionId;
use rewake_runtime::live::{Live, UnloadReason};
use rewake_runtime::{Host, HostError, Loaded};
use rewake_store::StoreError;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

/// How often the journal of a session that another process has is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often that is done until the session itself is asked for again.
const LOOKS: u32 = 5;

type Taken = Result<(Loaded, Receiver<Live>), HostError>;

/// The session, as this process has it.
pub(super) enum Hold {
    /// Nobody has to: nothing is due.
    Away,
    /// It is being loaded.
    Taking(JoinHandle<Taken>),
    /// This process has it.
    Here(Loaded, Receiver<Live>),
    /// Another process has it, and was asked for so many looks ago.
    Elsewhere(u32),
}

/// What came.
pub(super) enum Heard {
    /// The session is here now.
    Taken,
    /// Another process has it: who.
    Busy(String),
    /// It cannot be loaded.
    Failed(Box<HostError>),
    /// Something that followers are told.
    Live(Live),
    /// The journal may have something new.
    Look,
}

impl Hold {
    /// Loads the session, unless it is or is being.
    pub(super) fn take_up(&mut self, host: &Host, id: &SessionId) {
        if matches!(self, Hold::Away) {
            *self = Hold::taking(host, id);
        }
    }

    fn taking(host: &Host, id: &SessionId) -> Hold {
        let (host, id) = (host.clone(), id.clone());
        Hold::Taking(tokio::spawn(async move { host.load(&id).await }))
    }

    /// Waits for what comes next.
    pub(super) async fn next(&mut self, host: &Host, id: &SessionId) -> Heard {
        match self {
            Hold::Away => std::future::pending().await,
            Hold::Taking(taken) => {
                let taken = taken.await;
                let (hold, heard) = match taken {
                    Ok(Ok((loaded, live))) => (Hold::Here(loaded, live), Heard::Taken),
                    Ok(Err(HostError::Store(StoreError::Busy { holder, process, .. }))) => {
                        let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
                        (Hold::Elsewhere(0), Heard::Busy(format!("{holder}{process}")))
                    }
                    Ok(Err(error)) => (Hold::Away, Heard::Failed(Box::new(error))),
                    Err(error) => {
                        let error = HostError::Machine(format!("a bug of this host: {error}"));
                        (Hold::Away, Heard::Failed(Box::new(error)))
                    }
                };
                *self = hold;
                heard
            }
            Hold::Here(loaded, live) => match live.recv().await {
                Ok(Live::Unloaded(gone)) => self.gone(gone),
                Ok(live) => Heard::Live(live),
                Err(RecvError::Lagged(_)) => Heard::Look,
                Err(RecvError::Closed) => {
                    let gone = loaded.unloaded().await;
                    self.gone(gone)
                }
            },
            Hold::Elsewhere(looks) => {
                tokio::time::sleep(POLL_INTERVAL).await;
                *looks += 1;
                if *looks >= LOOKS {
                    *self = Hold::taking(host, id);
                }
                Heard::Look
            }
        }
    }

    fn gone(&mut self, gone: UnloadReason) -> Heard {
        *self = Hold::Away;
        Heard::Live(Live::Unloaded(gone))
    }

    /// Unloads it, if nothing is being done. None: it is not here, or something is.
    pub(super) async fn rest(&mut self) -> Option<UnloadReason> {
        let Hold::Here(loaded, _) = self else { return None };
        let gone = loaded.unload_if_idle("idle").await?;
        *self = Hold::Away;
        Some(gone)
    }

    /// Unloads it, whatever is being done.
    pub(super) async fn leave(&mut self) {
        match std::mem::replace(self, Hold::Away) {
            Hold::Here(loaded, _) => {
                loaded.unload("shutdown").await;
            }
            Hold::Taking(taken) => {
                if let Ok(Ok((loaded, _))) = taken.await {
                    loaded.unload("shutdown").await;
                }
            }
            Hold::Away | Hold::Elsewhere(_) => {}
        }
    }
}
