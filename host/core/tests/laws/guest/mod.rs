//! The simulated harness and its imports: follows its plan, is fed what is recorded of its step, and goes
//! live after it. What it learns goes into its memory, so that two runs that were told the same save the same.

mod model;

use std::collections::{BTreeMap, BTreeSet};

use rewake_core::decide::{Input, StepEnd, StepOutcome};
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    AgentMessage, AgentTitle, Custom, Decision as Verdict, Ending, Fact, HookEvent, HookStarted, HookVerdict,
    LogLevel, LogLine, LogLines, Lost, Next, Observed, OnError, Question, RequestedUse, Scope, StateRef,
    StepInput, StepObserved, ToolCompleted, ToolLost, ToolStarted, ToolsRequested,
};
use rewake_core::ids::{Digest, Timestamp};
use rewake_core::replay::{Recorded, Replay};
use rewake_core::{binding, decide};
use rewake_wire::{Outcome, Part};

use crate::driver::{Driver, Stop};
use crate::pins::{self, ADVISER, GUARD, TOOLS};
use crate::plan::{EndPlan, Gate, Op, Use};
use crate::world::Saved;

struct Guest<'d, 'w> {
    driver: &'d mut Driver<'w>,
    replay: Replay,
    step: Place,
    ordinal: u32,
    observed: Vec<Observed>,
    memory: Digest,
    /// It has recorded a call.
    is_further: bool,
    calls: BTreeMap<String, u64>,
}

/// Runs the open step, from its fixed input.
pub(crate) fn run_step(driver: &mut Driver<'_>) -> Result<(), Stop> {
    let (turn, step) = driver.session.open_step().expect("the driver was told to run it");
    let (number, fixed, replay) = (step.number, step.fixed.clone(), Replay::new(&step.entries));
    let saved = fixed.state.map(|state| driver.world.states[&state.digest]).unwrap_or_default();
    let plans = &driver.world.plan.steps;
    let plan = plans[(saved.steps + number) as usize % plans.len()].clone();
    let mut guest = Guest {
        driver,
        replay,
        step: Place::step(turn, number),
        ordinal: 0,
        observed: Vec::new(),
        is_further: false,
        memory: told(&saved, &fixed.input, fixed.seed),
        calls: BTreeMap::new(),
    };
    for op in &plan.ops {
        guest.perform(op)?;
    }
    guest.end(saved, plan.ending)
}

/// What a step knows when it begins. That a session was loaded again is no news to it: an undisturbed run
/// would not hear of it.
fn told(saved: &Saved, input: &StepInput, seed: Digest) -> Digest {
    let contexts: Vec<_> = input.contexts.iter().filter(|context| !context.starts_with("resume")).collect();
    let unfinished = input.unfinished.as_ref().map(|one| (one.turn, one.how));
    digest(&(saved.memory, &input.messages, &input.answers, contexts, unfinished, seed))
}

fn digest(value: &impl serde::Serialize) -> Digest {
    Digest::of(&serde_json::to_vec(value).expect("plain data"))
}

impl Guest<'_, '_> {
    fn perform(&mut self, op: &Op) -> Result<(), Stop> {
        *self.calls.entry(format!("{op:?}").chars().take(4).collect()).or_default() += 1;
        let name = || format!("{}", self.memory);
        match op {
            Op::Wall => self.observe("wall-clock.now", |ns| Observed::Wall(ns, 0)),
            Op::Monotonic => self.observe("monotonic-clock.now", Observed::Monotonic),
            Op::Say => {
                let fact = AgentMessage::new(vec![Part::text(name())]);
                return self.note("session.say", fact.into());
            }
            Op::Title => {
                let fact = AgentTitle { title: name() };
                return self.note("session.set-title", fact.into());
            }
            Op::Emit => {
                let data = serde_json::json!({ "memory": name() });
                return self.note("session.emit", Custom { kind: "custom.plan".into(), data }.into());
            }
            Op::Log if self.replay.is_over() => {
                let lines = vec![LogLine { level: LogLevel::Info, text: name() }];
                let body = LogLines { component: "laws/agent:loop".into(), lines, dropped: 0 };
                self.driver.record(Draft::agent(self.step, body));
                self.driver.commit();
                return self.driver.breathe();
            }
            Op::Log => {}
            Op::Model(busy) => return self.model(*busy),
            Op::Tools(uses) => return self.tools(uses),
            Op::Stumble if !self.is_further => {}
            Op::Kill | Op::Stumble => {
                self.driver.world.die();
                return Err(Stop::Crashed);
            }
        }
        Ok(())
    }

