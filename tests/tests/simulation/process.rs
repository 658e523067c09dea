//! The hosts of one life: a process, and others beside it while several believe that a session is theirs. It loads
//! sessions, lets people send, and ends when all have settled, when nothing happens any more, or when it is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rewake_runtime::live::{Live, UnloadReason};
use rewake_runtime::{Host, HostError, Loaded};
use rewake_store::Inbox as _;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::faults::LEASE_GONE_MS;
use crate::people::{Act, Idle};
use crate::plan::Walls;
use crate::sim::{QUIET, Signal, Sim};
use crate::stage::Stage;
use crate::store::FaultStore;
use crate::time::HostClock;

/// Nothing has happened for so long, in a world in which time passes when nothing is left to do.
const STUCK: Duration = Duration::from_secs(100);
/// What a process does that went on at the very end has been done by then.
const LULL: Duration = Duration::from_secs(5);
/// What one life hears at most before its sessions settle.
const SIGNALS_MAX: u32 = 6_000;

/// Longer than any clock is ahead.
const MONTH_MS: u64 = 30 * 24 * 60 * 60 * 1_000;
/// A session has few turns, and each waits for few times.
const WAITS_MAX: u32 = 20;
/// How often a host that another one keeps a session from tries in a row, before it leaves it to that.
const REFUSALS_MAX: u32 = 20;

/// How a life ended.
pub(crate) enum Life {
    Killed,
    Settled,
    Stuck(String),
}

/// The hosts of one life.
pub(crate) struct Process<'a> {
    stage: &'a Stage,
    snapshot_entries: u64,
    sim: &'a Arc<Sim>,
    signals: UnboundedSender<Signal>,
    heard: UnboundedReceiver<Signal>,
    /// Hosts so far, of all lives.
    hosts: &'a mut u32,
    running: BTreeMap<u32, Running>,
    kill_at: Option<Instant>,
    /// Loads in a row that were refused.
    refusals: u32,
    /// People have looked by themselves.
    has_asked: bool,
    /// How often still nothing may happen for a month.
    waits_left: u32,
    /// All has settled, and a process that stood still goes on.
    is_over: bool,
}

/// A host, and the sessions that it runs or is about to.
struct Running {
    host: Host,
    sessions: BTreeSet<usize>,
    loaded: BTreeMap<usize, Loaded>,
}

impl<'a> Process<'a> {
    pub(crate) fn new(
        stage: &'a Stage,
        snapshot_entries: u64,
        sim: &'a Arc<Sim>,
        hosts: &'a mut u32,
    ) -> Self {
        let (signals, heard) = unbounded_channel();
        sim.begin(signals.clone());
        let running = BTreeMap::new();
        Process {
            stage,
            snapshot_entries,
            sim,
            signals,
            heard,
            hosts,
            running,
            kill_at: None,
            refusals: 0,
            has_asked: false,
            waits_left: WAITS_MAX,
            is_over: false,
        }
    }

