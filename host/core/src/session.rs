//! The folded session: all that its journal says, in the shape that deciding needs. It is changed by
//! `apply` alone, live and in recovery.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rewake_wire::{Part, Status, Usage};
use serde::{Deserialize, Serialize};

use crate::asked::Asked;
use crate::entry::Entry;
use crate::error::Corrupt;
use crate::fact::{Created, Ending, Fact, Next, Source, StateRef, StepInput, StepStarted, ToolPin, WaitOn};
use crate::grant::Grants;
use crate::ids::{Digest, Head, SessionId, Timestamp};
use crate::money::Usd;
pub use crate::open_call::{CallKind, OpenCall, OpenHook};
pub use crate::taken::Taken;
use crate::transitions::{
    call, grants, hook, inbox, life, logs, model, room, settings, step, turn, workspace,
};

/// A session, folded from its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The newest entry.
    pub head: Head,
    /// What it runs with; none before its first entry.
    pub created: Option<Box<Created>>,
    /// When its first entry was appended.
    pub created_at: Timestamp,
    /// When its newest entry was appended.
    pub updated_at: Timestamp,
    /// Its title.
    pub title: Option<String>,
    /// Which inbox rows are in the journal.
    pub taken: Taken,
    /// What messages that are not accepted say since they were edited, by row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub edits: BTreeMap<u64, Vec<Part>>,
    /// Messages that are not accepted and each open a turn ahead of the others, by row; the next one comes last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<u64>,
    /// Turns opened so far.
    pub turns: u32,
    /// The open turn.
    pub turn: Option<Turn>,
    /// Accepted and not yet given to a step.
    pub pending: StepInput,
    /// What the last completed step saved.
    pub saved: Option<StateRef>,
    /// What hooks of the session added and no step was told yet, in the order in which it is told.
    #[serde(default)]
    pub heard: Vec<Heard>,
    /// Calls that have a start and no end, by the start's seq.
    pub calls: BTreeMap<u64, OpenCall>,
    /// Open questions.
    pub questions: BTreeSet<String>,
    /// How often it was loaded, and what this load has done about SessionStart.
    pub load: Load,
    /// What components may use, where it is less than what was pinned.
    #[serde(default)]
    pub grants: BTreeMap<u32, Grants>,
    /// The workspace's tree by the newest import since it was last loaded:
    /// the host that loads it puts it in place, if it is not
    /// in place.
    #[serde(default)]
    pub imported: Option<Digest>,
    /// How it ended for good.
    pub ended: Option<Ended>,
    /// Hooks that have answered to its end.
    #[serde(default)]
    pub farewells: BTreeSet<u32>,
    /// The operator's words about it, where they are others than at its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// What its models may cost, where it is something else than was pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What its models counted.
    pub usage: Usage,
    /// What ended calls of models cost; of a lost one, all that was reserved.
    #[serde(default)]
    pub spent: Usd,
    /// What is known of its requests to models.
    #[serde(default)]
    pub asked: Asked,
    /// Bytes that its steps have written: payloads, and the bodies of responses.
    #[serde(default)]
    pub bytes: u64,
    /// The greatest monotonic reading that a guest was given, in nanoseconds.
    pub monotonic_ns_max: u64,
    /// When that reading was recorded, by the store's clock.
    pub monotonic_at: Timestamp,
}

/// What a session's models may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The cap; none: as much as they like.
    pub max_usd: Option<Usd>,
}

/// The open turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number in the session.
    pub number: u32,
    /// Its first entry: that of the first command it took in.
    pub first_seq: u64,
    /// Steps started so far.
    pub steps: u32,
    /// What the last completed step wanted next.
    pub after: Option<Next>,
    /// The open step.
    pub step: Option<Step>,
    /// How its last step was aborted.
    pub aborted: Option<Ending>,
    /// What it waits for.
    pub waiting: Option<WaitOn>,
    /// Why a hook ends it, until its end is written.
    #[serde(default)]
    pub ending: Option<String>,
    /// Messages and the hooks that have judged them.
    #[serde(default)]
    pub prompts: BTreeSet<(u64, u32)>,
    /// Why a message of it was refused.
    #[serde(default)]
    pub blocked: Option<String>,
    /// What Stop hooks made of its end.
    #[serde(default)]
    pub stop: StopRounds,
    /// The agent's last message as text, cut; kept only for Stop hooks.
    #[serde(default)]
    pub said: Option<String>,
    /// What its models counted.
    pub usage: Usage,
    /// What its models cost.
    #[serde(default)]
    pub spent: Usd,
    /// What is kept of its diagnostics.
    #[serde(default)]
    pub logged: Logged,
    /// Bytes that its steps have written.
    #[serde(default)]
    pub bytes: u64,
}

