//! A session brought to a point, to which single facts are tried: with the gate (`record`) or without
//! (`add`). Performs nothing, crashes never.

use rewake_core::codec::{Seal, seal};
use rewake_core::command::{Command, Row};
use rewake_core::decide::{Advance, Decision, Input, LoadInput, StepEnd, StepOutcome};
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{
    Decision as Verdict, Fact, HookEvent, HookStarted, HookVerdict, ModelStarted, Next, RequestedUse,
    StepStarted, ToolCompleted, ToolStarted, ToolsRequested, TurnStarted, UserMessage,
};
use rewake_core::ids::{Digest, HostId, Timestamp};
use rewake_core::money::Usd;
use rewake_core::{Corrupt, Refusal, Session, binding, decide};
use rewake_wire::{Outcome, Part, Sender};

use crate::pins;

/// The open step.
pub(crate) const STEP: Place = Place { turn: 1, step: 1, ordinal: 0, index: 0 };
/// The first use of the open step's first call.
pub(crate) const USE: Place = Place { turn: 1, step: 1, ordinal: 1, index: 0 };

#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) session: Session,
    rows: u64,
}

impl Bench {
    /// Created and loaded.
    pub(crate) fn loaded() -> Self {
        let mut bench = Bench { session: Session::new(pins::session()), rows: 0 };
        for input in [Input::Create(Box::new(pins::created())), Input::Load(load())] {
            let decision = decide(&bench.session, input).unwrap();
            bench.add_all(decision.entries).unwrap();
        }
        bench
    }

    /// With the first turn open, and no step of it.
    pub(crate) fn in_turn() -> Self {
        let mut bench = Bench::loaded();
        bench.rows = 1;
        let sender = Sender::Operator("ada".into());
        let message = UserMessage { n: 1, sender, parts: vec![Part::text("hello")] };
        bench.add(Place::turn(1), message).unwrap();
        bench.add(Place::turn(1), TurnStarted { commands: vec![1] }).unwrap();
        bench
    }

    /// With its first step open.
    pub(crate) fn in_step() -> Self {
        let mut bench = Bench::in_turn();
        let started = bench.step_started();
        bench.add(STEP, started).unwrap();
        bench
    }

    /// A use of a tool is requested, that these hooks must judge.
    pub(crate) fn requested(tool: &str, hooks: &[u32]) -> Self {
        Bench::requested_all(&[tool], hooks)
    }

    /// One call of tools has these uses.
    pub(crate) fn requested_all(tools: &[&str], hooks: &[u32]) -> Self {
        let mut bench = Bench::in_step();
        let one = |(index, tool): (usize, &&str)| RequestedUse {
            id: format!("use{index}"),
            name: (*tool).into(),
            input: "{}".into(),
            arguments: arguments(),
            hooks: hooks.to_vec(),
            after: vec![],
        };
        let uses = tools.iter().enumerate().map(one).collect();
        bench.record(USE, ToolsRequested { uses }).unwrap();
        bench
    }

    /// A tool that no hook must judge is started; returns the start's seq too.
    pub(crate) fn started(tool: &str) -> (Self, u64) {
        let mut bench = Bench::requested(tool, &[]);
        let start = bench.record(USE, tool_started(tool, vec![])).unwrap();
        (bench, start)
    }

    /// A model is being asked; returns the start's seq too.
    pub(crate) fn asking() -> (Self, u64) {
        let mut bench = Bench::in_step();
        let start = bench.record(USE, model_started()).unwrap();
        (bench, start)
    }

    /// A hook's verdict on the use; returns its seq.
    pub(crate) fn judge(&mut self, hook: u32, decision: Verdict, bound: Digest) -> u64 {
        let start = self.record(USE, hook_started(hook, bound)).unwrap();
        self.record(USE, verdict(start, hook, decision, bound)).unwrap()
    }

    pub(crate) fn step_started(&self) -> StepStarted {
        StepStarted {
            input: self.session.pending.clone(),
            state: self.session.saved,
            component: Digest::of(b"loop"),
            seed: Digest::of(b"seed"),
        }
    }

    /// What is due when these commands are in the inbox.
    pub(crate) fn due(&mut self, commands: Vec<Command>) -> Decision {
        let rows = self.sent(commands);
        self.due_with(&rows)
    }

    /// Rows of these commands, sent by Ada.
    pub(crate) fn sent(&mut self, commands: Vec<Command>) -> Vec<Row> {
        let row = |command| {
            self.rows += 1;
            Row { n: self.rows, sender: Sender::Operator("ada".into()), command }
        };
        commands.into_iter().map(row).collect()
    }

    /// What is due when these rows are in the inbox, and those that are accepted already.
    pub(crate) fn due_with(&self, rows: &[Row]) -> Decision {
        let advance = advance(1_000, rows.to_vec());
        decide(&self.session, Input::Advance(advance)).unwrap()
    }

    /// What is due then.
    pub(crate) fn due_at(&self, now: i64, rows: Vec<Row>) -> Decision {
        decide(&self.session, Input::Advance(advance(now, rows))).unwrap()
    }

