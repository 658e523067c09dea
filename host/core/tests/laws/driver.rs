//! The simulated host: loads a session, decides, seals, folds, commits and only then performs, in the order
//! in which a host must. Everything in it is lost when the host dies; nothing here tests anything.

use rewake_core::codec::{Record, Seal, seal};
use rewake_core::decide::{Advance, Decision, Input, LoadInput, StepEnd, Then};
use rewake_core::entry::{Draft, Entry};
use rewake_core::fact::{CallRetried, Decision as Verdict, Fact, HookVerdict, Next, Source};
use rewake_core::firing::Firing;
use rewake_core::ids::{Digest, HostId};
use rewake_core::limits::RETRIES_MAX;
use rewake_core::money::Usd;
use rewake_core::{Refusal, Session, decide};

use crate::guest;
use crate::imports;
use crate::pins;
use crate::plan::Plan;
use crate::world::{Crash, Idle, World};

/// Why a guest does not go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Its host died.
    Crashed,
    /// It was dropped.
    Dropped,
}

impl From<Crash> for Stop {
    fn from(_: Crash) -> Self {
        Stop::Crashed
    }
}

pub(crate) struct Driver<'w> {
    pub(crate) world: &'w mut World,
    pub(crate) session: Session,
    ready: bool,
    /// A step's start was committed by this host before the step ran.
    has_begun: bool,
    staged: Vec<(Entry, Record)>,
    /// What guests have done and nobody has recorded yet.
    outcomes: Vec<Draft>,
}

/// Runs a plan until nothing will come any more.
pub(crate) fn run(plan: Plan) -> World {
    let mut world = World::new(plan);
    let mut driver = Driver::new(&mut world, Session::new(pins::session()));
    let mut created = pins::created();
    created.agent.max_usd = driver.world.plan.cap_nanos.map(Usd::from_nanos);
    driver.take(Input::Create(Box::new(created)));
    for _ in 0..1_000 {
        if let Ok(true) = Driver::load(&mut world).and_then(|mut driver| driver.drive()) {
            return world;
        }
    }
    panic!("the session does not settle: {:#?}", world.journal.iter().rev().take(20).collect::<Vec<_>>());
}

impl<'w> Driver<'w> {
    fn new(world: &'w mut World, session: Session) -> Self {
        Driver { world, session, ready: false, has_begun: false, staged: Vec::new(), outcomes: Vec::new() }
    }

    fn load(world: &'w mut World) -> Result<Self, Stop> {
        let (session, snapshot_seq, folded) = world.fold();
        let mut driver = Driver::new(world, session);
        driver.take(Input::Load(LoadInput {
            host: HostId::parse("host_laws").expect("it has the prefix and letters"),
            host_version: "0.1.0".into(),
            snapshot_seq,
            folded,
            rejected: vec![],
            again: None,
        }));
        driver.world.tick()?;
        Ok(driver)
    }

    /// Does what is due; true once nothing will come any more, false when it was unloaded.
    fn drive(&mut self) -> Result<bool, Stop> {
        for _ in 0..10_000 {
            let decision = self.take(Input::Advance(self.advance(false)));
            let is_still = decision.entries.is_empty();
            self.world.tick()?;
            match decision.then {
                Then::Again => assert!(!is_still, "asked to ask again without anything having changed"),
                Then::Fire(firings) => self.fire_all(&firings)?,
                Then::RunStep => {
                    self.ready = false;
                    match guest::run_step(self) {
                        Ok(()) | Err(Stop::Dropped) => {}
                        Err(Stop::Crashed) => return Err(Stop::Crashed),
                    }
                }
                Then::Idle(until) => match self.world.idle(until) {
                    Idle::GoOn => {}
                    Idle::Settled => return Ok(true),
                    Idle::Unload => {
                        self.take(Input::Unload { why: "idle".into() });
                        if self.session.turn.is_none() {
                            self.take(imports::import(&self.session));
                        }
                        return Ok(false);
                    }
                },
                Then::Ended => return Ok(true),
            }
        }
        panic!("the driver goes round and round");
    }

    /// Decides, twice: the same session and input must give the same.
    pub(crate) fn decide(&self, input: Input) -> Result<Decision, Refusal> {
        let decision = decide(&self.session, input.clone());
        assert_eq!(decision, decide(&self.session, input), "deciding follows from its arguments alone");
        decision
    }

    /// Decides and commits; decides again, if somebody changed a message meanwhile that was to be accepted.
    pub(crate) fn take(&mut self, input: Input) -> Decision {
        let before = (self.session.clone(), self.ready, self.has_begun, self.staged.clone());
        let decision = self.decide(input.clone()).unwrap_or_else(|refusal| panic!("{refusal}"));
        for draft in decision.entries.clone() {
            self.seal(draft);
        }
        if self.rides() {
            return decision;
        }
        self.has_begun |= self.staged.iter().any(|(entry, _)| matches!(entry.fact, Fact::StepStarted(_)));
        self.world.sneak(&self.staged);
        if self.world.commit(std::mem::take(&mut self.staged)) {
            return decision;
        }
        (self.session, self.ready, self.has_begun, self.staged) = before;
        self.take(match input {
            Input::Advance(advance) => Input::Advance(self.advance(advance.running)),
            Input::StepEnd(end) => Input::StepEnd(StepEnd { rows: self.advance(true).rows, ..end }),
            other => panic!("{other:?} takes no message in"),
        })
    }

