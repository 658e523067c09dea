//! What a running step knows of its session's money: a copy of what the fold held when it began, kept up with what
//! the step itself does. A step asks one model at a time, and nothing else spends.

use rewake_core::asked::Asked;
use rewake_core::money::Usd;
use rewake_core::session::Session;

/// What a session's models have cost, and what is known of its requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    /// What was spent, and can still be by what was sent.
    pub(crate) committed: Usd,
    /// The most that may be spent.
    pub(crate) max_usd: Option<Usd>,
    /// What is known of its requests.
    pub(crate) asked: Asked,
}

impl Budget {
    pub(crate) fn of(session: &Session) -> Budget {
        Budget { committed: session.committed(), max_usd: session.max_usd(), asked: session.asked.clone() }
    }
}
