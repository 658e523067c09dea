//! A session in a list.

use serde::{Deserialize, Serialize};

/// A session's status; derived from its entries, never set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Created; nothing has run yet.
    Queued,
    /// A turn is open and can go on.
    Running,
    /// It waits: for a message, an answer or a time.
    Awaiting,
    /// It failed for good.
    Failed,
    /// It was stopped for good.
    Stopped,
}

impl Status {
    /// The word it is shown as.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Awaiting => "awaiting",
            Status::Failed => "failed",
            Status::Stopped => "stopped",
        }
    }
}

/// Why a session takes no step here, beside its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// `mismatch`, `state_refused`, `corrupt`, `storage`.
    pub reason: String,
    /// The entry it stands at, if one can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What was recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What came instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
    /// The first field in which they differ.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// What to know and to do about it.
    pub detail: String,
    /// Version of the host that met it.
    pub host_version: String,
}

impl Fault {
    /// One in which nothing is compared.
    pub fn plain(reason: &str, seq: Option<u64>, detail: String, host_version: &str) -> Fault {
        Fault {
            reason: reason.to_owned(),
            seq,
            expected: String::new(),
            got: String::new(),
            field: String::new(),
            detail,
            host_version: host_version.to_owned(),
        }
    }
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// The agent's name: the bundle it was created from.
    pub agent: String,
    /// Its status.
    pub status: Status,
    /// Its title, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Turns opened so far.
    pub turns: u32,
    /// Entries so far: the newest seq.
    pub entries: u64,
    /// RFC 3339 in UTC with milliseconds.
    pub created_at: String,
    /// When the newest entry was appended.
    pub updated_at: String,
    /// Why it takes no step here, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}