    pub(crate) async fn live(&mut self) -> Life {
        let all = 0..self.sim.lock().scenes.len();
        self.open(all.collect());
        for _ in 0..SIGNALS_MAX {
            let kill_at = self.kill_at;
            let signal = tokio::select! {
                biased;
                Some(signal) = self.heard.recv() => signal,
                () = tokio::time::sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    self.sim.note("killed now".into());
                    self.sim.killed();
                    continue;
                }
                () = tokio::time::sleep(if self.is_over { LULL } else { STUCK }) => {
                    if self.sim.thaw(true) || self.sets_clocks_right() || self.asks() || self.waits() {
                        continue;
                    }
                    if self.is_over {
                        return Life::Settled;
                    }
                    return Life::Stuck("stuck: nothing happens, and not all has settled".into());
                }
            };
            for signal in self.all_of_now(signal).await {
                if let Some(life) = self.hear(signal) {
                    return life;
                }
            }
        }
        Life::Stuck(format!("it does not settle: {SIGNALS_MAX} signals"))
    }

    /// What waits for a time that a wrong clock does not come to waits until somebody sets it right.
    fn sets_clocks_right(&self) -> bool {
        let was_wrong = !self.is_over && self.sim.lock().time.set_right();
        if was_wrong {
            self.sim.note("the wall clocks are set right".into());
        }
        was_wrong
    }

    /// People who sent by a host that never came to run the session were told of no end: they look once by themselves.
    fn asks(&mut self) -> bool {
        let asks = !self.is_over && !std::mem::replace(&mut self.has_asked, true);
        let sessions = self.sim.lock().scenes.len();
        (0..sessions).filter(|_| asks).for_each(|session| self.sim.signal(Signal::Idle(session)));
        asks
    }

    /// What was told by a clock that was ahead to wait for a time waits until then by the right one, too.
    fn waits(&mut self) -> bool {
        let is_unruly = self.sim.lock().scenes.iter().any(|scene| scene.walls == Walls::Unruly);
        let waits = is_unruly && !self.is_over && self.waits_left > 0;
        if waits {
            self.waits_left -= 1;
            self.sim.note("nothing happens for a month".into());
            self.sim.leap(MONTH_MS);
        }
        waits
    }

    /// Everything that is heard until nothing is left to be done but to wait, in one order. A killed process does
    /// nothing any more.
    async fn all_of_now(&mut self, first: Signal) -> Vec<Signal> {
        let mut signals = vec![first];
        if !matches!(signals[0], Signal::Killed) {
            tokio::time::sleep(QUIET).await;
        }
        while let Ok(signal) = self.heard.try_recv() {
            signals.push(signal);
        }
        signals.sort_by_key(Signal::rank);
        signals
            .dedup_by(|one, two| matches!((one, two), (Signal::Idle(one), Signal::Idle(two)) if one == two));
        signals
    }

    /// Opens another host and has it take these sessions up.
    fn open(&mut self, sessions: Vec<usize>) {
        *self.hosts += 1;
        let n = *self.hosts;
        let store = Arc::new(FaultStore { sim: self.sim.clone(), host: n });
        let clock = Arc::new(HostClock { sim: self.sim.clone(), host: n });
        let ids =
            sessions.iter().map(|session| self.sim.lock().scenes[*session].id.clone()).collect::<Vec<_>>();
        let host = self.stage.host(n, &ids, self.snapshot_entries, store, clock);
        {
            let mut state = self.sim.lock();
            let wrong_ms = state.scenes[sessions[0]].faults.wall_ms();
            state.time.set(n, wrong_ms);
            for session in &sessions {
                state.scenes[*session].newest = Some(host.clone());
            }
        }
        let loaded = BTreeMap::new();
        self.running.insert(n, Running { host, sessions: sessions.iter().copied().collect(), loaded });
        for session in sessions {
            self.load(n, session, Duration::ZERO);
        }
    }

    fn load(&mut self, n: u32, session: usize, after: Duration) {
        let Some(running) = self.running.get(&n) else { return };
        let (host, signals) = (running.host.clone(), self.signals.clone());
        let id = self.sim.lock().scenes[session].id.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let (loaded, mut follower) = match host.load(&id).await {
                Ok((loaded, follower)) => (Ok(loaded), Some(follower)),
                Err(error) => (Err(error), None),
            };
            drop(host);
            let _ = signals.send(Signal::Loaded(n, session, loaded));
            while let Some(follower) = &mut follower {
                let told = match follower.recv().await {
                    Ok(Live::Idle) => Signal::Idle(session),
                    Ok(Live::Unloaded(gone)) => Signal::Gone(n, session, gone),
                    Ok(_) | Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => return,
                };
                let _ = signals.send(told);
            }
        });
    }

    fn hear(&mut self, signal: Signal) -> Option<Life> {
        match signal {
            Signal::Killed => return Some(Life::Killed),
            Signal::KillIn(after) => self.kill_at = Some(Instant::now() + after),
            Signal::TakeOver(sessions) => self.open(sessions),
            Signal::Thaw => drop(self.sim.thaw(false)),
            Signal::LetGo(session) => self.let_go(session),
            Signal::Act(session, act) => self.sim.send(session, &act),
            Signal::Loaded(n, session, Ok(loaded)) => {
                self.refusals = 0;
                if let Some(running) = self.running.get_mut(&n) {
                    running.loaded.insert(session, loaded);
                }
            }
            Signal::Loaded(n, session, Err(error)) => return self.refused(n, session, error),
            Signal::Idle(session) => return self.idle(session),
            Signal::Gone(n, session, gone) => return self.gone(n, session, gone),
        }
        None
    }

    fn let_go(&mut self, session: usize) {
        let newest = self.running.values().rev().find_map(|running| running.loaded.get(&session).cloned());
        if let Some(loaded) = newest {
            tokio::spawn(async move { loaded.unload("simulated").await });
        }
    }

    fn idle(&mut self, session: usize) -> Option<Life> {
        let id = self.sim.lock().scenes[session].id.clone();
        let pending = self.sim.inner.pending(&id).now_or_never().expect("memory");
        let pending = pending.unwrap_or_default();
        loop {
            let next = {
                let mut state = self.sim.lock();
                let scene = &mut state.scenes[session];
                scene.crowd.idle(&scene.view, &pending)
            };
            match next {
                // It is refused, and no host hears of it.
                Idle::Do(act @ Act::Reuse(_)) => self.sim.act(session, &act),
                // No host hears of one that is refused, or was taken before, and each finds the others when it looks.
                Idle::Do(Act::Send(at)) if self.sim.is_about_a_message(session, at) => {
                    let sent = || self.sim.lock().scenes[session].crowd.sent[at].clone();
                    let was_acked = sent().acked.is_some();
                    self.sim.act(session, &Act::Send(at));
                    if !was_acked && !sent().refused {
                        return None;
                    }
                }
                Idle::Do(act) => {
                    self.sim.send(session, &act);
                    return None;
                }
                Idle::Wait => return None,
                Idle::Settled => return self.settled(session),
            }
        }
    }

    /// A session has settled. Whoever stands still must not undo that.
    fn settled(&mut self, session: usize) -> Option<Life> {
        let is_all = {
            let mut state = self.sim.lock();
            state.scenes[session].is_settled = true;
            state.scenes.iter().all(|scene| scene.is_settled)
        };
        if !is_all {
            return None;
        }
        if self.sim.thaw(true) || self.is_over {
            self.is_over = true;
            return None;
        }
        Some(Life::Settled)
    }

    /// A host could not load a session: it tries again when anyone who has the lease has lost it. One that lives, and
    /// perhaps waits for a time that its wrong clock does not come to, keeps its lease in the end.
    fn refused(&mut self, n: u32, session: usize, error: HostError) -> Option<Life> {
        self.sim.note(format!("host {n} does not load {session}: {error}"));
        if let HostError::Faulted { fault, .. } = error {
            return Some(Life::Stuck(format!("a fault: {} {}", fault.reason, fault.detail)));
        }
        self.refusals += 1;
        if self.refusals.is_multiple_of(REFUSALS_MAX) {
            self.sets_clocks_right();
            if self.leaves(n, session) {
                return None;
            }
        }
        self.sim.leap(LEASE_GONE_MS);
        self.load(n, session, Duration::from_secs(1));
        None
    }

    /// A host leaves a session to another one, if there is one that runs it.
    fn leaves(&mut self, n: u32, session: usize) -> bool {
        let others = self.running.iter().rev().filter(|(other, _)| **other != n);
        let has = others.filter(|(_, running)| running.sessions.contains(&session));
        let Some(host) = has.map(|(_, running)| running.host.clone()).next() else { return false };
        self.sim.note(format!("host {n} leaves {session} to another"));
        self.sim.lock().scenes[session].newest = Some(host);
        self.forget(n, session);
        true
    }

    fn forget(&mut self, n: u32, session: usize) {
        let Some(running) = self.running.get_mut(&n) else { return };
        running.sessions.remove(&session);
        running.loaded.remove(&session);
        if running.sessions.is_empty() {
            self.running.remove(&n);
        }
    }

    /// A host no longer runs a session. Some host must.
    fn gone(&mut self, n: u32, session: usize, gone: UnloadReason) -> Option<Life> {
        self.sim.note(format!("host {n} has let go of {session}: {gone:?}"));
        // An older one may not have noticed that the session is no longer its own.
        let newest = self.running.iter().rev().find(|(_, running)| running.sessions.contains(&session));
        let is_newest = newest.is_some_and(|(newest, _)| *newest == n);
        self.forget(n, session);
        match gone {
            UnloadReason::Ended => return self.settled(session),
            UnloadReason::Faulted(fault) => {
                return Some(Life::Stuck(format!("a fault: {} {}", fault.reason, fault.detail)));
            }
            UnloadReason::Unloaded | UnloadReason::Fenced | UnloadReason::Failed(_) => {}
        }
        if is_newest {
            self.open(vec![session]);
        }
        None
    }
}
