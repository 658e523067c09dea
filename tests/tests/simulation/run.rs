//! Running a seed: one process after another, each killed where the seed says so, until the session has settled. What
//! must hold of what is left is checked elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use rewake_core::entry::Entry;
use rewake_runtime::live::{Gone, Live};
use rewake_runtime::{Host, HostError, Loaded};
use rewake_store::Inbox as _;
use rewake_tests::forge;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::evidence::{Evidence, announced};
use crate::faults::Which;
use crate::people::{Act, Idle};
use crate::plan::Plan;
use crate::sim::{Lie, Signal, Sim};
use crate::stage::Stage;
use crate::store::FaultStore;

/// Nothing has happened for so long, in a world in which time passes when nothing is left to do.
const STUCK: Duration = Duration::from_secs(100);
/// What a process does that went on at the very end has been done by then.
const LULL: Duration = Duration::from_secs(5);
/// Time passes only when nothing is left to do: whoever sleeps this long sleeps until then.
const QUIET: Duration = Duration::from_millis(1);
/// What one process hears at most before its session settles.
const SIGNALS_MAX: u32 = 3_000;
/// Processes of one seed.
const LIVES_MAX: u32 = 40;

/// What a run is made with beside its seed.
#[derive(Clone, Debug)]
pub(crate) struct With {
    /// What goes wrong.
    pub(crate) faults: Which,
    pub(crate) lie: Option<Lie>,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) evidence: Evidence,
    pub(crate) actions: Vec<String>,
    pub(crate) counts: BTreeMap<String, u64>,
    /// Why it came to no end, or what showed on the way.
    pub(crate) failure: Option<String>,
    pub(crate) sim: Arc<Sim>,
}

/// How a process ended.
enum Life {
    Killed,
    Settled,
    Stuck(String),
}

/// Runs a seed to its end.
pub(crate) fn run(stage: &Stage, seed: u64, plan: &Plan, with: With) -> Ran {
    let template = stage.session(plan.bundle);
    stage.clear(&template.id);
    let store = template.store().now_or_never().expect("memory answers at once");
    let sim = Sim::new(seed, plan, store, template.id.clone(), with.faults);
    sim.lock().lie = with.lie;
    let mut failure = None;
    let mut hosts = 0;
    let mut lives = 0;
    loop {
        lives += 1;
        let life = one_life(stage, plan, &sim, &mut hosts);
        let entries = entries(&sim);
        if let Err(why) = announced(&entries, &stage.log(&sim.id)) {
            failure = Some(why);
            break;
        }
        match life {
            Life::Killed if lives < LIVES_MAX => sim.note(format!("life {lives} was killed")),
            Life::Killed => failure = Some(format!("it does not settle in {lives} lives")),
            Life::Settled => break,
            Life::Stuck(why) => failure = Some(why),
        }
        if failure.is_some() {
            break;
        }
    }
    let mut state = sim.lock();
    let evidence = Evidence {
        entries: entries(&sim),
        through: sim.inner.through(&sim.id).now_or_never().expect("memory").expect("readable"),
        sent: state.crowd.sent.clone(),
        broken_promises: std::mem::take(&mut state.broken_promises),
        log: stage.log(&sim.id),
        accepted: std::mem::take(&mut state.accepted),
        hosts: state.hosts.clone(),
    };
    let (actions, counts) = (std::mem::take(&mut state.actions), std::mem::take(&mut state.counts));
    drop(state);
    Ran { evidence, actions, counts, failure, sim }
}

fn entries(sim: &Sim) -> Vec<Entry> {
    forge::entries(&sim.inner, &sim.id).now_or_never().expect("memory answers at once")
}

/// One thread, a clock that passes when nothing is left to do, and files one after another: nothing is left to
/// chance. Dropping it ends everything that its hosts do.
fn one_life(stage: &Stage, plan: &Plan, sim: &Arc<Sim>, hosts: &mut u32) -> Life {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).max_blocking_threads(1).build();
    let runtime = runtime.expect("a runtime");
    let life = runtime.block_on(async {
        let (signals, heard) = unbounded_channel();
        sim.begin(signals.clone());
        let mut process = Process {
            stage,
            plan,
            sim,
            signals,
            heard,
            hosts,
            running: BTreeMap::new(),
            kill_at: None,
            is_over: false,
        };
        let life = process.live().await;
        sim.end();
        life
    });
    drop(runtime);
    life
}

/// A process, and another one beside it while two believe that the session is theirs.
struct Process<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    sim: &'a Arc<Sim>,
    signals: UnboundedSender<Signal>,
    heard: UnboundedReceiver<Signal>,
    /// Hosts so far, of all processes.
    hosts: &'a mut u32,
    running: BTreeMap<u32, (Host, Option<Loaded>)>,
    kill_at: Option<Instant>,
    /// The session has settled, and a process that stood still goes on.
    is_over: bool,
}