/// How much of a turn's diagnostics is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// Lines.
    pub lines: usize,
    /// Bytes of them.
    pub bytes: usize,
}

/// What a hook of the session added for the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Its rank: the kind of event, which of them, the hook's index.
    pub order: (u8, u64, u32),
    /// What it says.
    pub text: String,
}

/// What Stop hooks made of a turn's end (hooks.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRounds {
    /// How often the turn went on because one wanted it.
    pub rounds: u32,
    /// Those that have answered in this round.
    pub heard: BTreeSet<u32>,
    /// One of them wants the turn to go on.
    pub blocked: bool,
}

/// The open step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number in the turn.
    pub number: u32,
    /// Seq of its `step.started`.
    pub started_seq: u64,
    /// What was fixed before it ran.
    pub fixed: StepStarted,
    /// The entries it caused, to be claimed by a replay.
    #[serde(with = "crate::shared")]
    pub entries: Vec<Arc<Entry>>,
    /// The newest answer of a model among them, by its index, while no message of the agent says it.
    #[serde(default)]
    pub unsaid: Option<usize>,
    /// The greatest ordinal among them: calls are numbered without gaps.
    pub ordinals: u32,
    /// Consecutive re-runs that added no entry.
    pub reruns: u32,
    /// It added an entry since it was last run.
    pub progressed: bool,
    /// Its next re-run does not count: it was unloaded in good order.
    pub excused: bool,
}

/// How often the session was loaded, and what is done about SessionStart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Loads so far.
    pub count: u64,
    /// Hooks whose `startup` verdict is recorded: they never see `startup` again.
    pub startup_hooks: BTreeSet<u32>,
    /// Hooks that this load has a SessionStart verdict of.
    pub fired_hooks: BTreeSet<u32>,
    /// Consecutive loads of the open turn that had something to do and neither ran a step nor ended in good order.
    pub crashed: u32,
    /// A step was started or run again since this load: SessionStart's time is over.
    pub stepped: bool,
}

impl Load {
    /// What the next load will be.
    pub fn next(&self) -> Source {
        if self.count == 0 { Source::Startup } else { Source::Resume }
    }
}

/// How a session ended for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It was stopped.
    Stopped,
    /// It failed.
    Failed,
}

impl Ended {
    /// The word that matchers of SessionEnd are tried on.
    pub fn as_str(&self) -> &'static str {
        match self {
            Ended::Stopped => "stopped",
            Ended::Failed => "failed",
        }
    }
}

impl Session {
    /// A session without an entry.
    pub fn new(id: SessionId) -> Self {
        Session {
            id,
            head: Head::default(),
            bytes: 0,
            created: None,
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            title: None,
            taken: Taken::default(),
            edits: BTreeMap::new(),
            promoted: Vec::new(),
            turns: 0,
            turn: None,
            pending: StepInput::default(),
            saved: None,
            heard: Vec::new(),
            calls: BTreeMap::new(),
            questions: BTreeSet::new(),
            load: Load::default(),
            grants: BTreeMap::new(),
            imported: None,
            ended: None,
            farewells: BTreeSet::new(),
            labels: None,
            budget: None,
            usage: Usage::default(),
            spent: Usd::ZERO,
            asked: Asked::default(),
            monotonic_ns_max: 0,
            monotonic_at: Timestamp::default(),
        }
    }