    fn learn(&mut self, what: &impl serde::Serialize) {
        self.memory = digest(&(self.memory, what));
    }

    fn observe(&mut self, function: &str, live: fn(u64) -> Observed) {
        let recorded = self.replay.observe(self.ordinal, function);
        let item = recorded.unwrap_or_else(|mismatch| panic!("{mismatch}")).unwrap_or_else(|| {
            let item = live(self.driver.world.reading());
            self.observed.push(item.clone());
            item
        });
        self.learn(&item);
    }

    /// Opens the next call; what was observed before it is recorded with its first entry.
    fn call(&mut self, function: &str) -> (Place, Option<Recorded>) {
        let before = self.ordinal;
        self.ordinal += 1;
        let recorded =
            self.replay.call(self.ordinal, function).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        self.is_further |= recorded.is_none();
        if recorded.is_none() && !self.observed.is_empty() {
            let items = std::mem::take(&mut self.observed);
            let place = Place { ordinal: before, ..self.step };
            self.driver.record(Draft::agent(place, StepObserved { items }));
        }
        (Place { ordinal: self.ordinal, ..self.step }, recorded)
    }

    /// A call that is one entry and performed by its own transaction.
    fn note(&mut self, function: &str, fact: Fact) -> Result<(), Stop> {
        let (place, recorded) = self.call(function);
        if let Some(recorded) = recorded {
            assert_eq!(recorded.first().map(|entry| &entry.fact), Some(&fact), "a re-run says the same");
            return Ok(());
        }
        self.driver.record(Draft::agent(place, fact));
        self.driver.commit();
        self.driver.breathe()
    }

    /// The end of the call's use at a place, as it stands in the journal.
    fn ended(&self, place: Place) -> Option<Entry> {
        let mut entries = self
            .driver
            .world
            .journal
            .iter()
            .rev()
            .take_while(|entry| entry.place.turn == place.turn || entry.place == Place::default());
        let is_end = |fact: &Fact| {
            matches!(
                fact,
                Fact::ToolCompleted(_) | Fact::ToolLost(_) | Fact::ModelCompleted(_) | Fact::ModelLost(_)
            )
        };
        entries.find(|entry| entry.place == place && is_end(&entry.fact)).cloned()
    }

