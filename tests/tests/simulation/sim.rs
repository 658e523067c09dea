//! What outlives every host of a seed: the store, time, the sessions, and notes of what happened. It decides, at every
//! operation of a host on the store, what else happens there.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use rewake_core::ids::{HostId, SessionId};
use rewake_runtime::live::UnloadReason;
use rewake_runtime::{HostError, Loaded};
use rewake_store::{Append, Journal as _, Lease, Leases as _, MemoryStore, StoreError};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::appends::Member;
use crate::people::Act;
use crate::plan::Walls;
use crate::scene::{Accepted, Scene, Takeover};
use crate::time::Time;

/// Time passes only when nothing is left to do: whoever sleeps this long sleeps until then.
pub(crate) const QUIET: Duration = Duration::from_millis(1);
/// How often a host looks at its lease between an append and what it then does: its driver twice before a tool is
/// called, and the tool when it opens its file and when it writes.
pub(crate) const LOOKS: u32 = 4;
/// The same where the tool sleeps before that: its driver looks every half second meanwhile.
pub(crate) const LOOKS_MAX: u32 = 28;

/// What anyone who runs the hosts is told.
pub(crate) enum Signal {
    /// The process was killed.
    Killed,
    /// It is to be killed so much later.
    KillIn(Duration),
    /// Another process takes these sessions over.
    TakeOver(Vec<usize>),
    /// A session is unloaded in good order.
    LetGo(usize),
    /// A process that stands still goes on.
    Thaw,
    /// Somebody sends something to a session, and tells the host.
    Act(usize, Act),
    /// A host has loaded a session, or not.
    Loaded(u32, usize, Result<Loaded, HostError>),
    /// A host no longer runs a session.
    Gone(u32, usize, UnloadReason),
    /// A host says that nothing is being done in a session.
    Idle(usize),
}

