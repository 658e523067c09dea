//! What outlives every host of a seed: the store and its clock, the people, what is still to go wrong, and notes of
//! what happened. It decides, at every operation of a host on the store, what else happens there.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use rewake_core::command::Command;
use rewake_core::ids::{HostId, SessionId, Timestamp};
use rewake_runtime::live::Gone;
use rewake_runtime::{Host, HostError, Loaded};
use rewake_store::{Append, Inbox as _, Journal as _, MemoryStore, StoreError};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::faults::{Faults, Which};
use crate::people::{Act, Crowd, View, Way};
use crate::plan::Plan;

/// Longer than a lease lasts.
const LEASE_GONE: Duration = Duration::from_secs(60);

/// What whoever runs the hosts is told.
pub(crate) enum Signal {
    /// The process was killed.
    Killed,
    /// It is to be killed so much later.
    KillIn(Duration),
    /// Another process takes the session over.
    TakeOver,
    /// The session is let go of in good order.
    LetGo,
    /// A process that stands still goes on.
    Thaw,
    /// Somebody sends something, and tells the host.
    Act(Act),
    /// A host has loaded the session, or not.
    Loaded(u32, Result<Loaded, HostError>),
    /// A host no longer runs the session.
    Gone(u32, Gone),
    /// A host says that nothing is being done.
    Idle,
}

impl Signal {
    /// What is heard at the same moment is heard in this order.
    pub(crate) fn rank(&self) -> (u8, u32) {
        match self {
            Signal::Killed => (0, 0),
            Signal::Loaded(n, _) => (1, *n),
            Signal::Gone(n, _) => (2, *n),
            Signal::TakeOver => (3, 0),
            Signal::KillIn(_) => (4, 0),
            Signal::LetGo => (5, 0),
            Signal::Act(_) => (6, 0),
            Signal::Thaw => (7, 0),
            Signal::Idle => (8, 0),
        }
    }
}

/// How the store lies, to see that the checks notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// The first append that starts a tool is acknowledged and not written.
    Start,
    /// The first thing that is sent is acknowledged and not written.
    Send,
    /// What is kept as a snapshot says something else, under a digest that holds.
    Snapshot,
}

/// An append that the store took.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// Which host's it is.
    pub(crate) host: u32,
    /// Whose lease it was then.
    pub(crate) holder: Option<HostId>,
    pub(crate) epoch: u64,
    pub(crate) last_seq: u64,
}

/// A process that stands still.
struct Gate {
    host: u32,
    ops_left: u64,
    open: Arc<Notify>,
}

/// What outlives every host of a seed.
pub(crate) struct Sim {
    pub(crate) inner: MemoryStore,
    pub(crate) id: SessionId,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) faults: Faults,
    pub(crate) crowd: Crowd,
    pub(crate) view: View,
    pub(crate) lie: Option<Lie>,
    /// The ids of hosts, by their number.
    pub(crate) hosts: BTreeMap<u32, HostId>,
    pub(crate) dead: BTreeSet<HostId>,
    pub(crate) accepted: Vec<Accepted>,
    /// What happened, for whoever reads of a failure.
    pub(crate) actions: Vec<String>,
    /// How often each thing went wrong.
    pub(crate) counts: BTreeMap<String, u64>,
    /// What the people were told that cannot be.
    pub(crate) broken_promises: Vec<String>,
    /// The host that people send by.
    pub(crate) newest: Option<Host>,
    zombie: Option<(u32, Append)>,
    gates: Vec<Gate>,
    signals: Option<UnboundedSender<Signal>>,
    is_killed: bool,
    ms: i64,
    since: Option<Instant>,
}

