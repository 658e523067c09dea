//! The driver of one loaded session: the only place that orders deciding, appending, folding and
//! performing. It holds the fold, and no guest between steps.

mod end;
mod exit;
mod fault;
mod inbox;
mod ledger;
mod running;
mod unwritten;

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rewake_core::command::Row;
use rewake_core::decide::{Advance, Input, LoadInput, Then};
use rewake_core::entry::{Draft, Entry};
use rewake_core::error::{Corrupt, Refusal};
use rewake_core::fact::Fact;
use rewake_core::ids::{Digest, Timestamp};
use rewake_core::room;
use rewake_store::{Lease, SavedState, StoreError};
use rewake_wire::Fault;
use thiserror::Error;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, Sleep, sleep};
use tracing::warn;

pub(crate) use self::exit::{DriverExit, LeaseState, ReloadReason};
pub(crate) use self::fault::{corrupt_fault, stored_fault};
use self::inbox::Inbox;
use self::ledger::Ledger;
use self::running::{Happened, Running, happens};
use self::unwritten::Unwritten;
use crate::HOST_VERSION;
use crate::context::SessionContext;
use crate::event::Event;
use crate::lease::{Keeper, LeaseError};
use crate::live::{Followers, Live, UnloadReason};
use crate::load::Folded;
use crate::loaded::DriverRequest;
use rewake_policy::config::Watch;

/// How often the lease and the operator's rules are checked while a guest runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How often while the session is idle: nothing is done under the lease then, and an arrival checks the rules.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// How long a wait for a time is left to a timer, in milliseconds.
const WAIT_MS_MAX: u64 = 30_000;

/// Why a driver cannot go on.
#[derive(Debug, Error)]
pub(crate) enum Fatal {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a bug of this host: it decided what cannot be folded, and wrote nothing: {0}")]
    Unfoldable(#[from] Corrupt),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the lease has run out")]
    LeaseLost,
    #[error("a message was changed while it was accepted")]
    Overtaken,
    #[error("{0}")]
    Host(String),
    #[error("{}", .0.detail)]
    Fault(Box<Fault>),
}

impl From<LeaseError> for Fatal {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost => Fatal::LeaseLost,
            LeaseError::Store(error) => Fatal::Store(error),
        }
    }
}

/// What a driver is made with.
pub(crate) struct Options {
    pub(crate) cx: Arc<SessionContext>,
    /// Looks whether the operator's rules have changed since.
    pub(crate) watch: Watch,
    pub(crate) folded: Folded,
    /// Why the host that had it loads it again, if it was not unloaded in good order.
    pub(crate) again: Option<String>,
    pub(crate) lease: Lease,
    pub(crate) keeper: Keeper,
    pub(crate) followers: Followers,
    /// Notified when the inbox may hold something new.
    pub(crate) wake: Arc<Notify>,
    /// Requests to unload the session.
    pub(crate) requests: mpsc::Receiver<DriverRequest>,
    /// Set once it is being unloaded.
    pub(crate) unloading: Arc<AtomicBool>,
    /// Entries between two snapshots.
    pub(crate) snapshot_entries: u64,
}

/// What a session is doing.
enum Phase {
    /// Nothing, before something comes or this time is reached.
    Resting(Option<Timestamp>),
    /// Its open step was started or re-run by this driver, and is run next.
    Ready,
    /// It runs a step, or hooks that fire.
    Running(Running),
    /// Nothing, for good.
    Ended,
}

/// The driver of one loaded session.
pub(crate) struct Driver {
    cx: Arc<SessionContext>,
    watch: Watch,
    /// The operator's rules changed for the session: it is reloaded as soon as no call is open.
    rules_changed: bool,
    ledger: Ledger,
    keeper: Keeper,
    followers: Followers,
    wake: Arc<Notify>,
    requests: mpsc::Receiver<DriverRequest>,
    unloading: Arc<AtomicBool>,
    phase: Phase,
    /// A step was begun by this driver whose start was on the disk.
    has_begun: bool,
    /// The operator was warned that the journal is near to a limit.
    has_warned: bool,
    /// The newest saved state, so that the next step need not read it.
    state: Option<SavedState>,
    inbox: Inbox,
    unwritten: Unwritten,
    snapshot_seq: u64,
    snapshot_entries: u64,
}

