//! What a session does next: every input, what comes of it, and the dispatch to the file that knows.
//! Decides only; appending, folding and performing are the driver's.

use std::collections::BTreeMap;

use rewake_wire::Sender;

use crate::command::Row;
use crate::entry::Draft;
use crate::error::Refusal;
use crate::fact::{Created, Ending, GrantsWhy, LogLines, Next, Observed, Scope, StateRef, WorkspaceImported};
use crate::grant::Grants;
use crate::ids::{HostId, Seed, Timestamp};
use crate::money::Usd;
use crate::recovery;
use crate::session::Session;
use crate::transitions::{firing::Firing, grants, life, record, settings, step, turn, workspace};

/// What a component may use now, and what decides that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Its grants.
    pub grants: Grants,
    /// What decides.
    pub why: GrantsWhy,
    /// Who approved, where an approval decides.
    pub by: Option<String>,
}

/// Everything that can happen to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// It is created.
    Create(Box<Created>),
    /// A host has taken it up; its journal is folded.
    Load(LoadInput),
    /// What each of its components may use now, in the order of the pins.
    Grants(Vec<InForce>),
    /// Files are to be brought into its workspace.
    Import(WorkspaceImported),
    /// An operator changes its labels.
    Label {
        /// All of them, as they are to be.
        labels: BTreeMap<String, String>,
        /// Who.
        by: Sender,
    },
    /// An operator changes what its models may cost.
    Budget {
        /// The cap; none: as much as they like.
        max_usd: Option<Usd>,
        /// Who.
        by: Sender,
    },
    /// The host unloads it in good order.
    Unload {
        /// `idle`, `shutdown`.
        why: String,
    },
    /// Something may be due: new rows, a time, the end of something.
    Advance(Advance),
    /// A running step, or a hook that fires, has something to record.
    Record(Draft),
    /// The running step ended.
    StepEnd(StepEnd),
}

/// A host has taken the session up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadInput {
    /// The host.
    pub host: HostId,
    /// The host's version.
    pub host_version: String,
    /// The snapshot the fold began from.
    pub snapshot_seq: Option<u64>,
    /// Entries folded after it.
    pub folded: u64,
    /// Snapshots that could not be used, and why.
    pub rejected: Vec<(u64, String)>,
    /// Why the host that ran it loads it again without having unloaded it in good order: `lease`,
    /// `store`. Its process has lived on.
    pub again: Option<String>,
}

/// Something may be due.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// The inbox's untaken rows, by number.
    pub rows: Vec<Row>,
    /// The store's time.
    pub now: Timestamp,
    /// A new random seed, for the step that may start.
    pub seed: Seed,
    /// A guest is running: the step, or hooks that fire.
    pub running: bool,
    /// The open step's start or re-run is of this host, and it has not been run since.
    pub ready: bool,
}

/// How a step ended, with what it has not recorded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEnd {
    /// How it ended.
    pub outcome: StepOutcome,
    /// The ordinal of its last call.
    pub ordinal: u32,
    /// What it observed since its last entry.
    pub observed: Vec<Observed>,
    /// Its diagnostics.
    pub logs: Option<LogLines>,
    /// The inbox's untaken rows: the turn's end counts its messages, and an ended session answers them all.
    pub rows: Vec<Row>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StepOutcome {
    /// Well.
    Completed {
        /// What it wants next.
        next: Next,
        /// What it saved.
        state: Option<StateRef>,
        /// How often each host function was called.
        calls: BTreeMap<String, u64>,
    },
    /// Not well: it said so, it died, or it met a limit.
    Broken {
        /// How.
        how: Ending,
        /// How far it reaches.
        scope: Scope,
        /// A stable word.
        code: String,
        /// For people.
        detail: String,
    },
}

/// What is to be appended, and what is to be done then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// One transaction's entries, in order; may be none.
    pub entries: Vec<Draft>,
    /// The running guest is dropped first. What it has done by then is recorded, and the input decided
    /// again: an outcome in memory is written as an outcome, not as lost.
    pub drops_guest: bool,
    /// What follows.
    pub then: Then,
}

/// What follows an append.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Then {
    /// Ask again: more may be due.
    #[default]
    Again,
    /// Run the open step.
    RunStep,
    /// Ask these hooks about the session's start, then ask again.
    Fire(Vec<Firing>),
    /// Nothing, until something comes or this time is there.
    Idle(Option<Timestamp>),
    /// Nothing, ever.
    Ended,
}

impl Decision {
    pub(crate) fn append(entries: Vec<Draft>) -> Self {
        Decision { entries, ..Decision::default() }
    }

    pub(crate) fn then(then: Then) -> Self {
        Decision { then, ..Decision::default() }
    }
}

/// Decides what comes of an input. Never changes the session.
///
/// # Errors
/// A refusal: nothing may be written and nothing performed.
pub fn decide(session: &Session, input: Input) -> Result<Decision, Refusal> {
    match input {
        Input::Create(created) => life::create(session, *created),
        Input::Load(load) => recovery::load(session, load),
        Input::Grants(now) => grants::in_force(session, now),
        Input::Import(body) => workspace::import(session, body),
        Input::Label { labels, by } => settings::label(session, labels, &by),
        Input::Budget { max_usd, by } => settings::budget(session, max_usd, by),
        Input::Unload { why } => life::unload(session, why),
        Input::Advance(advance) => turn::advance(session, advance),
        Input::Record(draft) => record::record(session, draft),
        Input::StepEnd(end) => step::end(session, end),
    }
}