    /// Folds one entry. No I/O, no clock, no randomness.
    ///
    /// # Errors
    /// If the entry does not follow the head, or says what cannot be after the ones before it. The
    /// session is then in no defined state and must be dropped.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Corrupt> {
        self.fold(entry, || Arc::new(entry.clone()))
    }

    /// As [`Session::apply`], of an entry that others hold too: the open step keeps it without a copy.
    ///
    /// # Errors
    /// As [`Session::apply`].
    pub fn apply_shared(&mut self, entry: &Arc<Entry>) -> Result<(), Corrupt> {
        self.fold(entry, || Arc::clone(entry))
    }

    fn fold(&mut self, entry: &Entry, share: impl FnOnce() -> Arc<Entry>) -> Result<(), Corrupt> {
        if entry.seq != self.head.seq + 1 || entry.prev_hash != self.head.hash {
            return Err(Corrupt::at(entry.seq, format!("does not follow entry {}", self.head.seq)));
        }
        self.apply_fact(entry, share)
            .map_err(|what| Corrupt::at(entry.seq, format!("{}: {what}", entry.fact.kind())))?;
        self.head = Head { seq: entry.seq, hash: entry.hash };
        self.updated_at = entry.at;
        Ok(())
    }

    fn apply_fact(&mut self, entry: &Entry, share: impl FnOnce() -> Arc<Entry>) -> Result<(), &'static str> {
        if self.created.is_none() && !matches!(entry.fact, Fact::SessionCreated(_)) {
            return Err("the session was not created before");
        }
        step::keep_for_replay(self, entry, share);
        if entry.place.step > 0 {
            let bytes = room::bytes(entry.bytes, &entry.fact);
            self.bytes = self.bytes.saturating_add(bytes);
            self.turn.iter_mut().for_each(|turn| turn.bytes = turn.bytes.saturating_add(bytes));
        }
        match &entry.fact {
            Fact::SessionCreated(body) => life::created(self, entry, body),
            Fact::SessionLoaded(body) => life::loaded(self, entry, body),
            Fact::SessionUnloaded(_) => life::unloaded(self),
            Fact::SessionTitled(body) => life::titled(self, &body.title),
            Fact::AgentTitle(body) => life::titled(self, &body.title),
            Fact::SessionLabelled(body) => settings::labelled(self, body),
            Fact::BudgetChanged(body) => settings::budget_changed(self, body),
            Fact::SessionStopped(_) => life::ended(self, Ended::Stopped),
            Fact::SessionFailed(_) => life::ended(self, Ended::Failed),
            Fact::UserMessage(body) => inbox::message(self, entry, body),
            Fact::UserAnswer(body) => inbox::answer(self, body),
            Fact::UserInterrupt(body) => inbox::take(self, body.n),
            Fact::UserStop(body) => inbox::take(self, body.n),
            Fact::CommandRejected(body) => inbox::take(self, body.n),
            Fact::CommandEdited(body) => inbox::edited(self, body),
            Fact::CommandCanceled(body) => inbox::canceled(self, body),
            Fact::CommandPromoted(body) => inbox::promoted(self, body),
            Fact::TurnStarted(_) => turn::started(self, entry),
            Fact::TurnSteered(_) => turn::steered(self),
            Fact::TurnWaiting(body) => turn::waiting(self, body),
            Fact::TurnCompleted(_) => turn::completed(self, entry),
            Fact::TurnInterrupted(_) => turn::broken(self, entry, Ending::Interrupted),
            Fact::TurnFailed(_) => turn::failed(self, entry),
            Fact::StepStarted(body) => step::started(self, entry, body),
            Fact::StepCompleted(body) => step::completed(self, body),
            Fact::StepAborted(body) => step::aborted(self, body),
            Fact::StepRerun(body) => step::rerun(self, body),
            Fact::StepObserved(body) => step::observed(self, entry, body),
            Fact::ModelStarted(body) => model::started(self, entry, body),
            Fact::ModelCompleted(body) => model::completed(self, body),
            Fact::ModelLost(body) => model::lost(self, body),
            Fact::ToolStarted(body) => call::tool_started(self, entry, body),
            Fact::ToolCompleted(body) => match body.start {
                Some(start) => call::ended(self, start, CallKind::Tool),
                None => Ok(()),
            },
            Fact::ToolLost(body) => call::ended(self, body.start, CallKind::Tool),
            Fact::HttpStarted(body) => call::started(self, entry, CallKind::Http, body.class),
            Fact::HttpCompleted(body) => match body.start {
                Some(start) => call::ended(self, start, CallKind::Http),
                None => Ok(()),
            },
            Fact::HttpLost(body) => call::ended(self, body.start, CallKind::Http),
            Fact::CallRetried(body) => call::retried(self, body),
            Fact::HookStarted(body) => hook::started(self, entry, body),
            Fact::HookVerdict(body) => hook::verdict(self, body),
            Fact::QuestionAsked(body) => turn::asked(self, &body.question.id),
            Fact::QuestionWithdrawn(body) => turn::withdrawn(self, &body.id),
            Fact::AgentMessage(body) => turn::said(self, body),
            Fact::LogLines(body) => logs::said(self, entry, body),
            Fact::ToolsRequested(_) | Fact::Custom(_) => Ok(()),
            Fact::GrantsChanged(body) => grants::changed(self, body),
            Fact::WorkspaceImported(body) => workspace::imported(self, body),
            Fact::SnapshotTaken(_) | Fact::SnapshotRejected(_) => Ok(()),
        }
    }

    /// Whether a fold that was kept beside the journal holds together: what else it says was folded once.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), &'static str> {
        life::check_pins(self.created.as_deref().ok_or("it is of no created session")?)?;
        let hooks = self.pins().hooks.len();
        let is_known =
            |call: &OpenCall| !matches!(call.kind, CallKind::Hook(open) if open.hook as usize >= hooks);
        if !self.calls.values().all(is_known) {
            return Err("a call of it is of no hook it has");
        }
        if self.ended.is_some() && self.open_step().is_some() {
            return Err("it has ended, and a step of it is open");
        }
        Ok(())
    }

    /// The status, derived from the entries.
    pub fn status(&self) -> Status {
        match (&self.ended, &self.turn) {
            (Some(Ended::Stopped), _) => Status::Stopped,
            (Some(Ended::Failed), _) => Status::Failed,
            (None, Some(turn)) if turn.waiting.is_some() => Status::Awaiting,
            (None, Some(_)) => Status::Running,
            (None, None) if self.turns == 0 => Status::Queued,
            (None, None) => Status::Awaiting,
        }
    }

    /// The pins.
    ///
    /// # Panics
    /// If the session has no entry: a bug of the caller, who must have loaded or created it.
    pub fn pins(&self) -> &Created {
        self.created.as_deref().expect("a session is created by its first entry")
    }

    /// What a component may use by the newest entry that says so.
    pub fn grants_of(&self, component: u32) -> &Grants {
        self.grants.get(&component).unwrap_or_else(|| &self.pins().components[component as usize].grants)
    }

    /// What a tool may use by the newest entry that says so; nothing, if no component runs it.
    pub fn grants_of_tool(&self, tool: &ToolPin) -> Option<&Grants> {
        tool.component.map(|component| self.grants_of(component))
    }

    /// Whether uses of two tools must not overlap (journal.md R4).
    pub(crate) fn conflict(&self, one: &ToolPin, other: &ToolPin) -> bool {
        let (one, other) = (self.grants_of_tool(one), self.grants_of_tool(other));
        one.zip(other).is_some_and(|(one, other)| one.conflicts_with(other))
    }

    /// Where the monotonic clock of a guest goes on at a time of the store: from its greatest recorded
    /// reading, and by as much as has passed since that was recorded.
    pub fn monotonic_ns(&self, now: Timestamp) -> u64 {
        let passed_ms = match self.monotonic_ns_max {
            0 => 0,
            _ => u64::try_from(now.0.saturating_sub(self.monotonic_at.0)).unwrap_or(0),
        };
        self.monotonic_ns_max.saturating_add(passed_ms.saturating_mul(1_000_000))
    }

    /// What its models have cost, and can still cost by what was sent.
    pub fn committed(&self) -> Usd {
        self.calls.values().map(OpenCall::committed).sum::<Usd>().plus(self.spent)
    }

    /// The most that its models may cost; none: as much as they like.
    pub fn max_usd(&self) -> Option<Usd> {
        match self.budget {
            Some(budget) => budget.max_usd,
            None => self.created.as_ref().and_then(|created| created.agent.max_usd),
        }
    }

    /// The operator's words about it.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        self.labels.as_ref().unwrap_or_else(|| &self.pins().labels)
    }

    /// Whether hooks have still to hear of its end.
    pub fn has_farewells(&self) -> bool {
        self.ended.is_some() && !crate::transitions::firing::due(self).is_empty()
    }

    /// The open step, and its turn's number.
    pub fn open_step(&self) -> Option<(u32, &Step)> {
        let turn = self.turn.as_ref()?;
        turn.step.as_ref().map(|step| (turn.number, step))
    }
}

/// Folds a journal from its start.
///
/// # Errors
/// As [`Session::apply`].
pub fn fold<'a>(id: SessionId, entries: impl IntoIterator<Item = &'a Entry>) -> Result<Session, Corrupt> {
    let mut session = Session::new(id);
    for entry in entries {
        session.apply(entry)?;
    }
    Ok(session)
}