    /// R4: the request; every verdict; then the starts: each after the earlier uses that its files depend on.
    fn tools(&mut self, uses: &[Use]) -> Result<(), Stop> {
        let (place, recorded) = self.call("tools.call");
        let requested: Vec<RequestedUse> =
            uses.iter().zip(0u32..).map(|(one, i)| self.request(one, i)).collect();
        let fact = Fact::from(ToolsRequested { uses: requested.clone() });
        match recorded.as_ref().and_then(Recorded::first) {
            Some(first) => assert_eq!(first.fact, fact, "a re-run asks the same"),
            None => {
                self.driver.record(Draft::agent(place, fact));
                self.driver.commit();
                self.driver.breathe()?;
            }
        }
        let recorded = recorded.unwrap_or_default();
        let mut passed = Vec::new();
        for ((one, asked), index) in uses.iter().zip(&requested).zip(0u32..) {
            passed.push(self.judge(one, asked, place.at_index(index), &recorded)?);
        }
        let again: BTreeSet<u32> =
            (0..uses.len() as u32).filter(|index| recorded.started(*index).is_some()).collect();
        let mut left: Vec<u32> = (0..uses.len() as u32).collect();
        left.retain(|index| recorded.ended(*index).is_none());
        while !left.is_empty() {
            let waits = |index: u32, earlier: u32| {
                let name = |index: u32| requested[index as usize].name.as_str();
                let are_run = passed[index as usize].is_some() && passed[earlier as usize].is_some();
                are_run && pins::waits(name(index), name(earlier))
            };
            let is_free = |index: &u32| {
                left.iter().take_while(|earlier| *earlier < index).all(|earlier| !waits(*index, *earlier))
            };
            let (free, waiting): (Vec<u32>, Vec<u32>) = left.iter().copied().partition(is_free);
            let mut starts = Vec::new();
            for index in free {
                let (asked, verdicts) = (&requested[index as usize], passed[index as usize].as_deref());
                let start = self.start(asked, verdicts, place.at_index(index), &recorded);
                starts.extend(start.map(|start| (index, start)));
            }
            self.driver.commit();
            self.driver.breathe()?;
            for (index, start) in starts.iter().rev() {
                let parts = vec![Part::text(format!("did {}", requested[*index as usize].arguments))];
                let body = ToolCompleted::new(Some(start.seq), Outcome::Ok, parts);
                let done = Draft::system(start.place, body);
                let lost = Draft::system(start.place, ToolLost { start: start.seq, why: Lost::Limit });
                if again.contains(index) {
                    self.driver.perform_again(start, done, lost)?;
                } else {
                    self.driver.perform(start, done)?;
                }
            }
            left = waiting;
        }
        for index in 0..uses.len() as u32 {
            match self.ended(place.at_index(index)).map(|entry| entry.fact) {
                Some(Fact::ToolCompleted(body)) => self.learn(&(body.outcome, body.parts)),
                Some(Fact::ToolLost(_)) => self.learn(&Outcome::Unknown),
                other => panic!("a tool call goes on without an end: {other:?}"),
            }
        }
        Ok(())
    }

    fn request(&self, one: &Use, index: u32) -> RequestedUse {
        let input = serde_json::json!({ "memory": self.memory, "index": index }).to_string();
        let hooks = [(GUARD, one.guard), (ADVISER, one.adviser)];
        RequestedUse {
            id: format!("use{index}"),
            name: TOOLS[one.tool].0.into(),
            arguments: rewake_core::canonical::digest(&input).expect("it is JSON"),
            input,
            hooks: hooks.iter().filter_map(|(hook, gate)| gate.map(|_| *hook)).collect(),
            after: vec![],
        }
    }

    /// The verdicts that let a use pass; none: it may not.
    fn judge(
        &mut self,
        one: &Use,
        asked: &RequestedUse,
        place: Place,
        recorded: &Recorded,
    ) -> Result<Option<Vec<u64>>, Stop> {
        let bound = binding(
            &self.driver.world.id,
            place,
            &pins::qualified(&asked.name),
            pins::definition(&asked.name),
            asked.arguments,
        );
        let mut verdicts = Some(Vec::new());
        for hook in &asked.hooks {
            let gate = if *hook == GUARD { one.guard } else { one.adviser }.expect("it is among the hooks");
            if recorded.judged(place.index, *hook).is_none() {
                let before = recorded.asked(place.index, *hook).map(|entry| Entry::clone(entry));
                let start = match before.clone() {
                    Some(start) => start,
                    None => {
                        let event = HookEvent::PreToolUse;
                        let body =
                            HookStarted { hook: *hook, event, source: None, message: None, binding: bound };
                        let start = self.driver.record(Draft::system(place, body));
                        self.driver.commit();
                        self.driver.breathe()?;
                        start
                    }
                };
                let answer = verdict(&start, *hook, gate, bound);
                match before {
                    Some(_) => {
                        let lost = verdict(&start, *hook, Gate::Fail, bound);
                        self.driver.perform_again(&start, answer, lost)?;
                    }
                    None => self.driver.perform(&start, answer)?,
                }
            }
            let (seq, decision) = self.verdict_at(place, *hook);
            verdicts = verdicts.filter(|_| decision != Verdict::Deny);
            verdicts.iter_mut().for_each(|seqs| seqs.push(seq));
        }
        Ok(verdicts)
    }

    fn verdict_at(&self, place: Place, hook: u32) -> (u64, Verdict) {
        let found = self.driver.world.journal.iter().rev().find_map(|entry| match &entry.fact {
            Fact::HookVerdict(body) if entry.place == place && body.hook == hook => {
                Some((entry.seq, body.decision))
            }
            _ => None,
        });
        found.expect("it was judged")
    }