impl Driver {
    /// Drives a session until it is unloaded, and says why that was.
    pub(crate) async fn drive(options: Options) -> (DriverExit, LeaseState, mpsc::Receiver<DriverRequest>) {
        let Options { cx, watch, folded, again, lease, keeper, .. } = options;
        let Options { followers, wake, requests, unloading, snapshot_entries, .. } = options;
        let Folded { session, snapshot_seq, folded, rejected, .. } = folded;
        let load = LoadInput {
            host: lease.host.clone(),
            host_version: HOST_VERSION.to_owned(),
            snapshot_seq,
            folded,
            rejected,
            again,
        };
        let ledger = Ledger::new(cx.store.clone(), session, lease.epoch, followers.clone());
        let mut driver = Driver {
            cx,
            watch,
            rules_changed: false,
            ledger,
            keeper,
            followers,
            wake,
            requests,
            unloading,
            phase: Phase::Resting(None),
            has_begun: false,
            has_warned: false,
            state: None,
            inbox: Inbox::default(),
            unwritten: Unwritten::default(),
            snapshot_seq: snapshot_seq.unwrap_or(0),
            snapshot_entries,
        };
        driver.keeper.tell(driver.cx.deadline.clone());
        let exit = match driver.run(load).await {
            Ok(exit) => exit,
            Err(fatal) => driver.give_up(fatal).await,
        };
        driver.phase = Phase::Ended;
        // The next driver must not meet what is still being done; the lease then runs out by itself.
        let (exit, lease) = match (driver.cx.quiesce().await, exit) {
            (true, DriverExit::Reload(why)) => (DriverExit::Reload(why), LeaseState::Held),
            (true, exit) => {
                let is_released = driver.keeper.release().await;
                (exit, if is_released { LeaseState::Released } else { LeaseState::Held })
            }
            (false, DriverExit::Reload(why)) => (DriverExit::Unload(why.unload_reason()), LeaseState::Busy),
            (false, exit) => (exit, LeaseState::Busy),
        };
        (exit, lease, driver.requests)
    }

    async fn run(&mut self, load: LoadInput) -> Result<DriverExit, Fatal> {
        if self.ledger.session.ended.is_some() && !self.ledger.session.has_farewells() {
            return Ok(DriverExit::Unload(UnloadReason::Ended));
        }
        let loaded = self.ledger.decide(Input::Load(load))?;
        self.ledger.stage(loaded.entries)?;
        let changed = self.ledger.decide(Input::Grants(self.cx.grants.clone()))?;
        self.ledger.stage(changed.entries)?;
        let mut due = true;
        let mut next_check = pin!(sleep(CHECK_INTERVAL));
        loop {
            // A call that runs keeps the rules that it began with; none begins by old rules.
            if self.rules_changed && self.ledger.session.calls.is_empty() {
                self.unload(ReloadReason::Rules.word().to_owned()).await?;
                return Ok(DriverExit::Reload(ReloadReason::Rules));
            }
            if due {
                self.advance().await?;
            }
            let until = match self.phase {
                Phase::Ended => return Ok(DriverExit::Unload(UnloadReason::Ended)),
                Phase::Resting(until) => until,
                Phase::Ready | Phase::Running(_) => None,
            };
            if due && !self.is_running() && !self.ledger.is_dirty() {
                self.followers.tell(Live::Idle);
            }
            due = tokio::select! {
                biased;
                // These first, so that a guest with much to say cannot put them off.
                () = &mut next_check => {
                    let pause = if self.is_running() { CHECK_INTERVAL } else { IDLE_CHECK_INTERVAL };
                    self.check(next_check.as_mut(), pause).await?;
                    false
                }
                () = self.unwritten.due(self.ledger.unwritten_since()) => { self.ledger.flush(None).await?; false }
                happened = happens(&mut self.phase) => match happened {
                    Happened::Event(event) => { self.handle(event).await?; self.is_ending() }
                    Happened::Finished(finished) => { self.finished(finished).await?; true }
                },
                // Who was told here is not told again when the rows are asked for.
                () = self.wake.notified() => {
                    self.inbox.forget();
                    self.check(next_check.as_mut(), CHECK_INTERVAL).await?;
                    true
                }
                request = self.requests.recv() => match self.accept(request, until).await? {
                    Some(why) => {
                        self.unload(why).await?;
                        return Ok(DriverExit::Unload(UnloadReason::Unloaded));
                    }
                    None => true,
                },
                () = reached(until, self.cx.store.now()) => {
                    self.check(next_check.as_mut(), CHECK_INTERVAL).await?;
                    true
                }
            };
        }
    }

