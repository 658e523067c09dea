//! What a component may use, as it changes over a session's life.

use serde::{Deserialize, Serialize};

use crate::grant::Grants;

/// `grants.changed`: a component may use something else than before. What it may use is never more than what was
/// pinned when the session was created (journal.md R11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantsChanged {
    /// Index of the component among the session's.
    pub component: u32,
    /// What it could use until now.
    pub from: Grants,
    /// What it can use from here on.
    pub to: Grants,
    /// What decides that.
    pub why: GrantsWhy,
    /// Who approved, where an approval decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What decides what a component may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantsWhy {
    /// The operator's rules.
    Rules,
    /// An approval that the trust key of this machine vouches for.
    Approved,
    /// The journal tells of an approval, and the trust key of this machine does not vouch for it.
    Unvouched,
}