    /// R2: whether what is staged may be committed with what the next step first records: a step's end, and one start.
    /// It need not be.
    fn rides(&self) -> bool {
        let facts = || self.staged.iter().map(|(entry, _)| &entry.fact);
        let is_end = |fact: &Fact| matches!(fact, Fact::StepCompleted(body) if body.next == Next::More);
        let is_start = |fact: &&Fact| matches!(fact, Fact::StepStarted(_));
        let may_ride =
            facts().all(|fact| is_end(fact) || is_start(&fact)) && facts().filter(is_start).count() <= 1;
        self.has_begun && may_ride && (self.world.plan.calm || !self.session.head.seq.is_multiple_of(3))
    }

    /// Decides on what a guest wants recorded, and keeps it for the next commit.
    pub(crate) fn record(&mut self, draft: Draft) -> Entry {
        let decision = self.decide(Input::Record(draft)).unwrap_or_else(|refusal| panic!("{refusal}"));
        for draft in decision.entries {
            self.seal(draft);
        }
        self.staged.last().expect("it was decided to record it").0.clone()
    }

    fn seal(&mut self, draft: Draft) {
        let salt = [self.session.head.seq as u8; 16];
        let terms = Seal { epoch: u64::from(self.world.crashes) + 1, at: self.world.now, salt };
        let (entry, record) = seal(&self.world.id, self.session.head, terms, draft)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        self.ready |= matches!(entry.fact, Fact::StepStarted(_) | Fact::StepRerun(_));
        self.session.apply(&entry).unwrap_or_else(|corrupt| panic!("decided, but {corrupt}"));
        self.staged.push((entry, record));
    }

    pub(crate) fn commit(&mut self) {
        let is_written = self.world.commit(std::mem::take(&mut self.staged));
        assert!(is_written, "what a guest does takes no message in");
    }

    pub(crate) fn advance(&self, running: bool) -> Advance {
        let rows = self.world.rows.iter().filter(|row| !self.session.taken.contains(row.n));
        let steps = self.session.turn.as_ref().map_or(0, |turn| turn.steps);
        Advance {
            rows: rows.cloned().collect(),
            now: self.world.now,
            seed: Digest::of(&[self.session.turns.to_le_bytes(), steps.to_le_bytes()].concat()),
            running,
            ready: self.ready,
        }
    }

    /// A moment passes while a guest runs: its host may die, it may be dropped, commands may be accepted.
    pub(crate) fn breathe(&mut self) -> Result<(), Stop> {
        assert!(self.staged.is_empty(), "nothing waits to be committed when a moment passes");
        self.world.tick()?;
        loop {
            let decision =
                self.decide(Input::Advance(self.advance(true))).unwrap_or_else(|refusal| panic!("{refusal}"));
            if decision.drops_guest {
                for outcome in std::mem::take(&mut self.outcomes) {
                    self.record(outcome);
                }
                self.commit();
                self.ready = false;
                assert!(self.take(Input::Advance(self.advance(false))).drops_guest);
                self.world.tick()?;
                return Err(Stop::Dropped);
            }
            if decision.entries.is_empty() {
                assert_eq!(decision.then, Then::Idle(None), "nothing else is begun while a guest runs");
                return Ok(());
            }
            self.take(Input::Advance(self.advance(true)));
        }
    }

    /// Performs what was announced, and records what came of it.
    pub(crate) fn perform(&mut self, start: &Entry, outcome: Draft) -> Result<(), Stop> {
        self.world.perform(start);
        self.outcomes.push(outcome);
        self.breathe()?;
        let outcome = self.outcomes.pop().expect("it was just put there");
        self.record(outcome);
        self.commit();
        self.breathe()
    }

    /// Performs it again, or says that it was tried too often.
    pub(crate) fn perform_again(&mut self, start: &Entry, outcome: Draft, lost: Draft) -> Result<(), Stop> {
        let retries = self.session.calls[&start.seq].retries;
        if retries >= RETRIES_MAX {
            self.record(lost);
            self.commit();
            return self.breathe();
        }
        let body = CallRetried::again(start.seq, retries + 1);
        self.record(Draft::system(start.place, body));
        self.commit();
        self.breathe()?;
        self.perform(start, outcome)
    }

    fn fire_all(&mut self, firings: &[Firing]) -> Result<(), Stop> {
        for firing in firings {
            match self.fire(*firing) {
                Ok(()) => {}
                Err(Stop::Dropped) => break,
                Err(Stop::Crashed) => return Err(Stop::Crashed),
            }
        }
        Ok(())
    }

    fn fire(&mut self, firing: Firing) -> Result<(), Stop> {
        let start = match firing.start {
            Some(start) => self.world.journal[start.seq as usize - 1].clone(),
            None => {
                let body = firing.started();
                let start = self.record(Draft::system(firing.place, body));
                self.commit();
                self.breathe()?;
                start
            }
        };
        match firing.start {
            Some(_) => self.perform_again(&start, start_verdict(&start, false), start_verdict(&start, true)),
            None => self.perform(&start, start_verdict(&start, false)),
        }
    }
}

fn start_verdict(start: &Entry, lost: bool) -> Draft {
    let Fact::HookStarted(asked) = &start.fact else { panic!("{start:?} asks no hook") };
    let source = asked.source.map_or("", Source::as_str);
    let body = HookVerdict {
        start: start.seq,
        hook: asked.hook,
        decision: Verdict::None,
        context: (!lost).then(|| format!("{source} by {}", asked.hook)),
        binding: asked.binding,
        error: lost.then(|| "tried too often".into()),
        ..HookVerdict::default()
    };
    Draft::system(start.place, body)
}