    /// Polls for changes that no event announces: the lease's end, and the operator's rules. Sets the next check.
    async fn check(&mut self, next: Pin<&mut Sleep>, pause: Duration) -> Result<(), Fatal> {
        if self.keeper.is_due() {
            self.keeper.renew().await?;
        }
        self.keeper.check()?;
        if let Some(rules) = self.watch.changed() {
            self.rules_changed =
                !rules.is_same_for(self.ledger.session.pins(), &self.cx.vouched, &self.cx.rules);
        }
        self.followers.tidy();
        next.reset(Instant::now() + pause);
        Ok(())
    }

    /// Whether the inbox holds more than when it was last read.
    async fn is_inbox_moved(&mut self) -> Result<bool, Fatal> {
        let moved = self.cx.store.through(&self.cx.id).await? != self.inbox.through();
        if moved {
            self.inbox.forget();
        }
        Ok(moved)
    }

    /// The inbox's untaken rows, and the greatest number of all.
    async fn rows(&mut self) -> Result<(Vec<Row>, u64), Fatal> {
        Ok(self.inbox.rows(&*self.cx.store, &self.ledger.session, &self.wake).await?)
    }

    fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running(_))
    }

    /// Does everything that is due, until a guest runs or nothing is due. A message that was changed while it was
    /// accepted is accepted again, in its new form.
    async fn advance(&mut self) -> Result<(), Fatal> {
        loop {
            match self.advance_on().await {
                // Nothing ran since: the fold is what it was before, and a step that was ready is not there.
                Err(Fatal::Overtaken) => {
                    if !self.is_running() {
                        self.phase = Phase::Resting(None);
                    }
                    self.inbox.forget();
                }
                other => return other,
            }
        }
    }

    async fn advance_on(&mut self) -> Result<(), Fatal> {
        loop {
            let (rows, through) = self.rows().await?;
            if self.ledger.goes_back(&rows) {
                return Err(Fatal::Overtaken);
            }
            let mut seed = Digest::default();
            getrandom::fill(&mut seed.0).map_err(|error| Fatal::Host(format!("no randomness: {error}")))?;
            let input = Input::Advance(Advance {
                rows,
                now: self.cx.store.now(),
                seed,
                running: self.is_running(),
                ready: matches!(self.phase, Phase::Ready),
            });
            let decision = self.ledger.decide(input)?;
            if decision.drops_guest && self.is_running() {
                self.drop_guest().await?;
                continue;
            }
            if !self.append(decision.entries, through).await? {
                continue;
            }
            match decision.then {
                Then::Again => {}
                Then::RunStep => return self.run_step().await,
                Then::Fire(firings) => return self.fire(firings).await,
                // What another process has sent meanwhile is not left for the next check.
                Then::Idle(_) if !self.is_running() && !self.inbox.is_fresh() => self.inbox.forget(),
                Then::Idle(until) => {
                    if !self.is_running() {
                        self.phase = Phase::Resting(until);
                    }
                    return self.ledger.flush(None).await;
                }
                Then::Ended => {
                    self.phase = Phase::Ended;
                    return self.ledger.flush(None).await;
                }
            }
        }
    }

    /// Stages entries. They are written with what follows, except that a turn's end comes last in its
    /// transaction, and that a session's end answers every row of the inbox in its own.
    ///
    /// False, and nothing appended, if a row came in time to be answered too: the caller decides again.
    async fn append(&mut self, entries: Vec<Draft>, through: u64) -> Result<bool, Fatal> {
        let ends_session = entries
            .iter()
            .any(|draft| matches!(draft.fact, Fact::SessionStopped(_) | Fact::SessionFailed(_)));
        if ends_session {
            let ended = self.ledger.end(entries, through).await?;
            if !ended {
                self.inbox.forget();
            }
            return Ok(ended);
        }
        let ends_turn = entries
            .last()
            .is_some_and(|draft| draft.fact.is_turn_end() || matches!(draft.fact, Fact::TurnWaiting(_)));
        let is_step = |draft: &Draft| matches!(draft.fact, Fact::StepStarted(_) | Fact::StepRerun(_));
        if entries.iter().any(is_step) {
            self.phase = Phase::Ready;
        }
        self.ledger.stage(entries)?;
        if ends_turn {
            self.ledger.flush(None).await?;
            self.snapshot(self.snapshot_entries).await?;
        }
        Ok(true)
    }

    async fn handle(&mut self, event: Event) -> Result<(), Fatal> {
        match event {
            Event::Record { drafts, blobs, durable, reply } => {
                if durable {
                    self.keeper.ensure().await?;
                }
                let mut entries = Vec::with_capacity(drafts.len());
                for draft in drafts {
                    match self.record(draft) {
                        Ok(recorded) => entries.extend(recorded),
                        // Nothing of it was written: it is the guest's to be told.
                        Err(Fatal::Refused(refusal)) => {
                            let _ = reply.send(Err(refusal));
                            return Ok(());
                        }
                        Err(fatal) => return Err(fatal),
                    }
                }
                self.ledger.keep(blobs);
                if durable {
                    self.ledger.flush(None).await?;
                    self.keeper.ensure().await?;
                }
                let _ = reply.send(Ok(entries));
            }
            Event::Head(reply) => {
                self.ledger.flush(None).await?;
                let _ = reply.send(self.ledger.session.head.seq);
            }
            Event::Show(live) => self.followers.tell(live),
        }
        Ok(())
    }

    /// Whether a hook ends the turn: then nothing else of the guest is heard before that is done.
    fn is_ending(&self) -> bool {
        self.ledger.session.turn.as_ref().is_some_and(|turn| turn.ending.is_some())
    }

    fn record(&mut self, draft: Draft) -> Result<Vec<Arc<Entry>>, Fatal> {
        let limits = &self.cx.rules.limits.journal;
        room::check(&self.ledger.session, &draft.fact, limits)?;
        match room::near(&self.ledger.session, limits) {
            Some((what, got, max)) if !self.has_warned => {
                self.has_warned = true;
                warn!(session = %self.cx.id, "{what}: {got} of {max}; what goes beyond is refused");
            }
            Some(_) => {}
            None => self.has_warned = false,
        }
        let decision = self.ledger.decide(Input::Record(draft))?;
        self.ledger.stage(decision.entries)
    }
}

/// A timer does not count suspended time, so a long wait is checked again.
async fn reached(until: Option<Timestamp>, now: Timestamp) {
    match until {
        Some(until) => {
            let ms = u64::try_from(until.0.saturating_sub(now.0)).unwrap_or(0).min(WAIT_MS_MAX);
            sleep(Duration::from_millis(ms)).await;
        }
        None => pending().await,
    }
}
