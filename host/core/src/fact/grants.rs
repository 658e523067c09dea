//! What a component may use, as it changes over a session's life.

use serde::{Deserialize, Serialize};

use crate::grant::Grants;

/// `grants.narrowed`: the operator's rules of now let a component use something else than before. What it
/// may use is never more than what was pinned when the session was created (journal.md R11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantsNarrowed {
    /// Index of the component among the session's.
    pub component: u32,
    /// What it could use until now.
    pub from: Grants,
    /// What it can use from here on.
    pub to: Grants,
}
