//! What people send to the sessions of a seed, and what they are told: by a host, or past every host.

use std::sync::Arc;

use futures_util::FutureExt as _;
use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_runtime::{Host, HostError};
use rewake_store::{Inbox as _, StoreError};

use crate::people::{Act, Way};
use crate::sim::{Signal, Sim};

impl Sim {
    /// Somebody does something at this very moment.
    pub(crate) async fn interfere(&self, session: usize, odds: u64) {
        let (act, way, host) = {
            let mut state = self.lock();
            let scene = &mut state.scenes[session];
            let Some(act) = scene.crowd.interfere(&scene.view, odds) else { return };
            (act, scene.crowd.way(), scene.newest.clone())
        };
        match (way, host) {
            (Way::AtOnce, Some(host)) => self.send_by(session, &host, &act).await,
            (Way::WhenQuiet, _) => self.signal(Signal::Act(session, act)),
            (Way::Past | Way::AtOnce, _) => self.act(session, &act),
        }
    }

    /// Sends something by a session's newest host, in a task of its own.
    pub(crate) fn send(self: &Arc<Self>, session: usize, act: &Act) {
        let newest = self.lock().scenes[session].newest.clone();
        let Some(host) = newest else { return self.act(session, act) };
        let (sim, act) = (self.clone(), act.clone());
        tokio::spawn(async move { sim.send_by(session, &host, &act).await });
    }

    /// Sends something by a host, which then looks for it. Anyone who does not know what became of it sends it again.
    async fn send_by(&self, session: usize, host: &Host, act: &Act) {
        let Act::Send(at) = *act else { return self.act(session, act) };
        let (id, sent) = {
            let scene = &self.lock().scenes[session];
            (scene.id.clone(), scene.crowd.sent[at].clone())
        };
        loop {
            let told = host.send(&id, sent.sender.clone(), sent.command.clone(), Some(sent.key.clone()));
            let told = match told.await {
                Ok(n) => Ok(n),
                Err(HostError::Store(error)) => Err(error),
                Err(other) => Err(StoreError::NotFound(other.to_string())),
            };
            self.told(session, act, &told);
            if !matches!(told, Err(StoreError::Unknown(_))) {
                return;
            }
        }
    }

    /// Sends something past every host, as another process does.
    pub(crate) fn act(&self, session: usize, act: &Act) {
        let (Act::Send(at) | Act::Reuse(at)) = *act;
        let (id, sent) = {
            let scene = &self.lock().scenes[session];
            (scene.id.clone(), scene.crowd.sent[at].clone())
        };
        let mut command = sent.command;
        if let Act::Reuse(_) = act {
            command = Command::Interrupt { turn: u32::MAX };
        }
        let told = self.inner.send(&id, sent.sender, command, Some(sent.key));
        self.told(session, act, &told.now_or_never().expect("memory answers at once"));
    }

    /// Whether this is an edit, a cancellation or a promotion.
    pub(crate) fn is_about_a_message(&self, session: usize, at: usize) -> bool {
        self.lock().scenes[session].crowd.sent[at].command.target().is_some()
    }

    /// What somebody was told of what was sent.
    fn told(&self, session: usize, act: &Act, told: &Result<u64, StoreError>) {
        let mut state = self.lock();
        let scene = &mut state.scenes[session];
        let (Act::Send(at) | Act::Reuse(at)) = *act;
        let has_ended = scene.view.has_ended;
        scene.is_settled &= has_ended || told.is_err();
        let sent = &mut scene.crowd.sent[at];
        let line = format!("{:?} {} {:?}: {told:?}", act, sent.key, sent.command);
        let broken = match (act, told) {
            (Act::Send(_), Ok(n)) if sent.acked.is_none_or(|before| before == *n) => {
                sent.acked = Some(*n);
                None
            }
            (Act::Send(_), Ok(n)) => Some(format!("{} is row {n} and row {:?}", sent.key, sent.acked)),
            (Act::Send(_) | Act::Reuse(_), Err(StoreError::Unknown(_))) => None,
            (Act::Send(_), Err(StoreError::Refused(_))) if has_ended && sent.acked.is_none() => {
                sent.refused = true;
                None
            }
            (Act::Send(_), Err(StoreError::Refused(refusal)))
                if sent.command.target().is_some()
                    && sent.acked.is_none()
                    && !matches!(refusal, Refusal::Limit { .. }) =>
            {
                sent.refused = true;
                None
            }
            (Act::Reuse(_), Err(StoreError::Refused(_))) => None,
            (act, told) => Some(format!("{act:?} of {} came to {told:?}", sent.key)),
        };
        scene.broken_promises.extend(broken);
        state.note(line);
    }
}