    /// A host loads it; returns what that writes.
    pub(crate) fn load(&mut self) -> Vec<Draft> {
        let entries = decide(&self.session, Input::Load(load())).unwrap().entries;
        self.add_all(entries.clone()).unwrap();
        entries
    }

    /// The open step ends well, and wants this next; returns what that writes.
    pub(crate) fn ends(&mut self, next: Next) -> Vec<Draft> {
        let entries = decide(&self.session, Input::StepEnd(ended(next))).unwrap().entries;
        self.add_all(entries.clone()).unwrap();
        entries
    }

    /// Through the gate; returns the entry's seq.
    pub(crate) fn record(&mut self, place: Place, fact: impl Into<Fact>) -> Result<u64, Refusal> {
        let decision = decide(&self.session, Input::Record(Draft::system(place, fact)))?;
        self.add_all(decision.entries).expect("what was decided applies");
        Ok(self.session.head.seq)
    }

    /// Past the gate.
    pub(crate) fn add(&mut self, place: Place, fact: impl Into<Fact>) -> Result<u64, Corrupt> {
        self.add_all(vec![Draft::system(place, fact)])?;
        Ok(self.session.head.seq)
    }

    pub(crate) fn add_all(&mut self, drafts: Vec<Draft>) -> Result<(), Corrupt> {
        for draft in drafts {
            let terms = Seal { epoch: 1, at: Timestamp(1_000), salt: [1; 16] };
            let (entry, _) = seal(&pins::session(), self.session.head, terms, draft).expect("it is small");
            self.session.apply(&entry)?;
        }
        Ok(())
    }
}

pub(crate) fn advance(now: i64, rows: Vec<Row>) -> Advance {
    Advance { rows, now: Timestamp(now), seed: Digest::of(b"seed"), running: false, ready: false }
}

/// A host loads a session.
pub(crate) fn load() -> LoadInput {
    LoadInput {
        host: HostId::parse("host_laws").expect("it has the prefix and letters"),
        host_version: "0.1.0".into(),
        snapshot_seq: None,
        folded: 1,
        rejected: vec![],
        again: None,
    }
}

/// A step ended well that made no call.
pub(crate) fn ended(next: Next) -> StepEnd {
    let outcome = StepOutcome::Completed { next, state: None, calls: Default::default() };
    StepEnd { outcome, ordinal: 0, observed: vec![], logs: None, rows: vec![] }
}

/// A snapshot's fields. Sessions are read and written in one way only: each other one compiles all of it again.
pub(crate) fn snapshot(session: &Session) -> serde_json::Value {
    let bytes = serde_json::to_vec(session).expect("a session is plain data");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

/// A message in the inbox.
pub(crate) fn message(n: u64) -> Row {
    let command = Command::Message { parts: vec![Part::text("more")] };
    Row { n, sender: Sender::Operator("ada".into()), command }
}

pub(crate) fn kinds(entries: &[Draft]) -> Vec<&str> {
    entries.iter().map(|draft| draft.fact.kind()).collect()
}

/// The digest of the use's arguments.
pub(crate) fn arguments() -> Digest {
    rewake_core::canonical::digest("{}").expect("it is JSON")
}

/// What a verdict on the use must be bound to.
pub(crate) fn bound(tool: &str) -> Digest {
    bound_as(USE, tool, arguments())
}

/// What a verdict on another use would be bound to.
pub(crate) fn bound_as(place: Place, tool: &str, arguments: Digest) -> Digest {
    binding(&pins::session(), place, &pins::qualified(tool), pins::definition(tool), arguments)
}

pub(crate) fn model_started() -> ModelStarted {
    ModelStarted {
        model: "scripted".into(),
        request: arguments(),
        messages: 1,
        provider: None,
        stored: None,
        reserved: Usd::ZERO,
    }
}

pub(crate) fn tool_started(tool: &str, verdicts: Vec<u64>) -> ToolStarted {
    let (_, class) = pins::TOOLS.iter().find(|(name, _)| *name == tool).expect("it is pinned");
    ToolStarted {
        name: tool.into(),
        class: *class,
        definition: pins::definition(tool),
        arguments: arguments(),
        verdicts,
    }
}

pub(crate) fn hook_started(hook: u32, binding: Digest) -> HookStarted {
    HookStarted { hook, event: HookEvent::PreToolUse, source: None, message: None, binding }
}

pub(crate) fn verdict(start: u64, hook: u32, decision: Verdict, binding: Digest) -> HookVerdict {
    HookVerdict { start, hook, decision, binding, ..HookVerdict::default() }
}

/// The session is as it was, and the refusal says why.
pub(crate) fn refused(bench: &Bench, place: Place, fact: impl Into<Fact>, why: &'static str) {
    let fact = fact.into();
    let mut tried = bench.clone();
    let got = tried.record(place, fact.clone());
    assert_eq!(got, Err(Refusal::Rule(why)), "{fact:?} at {place:?}");
    assert_eq!(tried.session, bench.session);
}

/// A use's end.
pub(crate) fn completed(start: Option<u64>, outcome: Outcome) -> ToolCompleted {
    ToolCompleted::new(start, outcome, vec![])
}