    /// The use's start, if it is to be performed; its refusal is recorded otherwise.
    fn start(
        &mut self,
        asked: &RequestedUse,
        verdicts: Option<&[u64]>,
        place: Place,
        recorded: &Recorded,
    ) -> Option<Entry> {
        if recorded.ended(place.index).is_some() {
            return None;
        }
        if let Some(start) = recorded.started(place.index) {
            return Some(Entry::clone(start));
        }
        let Some(verdicts) = verdicts else {
            let body = ToolCompleted::new(None, Outcome::Denied, vec![Part::text("no")]);
            self.driver.record(Draft::system(place, body));
            return None;
        };
        let (_, class) = TOOLS.iter().find(|(name, _)| *name == asked.name).expect("it is pinned");
        let body = ToolStarted {
            name: asked.name.clone(),
            class: *class,
            definition: pins::definition(&asked.name),
            arguments: asked.arguments,
            verdicts: verdicts.to_vec(),
        };
        Some(self.driver.record(Draft::system(place, body)))
    }

    fn end(self, saved: Saved, ending: EndPlan) -> Result<(), Stop> {
        self.replay.unclaimed().unwrap_or_else(|mismatch| panic!("{mismatch}"));
        let next = saved.steps + 1;
        let state = StateRef { version: 1, digest: digest(&(next, self.memory)) };
        self.driver.world.states.insert(state.digest, Saved { steps: next, memory: self.memory });
        let rows = self.driver.advance(true).rows;
        let outcome = self.outcome(ending, state);
        let end = StepEnd { outcome, ordinal: self.ordinal, observed: self.observed, logs: None, rows };
        let decision = self.driver.take(Input::StepEnd(end.clone()));
        assert!(
            decision
                .entries
                .iter()
                .any(|draft| matches!(draft.fact, Fact::StepCompleted(_) | Fact::StepAborted(_)))
        );
        assert!(decide(&self.driver.session, Input::StepEnd(end)).is_err(), "a step ends once");
        self.driver.world.tick()?;
        Ok(())
    }

    fn outcome(&self, ending: EndPlan, state: StateRef) -> StepOutcome {
        let broken = |how, scope, code: &str| StepOutcome::Broken {
            how,
            scope,
            code: code.into(),
            detail: "as planned".into(),
        };
        let next = match ending {
            EndPlan::Fail => return broken(Ending::Failed, Scope::Turn, "planned"),
            EndPlan::Trap => return broken(Ending::Trapped, Scope::Turn, "trapped"),
            EndPlan::Ruin => return broken(Ending::Failed, Scope::Session, "ruined"),
            _ if self.step.step >= self.driver.world.plan.turn_steps => Next::Done,
            EndPlan::More => Next::More,
            EndPlan::Done => Next::Done,
            EndPlan::Ask => Next::Ask(["q1", "q2"].map(question).to_vec()),
            EndPlan::Wait => {
                let until = Timestamp(self.driver.world.now.0 + 60_000);
                Next::Wait { until: Some(until), on_message: false }
            }
            EndPlan::Listen => Next::Wait { until: None, on_message: true },
        };
        StepOutcome::Completed { next, state: Some(state), calls: self.calls.clone() }
    }
}

fn question(id: &str) -> Question {
    Question { id: id.into(), text: "May I?".into(), choices: vec![], schema: None }
}

fn verdict(start: &Entry, hook: u32, gate: Gate, binding: Digest) -> Draft {
    let (decision, error) = match gate {
        Gate::Allow => (Verdict::Allow, None),
        Gate::Deny => (Verdict::Deny, None),
        Gate::Nothing => (Verdict::None, None),
        Gate::Fail => match pins::created().hooks[hook as usize].on_error {
            OnError::Deny => (Verdict::Deny, Some("it failed".to_owned())),
            OnError::Allow => (Verdict::None, Some("it failed".to_owned())),
        },
    };
    let body = HookVerdict { start: start.seq, hook, decision, binding, error, ..HookVerdict::default() };
    Draft::system(start.place, body)
}
