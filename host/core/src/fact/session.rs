//! Facts of the session as a whole.

use std::collections::BTreeMap;

use rewake_wire::Sender;
use serde::{Deserialize, Serialize};

use crate::ids::{Digest, HostId};
use crate::money::Usd;

/// Why SessionStart fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The session starts.
    Startup,
    /// It was loaded again.
    Resume,
}

impl Source {
    /// The word that matchers are tried on.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Startup => "startup",
            Source::Resume => "resume",
        }
    }
}

/// `session.loaded`: a host took the session up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLoaded {
    /// Whether it starts or resumes.
    pub source: Source,
    /// The host.
    pub host: HostId,
    /// The host's version.
    pub host_version: String,
    /// The snapshot it began from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_seq: Option<u64>,
    /// Entries folded after it.
    pub folded: u64,
    /// The same process had it, and lost it without being unloaded: `lease`, it ran out or was taken over;
    /// `store`, it was not known what was written. A re-run because of that does not count (R5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// `session.unloaded`: a host unloaded it in good order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionUnloaded {
    /// `idle`, `shutdown`; `rules`: it is loaded again at once, under the operator's rules of now.
    pub why: String,
}

/// `session.titled`: a hook named it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTitled {
    /// At most 64 characters.
    pub title: String,
}

/// `session.stopped`: it was ended for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStopped {
    /// As given with the stop.
    pub reason: String,
}

/// `session.failed`: it ended for good because it cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailed {
    /// The harness's code.
    pub code: String,
    /// The harness's words.
    pub detail: String,
}

/// `session.labelled`: the operator's words about it are others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLabelled {
    /// What they were.
    pub before: BTreeMap<String, String>,
    /// What they are.
    pub after: BTreeMap<String, String>,
}

/// `budget.changed`: an operator changed what its models may cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetChanged {
    /// The cap until now; none: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Usd>,
    /// The cap from here on; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Usd>,
    /// Who changed it.
    pub by: Sender,
}

/// `snapshot.taken`: the fold and the saved state at a seq were kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    /// The newest entry it holds.
    pub at: u64,
    /// That entry's chain hash.
    pub hash: Digest,
    /// Bytes it takes.
    pub bytes: u64,
}

/// `snapshot.rejected`: a snapshot could not be used; an older one or the whole journal was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRejected {
    /// The newest entry it claims to hold.
    pub at: u64,
    /// What is wrong with it.
    pub why: String,
}