impl Signal {
    /// What is heard at the same moment is heard in this order.
    pub(crate) fn rank(&self) -> (u8, u32, usize) {
        match self {
            Signal::Killed => (0, 0, 0),
            Signal::Loaded(n, session, _) => (1, *n, *session),
            Signal::Gone(n, session, _) => (2, *n, *session),
            Signal::TakeOver(sessions) => (3, 0, sessions.first().copied().unwrap_or(0)),
            Signal::KillIn(_) => (4, 0, 0),
            Signal::LetGo(session) => (5, 0, *session),
            Signal::Act(session, _) => (6, 0, *session),
            Signal::Thaw => (7, 0, 0),
            Signal::Idle(session) => (8, 0, *session),
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
    /// The boot clock of hosts stands still while they do, as one does that counts no suspended time.
    Clock,
}

/// A process that stands still.
struct Gate {
    host: u32,
    ops_left: u64,
    open: Arc<Notify>,
}

/// A host is about to begin something of a session: it looks at its lease.
struct Check {
    session: usize,
    looks: u32,
    /// At which look its process then stands still, and for how long.
    standstill: Option<(u32, u64)>,
}

/// What outlives every host of a seed.
pub(crate) struct Sim {
    pub(crate) inner: MemoryStore,
    /// Where hosts have their data folders.
    pub(crate) data: PathBuf,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) time: Time,
    pub(crate) scenes: Vec<Scene>,
    pub(crate) lie: Option<Lie>,
    /// The ids of hosts, by their number.
    pub(crate) hosts: BTreeMap<u32, HostId>,
    pub(crate) dead: BTreeSet<HostId>,
    /// What is to be written together, by the host.
    pub(crate) groups: BTreeMap<u32, Vec<Member>>,
    /// What happened, for anyone who reads of a failure.
    pub(crate) actions: Vec<String>,
    /// How often each thing went wrong.
    pub(crate) counts: BTreeMap<String, u64>,
    gates: Vec<Gate>,
    checks: BTreeMap<u32, Vec<Check>>,
    /// When each host last looked at its boot clock.
    looked_ms: BTreeMap<u32, u64>,
    signals: Option<UnboundedSender<Signal>>,
    is_killed: bool,
}

impl Sim {
    pub(crate) fn new(inner: MemoryStore, data: PathBuf, scenes: Vec<Scene>) -> Arc<Sim> {
        let state = State {
            time: Time::default(),
            scenes,
            lie: None,
            hosts: BTreeMap::new(),
            dead: BTreeSet::new(),
            groups: BTreeMap::new(),
            actions: Vec::new(),
            counts: BTreeMap::new(),
            gates: Vec::new(),
            checks: BTreeMap::new(),
            looked_ms: BTreeMap::new(),
            signals: None,
            is_killed: false,
        };
        Arc::new(Sim { inner, data, state: Mutex::new(state) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which of the seed's sessions it is.
    pub(crate) fn session(&self, id: &SessionId) -> usize {
        self.lock().scenes.iter().position(|scene| scene.id == *id).expect("a session of the seed")
    }

    /// A life begins: time passes, and signals are heard.
    pub(crate) fn begin(&self, signals: UnboundedSender<Signal>) {
        let mut state = self.lock();
        state.is_killed = false;
        state.signals = Some(signals);
        state.time.begin();
        state.scenes.iter_mut().for_each(|scene| scene.is_settled = false);
    }

    /// A life ends: every host in it is dead.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.time.end();
        state.signals = None;
        state.gates.clear();
        state.groups.clear();
        state.checks.clear();
        let dead: Vec<HostId> = state.hosts.values().cloned().collect();
        state.dead.extend(dead);
        for scene in &mut state.scenes {
            scene.newest = None;
            scene.no_renewals_until_ms = 0;
        }
    }

    /// All stand still for so long: processes, or the machine.
    pub(crate) fn leap(&self, ms: u64) {
        self.lock().leap(ms);
    }

    /// Sees what tools have done, before any time passes.
    pub(crate) fn see(&self) {
        self.lock().see(false);
    }

    /// A host looks at its boot clock, and so at its leases. It may stand still right after.
    pub(crate) fn boot_ms(&self, host: u32) -> u64 {
        let mut state = self.lock();
        if state.scenes.iter().any(|scene| scene.has_begun(host)) {
            state.see(false);
        }
        let leapt_ms = state.time.leapt_ms();
        let now_ms = state.time.now_ms();
        let told_ms = if state.lie == Some(Lie::Clock) { state.time.awake_ms() } else { now_ms };
        let State { scenes, checks, looked_ms, .. } = &mut *state;
        looked_ms.insert(host, now_ms);
        scenes.iter_mut().for_each(|scene| scene.checks(host, leapt_ms));
        let mut standstill = None;
        if let Some(checks) = checks.get_mut(&host) {
            for check in checks.iter_mut() {
                check.looks += 1;
                let due = check.standstill.filter(|(nth, _)| *nth == check.looks);
                scenes[check.session].disturbances += u64::from(due.is_some());
                standstill = standstill.or(due);
            }
            checks.retain(|check| check.looks < LOOKS_MAX);
        }
        if let Some((_, ms)) = standstill {
            state.note(format!("  host {host} stands still for {ms} ms after a look at its lease"));
            state.count("stood still between check and act");
            state.leap(ms);
        }
        told_ms
    }

    /// A host knows from here on how long it may begin something.
    pub(crate) fn looks(&self, session: usize, host: u32) {
        let mut state = self.lock();
        state.see(false);
        let leapt_ms = state.time.leapt_ms();
        state.scenes[session].checks(host, leapt_ms);
    }

    /// A host will look at its lease before it begins what it has written.
    pub(crate) fn will_check(&self, session: usize, host: u32) {
        let mut state = self.lock();
        let is_one = state.scenes.len() == 1;
        let standstill = if is_one { state.scenes[session].faults.at_check() } else { None };
        let awake_ms = state.time.awake_ms();
        state.scenes[session].begins(host, awake_ms);
        let check = Check { session, looks: 0, standstill };
        state.checks.entry(host).or_default().push(check);
    }

    /// An operation of a host reaches the store: never, if its process was killed; later, if it stands still.
    pub(crate) async fn enter(&self, host: u32) {
        loop {
            let open = {
                let mut state = self.lock();
                let gate = state.gates.iter().find(|gate| gate.host == host).map(|gate| gate.open.clone());
                if gate.is_none() && !state.is_killed {
                    state.checks.remove(&host);
                    return;
                }
                gate.filter(|_| !state.is_killed)
            };
            match open {
                Some(open) => open.notified().await,
                None => pending().await,
            }
        }
    }

    /// Ends of leases are judged by the clock of anyone who asks.
    pub(crate) fn set_clock(&self, host: u32) {
        let now = self.lock().time.wall(host);
        self.inner.set_now(now);
    }

    /// The process is killed here.
    pub(crate) async fn kill<T>(&self) -> T {
        if self.lock().scenes.len() > 1 {
            tokio::time::sleep(QUIET).await;
        }
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
    pub(crate) fn commit(&self, session: usize, host: u32, append: Append) -> Result<(), StoreError> {
        let records = append.records.clone();
        let epoch = append.epoch;
        self.inner.append(append).now_or_never().expect("memory answers at once")?;
        let holder = self.holder(session);
        let last_seq = records.last().map_or(0, |record| record.seq);
        let mut state = self.lock();
        let scene = &mut state.scenes[session];
        scene.accepted.push(Accepted { host, holder, epoch, last_seq });
        scene.written(&records);
        Ok(())
    }

    pub(crate) fn holder(&self, session: usize) -> Option<HostId> {
        let id = self.lock().scenes[session].id.clone();
        let lease = self.inner.holder(&id).now_or_never().expect("memory answers at once");
        lease.ok().flatten().map(|lease| lease.host)
    }

    /// The store is opened again: a transaction that was refused may be in it after all. If others have been
    /// written since, it must not.
    pub(crate) fn reopened(&self, session: usize) {
        let Some((host, append)) = self.lock().scenes[session].zombie.take() else { return };
        let came = self.commit(session, host, append).is_ok();
        self.lock().note(format!("the refused transaction is {}there", if came { "" } else { "not " }));
    }

    /// Anyone who does not know what became of its commit opens the store again before it writes anything else.
    pub(crate) fn reopened_by(&self, session: usize, host: u32) {
        let is_own = self.lock().scenes[session].zombie.as_ref().is_some_and(|(of, _)| *of == host);
        if is_own {
            self.reopened(session);
        }
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

    /// Anyone who has stood still for long enough goes on; all of them, where nothing else moves any more. False if
    /// nobody does.
    pub(crate) fn thaw(&self, all: bool) -> bool {
        let mut state = self.lock();
        let gates = std::mem::take(&mut state.gates);
        let (open, shut): (Vec<Gate>, Vec<Gate>) =
            gates.into_iter().partition(|gate| all || gate.ops_left == 0);
        state.gates = shut;
        for gate in &open {
            state.note(format!("host {} goes on", gate.host));
            gate.open.notify_waiters();
        }
        !open.is_empty()
    }

    /// This process stands still, with all its sessions, and another takes some of them over.
    pub(crate) async fn freeze(&self, host: u32, taken: Vec<usize>) {
        {
            let mut state = self.lock();
            let ops_left = state.scenes[taken[0]].faults.thaw();
            state.gates.push(Gate { host, ops_left, open: Arc::default() });
            for scene in state.scenes.iter_mut().filter(|scene| scene.holds.contains_key(&host)) {
                scene.disturbances += 1;
            }
            state.signal(Signal::TakeOver(taken));
        }
        self.enter(host).await;
    }

    /// Other processes believe that a session's host is dead.
    pub(crate) fn believe_dead(&self, session: usize) {
        let holder = self.holder(session);
        let mut state = self.lock();
        state.scenes[session].believed_dead.extend(holder);
        state.scenes[session].disturbances += 1;
    }

    /// A session's lease was given to a host that had asked for it at some time.
    pub(crate) fn given(
        &self,
        session: usize,
        host: u32,
        lease: &Lease,
        asked_ms: u64,
        before: Option<&HostId>,
    ) {
        let mut state = self.lock();
        // What was begun before was begun by what the host knew then.
        state.see(false);
        let State { time, scenes, hosts, dead, .. } = &mut *state;
        let scene = &mut scenes[session];
        let from = before.and_then(|id| hosts.iter().find(|(_, other)| *other == id));
        if let Some((from, id)) = from
            && scene.walls == Walls::Steady
            && *from != host
            && !dead.contains(id)
            && !scene.believed_dead.contains(id)
        {
            scene.takeovers.push(Takeover { from: *from, epoch: lease.epoch, at_ms: time.now_ms() });
        }
        scene.held(host, lease.epoch, asked_ms, time.leapt_ms(), &self.data);
    }

    /// When a host last looked at its boot clock, in milliseconds since the beginning.
    pub(crate) fn looked_ms(&self, host: u32) -> u64 {
        self.lock().looked_ms.get(&host).copied().unwrap_or(0)
    }

    /// A session's lease is not renewed for so long.
    pub(crate) fn stop_renewals(&self, session: usize, ms: u64) {
        let mut state = self.lock();
        state.scenes[session].no_renewals_until_ms = state.time.awake_ms() + ms;
    }

    /// Whether a session's lease is renewed.
    pub(crate) fn renews(&self, session: usize) -> bool {
        let state = self.lock();
        state.time.awake_ms() >= state.scenes[session].no_renewals_until_ms
    }

    /// Tells anyone who runs the hosts.
    pub(crate) fn signal(&self, signal: Signal) {
        self.lock().signal(signal);
    }

    pub(crate) fn note(&self, line: String) {
        self.lock().note(line);
    }

    pub(crate) fn count(&self, what: &str) {
        self.lock().count(what);
    }

    /// What went wrong may have a session loaded again.
    pub(crate) fn disturb(&self, session: usize) {
        self.lock().scenes[session].disturbances += 1;
    }
}

impl State {
    pub(crate) fn see(&mut self, all: bool) {
        let (at_ms, awake_ms, leapt_ms) = (self.time.now_ms(), self.time.awake_ms(), self.time.leapt_ms());
        for scene in &mut self.scenes {
            scene.see(at_ms, awake_ms, leapt_ms, all);
        }
    }

    fn leap(&mut self, ms: u64) {
        self.see(false);
        self.time.leap(ms);
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(signals) = &self.signals {
            let _ = signals.send(signal);
        }
    }

    pub(crate) fn note(&mut self, line: String) {
        self.actions.push(line);
    }

    pub(crate) fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }
}