impl Sim {
    pub(crate) fn new(seed: u64, plan: &Plan, inner: MemoryStore, id: SessionId, faults: Which) -> Arc<Sim> {
        // Guests read the machine's clock: what they wait for must be near in the store's time too.
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let state = State {
            faults: Faults::new(seed, faults),
            crowd: Crowd::new(seed, plan),
            view: View::default(),
            lie: None,
            hosts: BTreeMap::new(),
            dead: BTreeSet::new(),
            accepted: Vec::new(),
            actions: Vec::new(),
            counts: BTreeMap::new(),
            broken_promises: Vec::new(),
            newest: None,
            zombie: None,
            gates: Vec::new(),
            signals: None,
            is_killed: false,
            ms: i64::try_from(started.as_millis()).unwrap_or(0),
            since: None,
        };
        Arc::new(Sim { inner, id, state: Mutex::new(state) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A life begins: time passes, and signals are heard. What a refused commit left behind may be there now.
    pub(crate) fn begin(&self, signals: UnboundedSender<Signal>) {
        let mut state = self.lock();
        state.is_killed = false;
        state.signals = Some(signals);
        state.since = Some(Instant::now());
    }

    /// A life ends: every host in it is dead.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ms = state.now().0;
        state.since = None;
        state.signals = None;
        state.newest = None;
        state.gates.clear();
        let dead: Vec<HostId> = state.hosts.values().cloned().collect();
        state.dead.extend(dead);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.lock().now()
    }

    /// Every lease of now has ended, by the store's clock.
    pub(crate) fn expire_leases(&self) {
        let mut state = self.lock();
        state.ms += i64::try_from(LEASE_GONE.as_millis()).unwrap_or(0);
    }

    /// Whatever a killed process asks for is never answered.
    pub(crate) async fn alive(&self) {
        if self.lock().is_killed {
            pending::<()>().await;
        }
        self.inner.set_now(self.now());
    }

    /// The process is killed here.
    pub(crate) async fn kill<T>(&self) -> T {
        self.killed();
        pending().await
    }

    /// From here on nothing of the process reaches the store.
    pub(crate) fn killed(&self) {
        let mut state = self.lock();
        state.is_killed = true;
        state.signal(Signal::Killed);
    }

    /// An append reaches the store.
    pub(crate) fn commit(&self, host: u32, append: Append) -> Result<(), StoreError> {
        let records = append.records.clone();
        let epoch = append.epoch;
        self.inner.append(append).now_or_never().expect("memory answers at once")?;
        let holder = self.holder();
        let mut state = self.lock();
        state.view.read(&records);
        let last_seq = records.last().map_or(0, |record| record.seq);
        state.accepted.push(Accepted { host, holder, epoch, last_seq });
        Ok(())
    }

    fn holder(&self) -> Option<HostId> {
        use rewake_store::Leases as _;
        let lease = self.inner.holder(&self.id).now_or_never().expect("memory answers at once");
        lease.ok().flatten().map(|lease| lease.host)
    }

    /// Keeps an append whose commit failed, until the store is opened again.
    pub(crate) fn bury(&self, host: u32, append: Append) {
        self.lock().zombie = Some((host, append));
    }

    /// The store is opened again: a transaction that was refused may be in it after all. If others have been
    /// written since, it must not.
    pub(crate) fn reopened(&self) {
        let Some((host, append)) = self.lock().zombie.take() else { return };
        let came = self.commit(host, append).is_ok();
        self.lock().note(format!("the refused transaction is {}there", if came { "" } else { "not " }));
    }

    /// Another process has done something: one that stands still goes on after some of that.
    pub(crate) fn count_down(&self, host: u32) {
        let mut state = self.lock();
        for gate in state.gates.iter_mut().filter(|gate| gate.host != host) {
            gate.ops_left = gate.ops_left.saturating_sub(1);
        }
        if state.gates.iter().any(|gate| gate.ops_left == 0) {
            state.signal(Signal::Thaw);
        }
    }

    /// Whoever has stood still for long enough goes on; all of them, where nothing else moves any more. False if
    /// nobody does.
    pub(crate) fn thaw(&self, all: bool) -> bool {
        let mut state = self.lock();
        let gates = std::mem::take(&mut state.gates);
        let (open, shut): (Vec<Gate>, Vec<Gate>) =
            gates.into_iter().partition(|gate| all || gate.ops_left == 0);
        state.gates = shut;
        for gate in &open {
            state.note(format!("host {} goes on", gate.host));
            gate.open.notify_one();
        }
        !open.is_empty()
    }

    /// This process stands still, and another takes over.
    pub(crate) async fn freeze(&self, host: u32) {
        let open = Arc::new(Notify::new());
        {
            let mut state = self.lock();
            let ops_left = state.faults.thaw();
            state.gates.push(Gate { host, ops_left, open: open.clone() });
            state.signal(Signal::TakeOver);
        }
        open.notified().await;
        self.alive().await;
    }

    /// Somebody does something at this very moment.
    pub(crate) async fn interfere(&self, odds: u64) {
        let (act, way, host) = {
            let mut state = self.lock();
            let view = state.view.clone();
            let Some(act) = state.crowd.interfere(&view, odds) else { return };
            (act, state.crowd.way(), state.newest.clone())
        };
        match (way, host) {
            (Way::AtOnce, Some(host)) => self.send_by(&host, &act).await,
            (Way::WhenQuiet, _) => self.signal(Signal::Act(act)),
            (Way::Past | Way::AtOnce, _) => self.act(&act),
        }
    }

    /// Sends something by a host, which then looks for it. Whoever does not know what became of it sends it again.
    pub(crate) async fn send_by(&self, host: &Host, act: &Act) {
        let Act::Send(at) = *act else { return self.act(act) };
        let sent = self.lock().crowd.sent[at].clone();
        loop {
            let told = host.send(&self.id, sent.sender.clone(), sent.command.clone(), Some(sent.key.clone()));
            let told = match told.await {
                Ok(n) => Ok(n),
                Err(HostError::Store(error)) => Err(error),
                Err(other) => Err(StoreError::NotFound(other.to_string())),
            };
            self.told(act, &told);
            if !matches!(told, Err(StoreError::Unknown(_))) {
                return;
            }
        }
    }

    /// Sends something past every host, as another process does.
    pub(crate) fn act(&self, act: &Act) {
        let (Act::Send(at) | Act::Reuse(at)) = *act;
        let sent = self.lock().crowd.sent[at].clone();
        let mut command = sent.command;
        if let Act::Reuse(_) = act {
            command = Command::Interrupt { turn: u32::MAX };
        }
        let told = self.inner.send(&self.id, sent.sender, command, Some(sent.key));
        self.told(act, &told.now_or_never().expect("memory answers at once"));
    }

    /// What somebody was told of what was sent.
    pub(crate) fn told(&self, act: &Act, told: &Result<u64, StoreError>) {
        let mut state = self.lock();
        let (Act::Send(at) | Act::Reuse(at)) = *act;
        let has_ended = state.view.has_ended;
        let sent = &mut state.crowd.sent[at];
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
            (Act::Reuse(_), Err(StoreError::Refused(_))) => None,
            (act, told) => Some(format!("{act:?} of {} came to {told:?}", sent.key)),
        };
        state.broken_promises.extend(broken);
        state.note(line);
    }

    /// Tells whoever runs the hosts.
    pub(crate) fn signal(&self, signal: Signal) {
        self.lock().signal(signal);
    }

    pub(crate) fn note(&self, line: String) {
        self.lock().note(line);
    }

    pub(crate) fn count(&self, what: &str) {
        *self.lock().counts.entry(what.to_owned()).or_default() += 1;
    }
}

impl State {
    fn now(&self) -> Timestamp {
        let passed = self.since.map_or(0, |since| i64::try_from(since.elapsed().as_millis()).unwrap_or(0));
        Timestamp(self.ms + passed)
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(signals) = &self.signals {
            let _ = signals.send(signal);
        }
    }

    pub(crate) fn note(&mut self, line: String) {
        self.actions.push(line);
    }
}
