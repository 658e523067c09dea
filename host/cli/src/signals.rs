//! What a person or the system asks of a running process: the first Ctrl-C interrupts the open turn, the
//! second leaves at once, SIGTERM and SIGHUP let go in good order. Runs beside the stream, so that a reader
//! that stands still holds nothing up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_runtime::Host;
use rewake_wire::Sender;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::exit::{self, Failure, Outcome};
use crate::out::note;

/// What a signal is about.
pub(crate) struct Asked {
    /// The host that runs the session.
    pub(crate) host: Host,
    /// The session.
    pub(crate) id: SessionId,
    /// Who interrupts.
    pub(crate) sender: Sender,
    /// The open turn's number, 0 if there is none.
    pub(crate) open: Arc<AtomicU32>,
    /// How to go on later.
    pub(crate) resume: String,
}

/// Takes signals from now on, and says when the session is to be unloaded.
pub(crate) fn watch(asked: Asked) -> Result<mpsc::Receiver<Outcome>, Failure> {
    let open = |kind| signal(kind).map_err(|error| Failure::io("listening for signals", error));
    let interrupt = open(SignalKind::interrupt())?;
    let terminate = open(SignalKind::terminate())?;
    let hangup = open(SignalKind::hangup())?;
    let (leave, leaves) = mpsc::channel(4);
    tokio::spawn(listen(asked, leave, interrupt, terminate, hangup));
    Ok(leaves)
}

async fn listen(
    asked: Asked,
    leave: mpsc::Sender<Outcome>,
    mut interrupt: Signal,
    mut terminate: Signal,
    mut hangup: Signal,
) {
    let mut presses = 0;
    loop {
        tokio::select! {
            Some(()) = interrupt.recv() => {
                presses += 1;
                if presses > 1 {
                    note(&format!("left; resume with `{}`", asked.resume));
                    std::process::exit(i32::from(exit::LEFT));
                }
                if let Some(outcome) = asked.interrupt().await {
                    let _ = leave.send(outcome).await;
                }
            }
            Some(()) = terminate.recv() => { let _ = leave.send(Outcome::Terminated).await; }
            Some(()) = hangup.recv() => { let _ = leave.send(Outcome::Terminated).await; }
            else => return,
        }
    }
}

impl Asked {
    /// Interrupts the open turn; if there is none, the session is left.
    async fn interrupt(&self) -> Option<Outcome> {
        let turn = self.open.load(Ordering::Relaxed);
        if turn == 0 {
            return Some(Outcome::Left);
        }
        let sent = self.host.send(&self.id, self.sender.clone(), Command::Interrupt { turn }, None).await;
        match sent {
            Ok(_) => {
                note(&format!("interrupts turn {turn}; press Ctrl-C again to leave at once"));
                None
            }
            Err(error) => {
                note(&format!("turn {turn} cannot be interrupted: {error}"));
                Some(Outcome::Left)
            }
        }
    }
}