impl Process<'_> {
    async fn live(&mut self) -> Life {
        self.open();
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
                    if self.sim.thaw(true) {
                        continue;
                    }
                    if self.is_over {
                        return Life::Settled;
                    }
                    return Life::Stuck("stuck: nothing happens, and the session has not settled".into());
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

    /// Everything that is heard until nothing is left to be done but to wait, in one order: files are used on a
    /// thread of their own, and whose are done first is chance. A killed process does nothing any more.
    async fn all_of_now(&mut self, first: Signal) -> Vec<Signal> {
        let mut signals = vec![first];
        if !matches!(signals[0], Signal::Killed) {
            tokio::time::sleep(QUIET).await;
        }
        while let Ok(signal) = self.heard.try_recv() {
            signals.push(signal);
        }
        signals.sort_by_key(Signal::rank);
        signals.dedup_by(|one, two| matches!((one, two), (Signal::Idle, Signal::Idle)));
        signals
    }

    /// Opens another host and has it take the session up.
    fn open(&mut self) {
        *self.hosts += 1;
        let n = *self.hosts;
        let store = Arc::new(FaultStore { sim: self.sim.clone(), host: n });
        let host = self.stage.host(self.plan.snapshot_entries, store);
        self.sim.lock().newest = Some(host.clone());
        self.running.insert(n, (host, None));
        self.load(n, Duration::ZERO);
    }

    fn load(&mut self, n: u32, after: Duration) {
        let Some((host, _)) = self.running.get(&n) else { return };
        let (host, id, signals) = (host.clone(), self.sim.id.clone(), self.signals.clone());
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let (loaded, mut follower) = match host.load(&id).await {
                Ok((loaded, follower)) => (Ok(loaded), Some(follower)),
                Err(error) => (Err(error), None),
            };
            let _ = signals.send(Signal::Loaded(n, loaded));
            while let Some(follower) = &mut follower {
                let told = match follower.recv().await {
                    Ok(Live::Idle) => Signal::Idle,
                    Ok(Live::Gone(gone)) => Signal::Gone(n, gone),
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
            Signal::TakeOver => self.open(),
            Signal::Thaw => drop(self.sim.thaw(false)),
            Signal::LetGo => self.let_go(),
            Signal::Act(act) => self.send(&act),
            Signal::Loaded(n, Ok(loaded)) => {
                if let Some(running) = self.running.get_mut(&n) {
                    running.1 = Some(loaded);
                }
            }
            Signal::Loaded(n, Err(error)) => return self.refused(n, error),
            Signal::Idle => return self.idle(),
            Signal::Gone(n, gone) => return self.gone(n, gone),
        }
        None
    }

    fn let_go(&mut self) {
        let newest = self.running.values().rev().find_map(|(_, loaded)| loaded.clone());
        if let Some(loaded) = newest {
            tokio::spawn(async move { loaded.unload("simulated").await });
        }
    }

    /// Sends something by the newest host.
    fn send(&mut self, act: &Act) {
        let Some((host, _)) = self.running.values().next_back() else { return self.sim.act(act) };
        let (host, sim, act) = (host.clone(), self.sim.clone(), act.clone());
        tokio::spawn(async move { sim.send_by(&host, &act).await });
    }

    fn idle(&mut self) -> Option<Life> {
        let pending = self.sim.inner.pending(&self.sim.id).now_or_never().expect("memory");
        let pending = pending.unwrap_or_default();
        loop {
            let next = {
                let mut state = self.sim.lock();
                let view = state.view.clone();
                state.crowd.idle(&view, &pending)
            };
            match next {
                // It is refused, and no host hears of it.
                Idle::Do(act @ Act::Reuse(_)) => self.sim.act(&act),
                Idle::Do(act) => break self.send(&act),
                Idle::Wait => break,
                // Whoever stands still must not undo that.
                Idle::Settled if self.sim.thaw(true) || self.is_over => break self.is_over = true,
                Idle::Settled => return Some(Life::Settled),
            }
        }
        None
    }

    /// A host could not take the session up: it tries again when whoever has the lease has lost it.
    fn refused(&mut self, n: u32, error: HostError) -> Option<Life> {
        self.sim.note(format!("host {n} does not load: {error}"));
        if let HostError::Faulted { fault, .. } = error {
            return Some(Life::Stuck(format!("a fault: {} {}", fault.reason, fault.detail)));
        }
        self.sim.expire_leases();
        self.load(n, Duration::from_secs(1));
        None
    }

    /// A host no longer runs the session. Some host must.
    fn gone(&mut self, n: u32, gone: Gone) -> Option<Life> {
        self.sim.note(format!("host {n} is gone: {gone:?}"));
        // An older one may not have noticed that the session is no longer its own.
        let is_newest = self.running.last_key_value().is_some_and(|(newest, _)| *newest == n);
        self.running.remove(&n);
        match gone {
            Gone::Ended => return Some(Life::Settled),
            Gone::Faulted(fault) => {
                return Some(Life::Stuck(format!("a fault: {} {}", fault.reason, fault.detail)));
            }
            Gone::Unloaded | Gone::Fenced | Gone::Failed(_) => {}
        }
        if is_newest {
            self.open();
        }
        None
    }
}
