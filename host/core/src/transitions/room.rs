//! How many bytes guests may write to a journal (journal.md R13). What begins something is refused, and so is what a guest
//! says of its own accord; what ends something always fits.

use crate::error::Refusal;
use crate::fact::{Fact, HttpBody, HttpOutcome};
use crate::limits::JournalLimits;
use crate::session::Session;

/// A part of the limit that an operator is warned at, in percent.
pub const WARNED_PERCENT: u64 = 80;

/// Checks that there is room for a fact of a running step.
///
/// # Errors
/// If the turn or the session has written as much as it may, and the fact needs room.
pub fn check(session: &Session, fact: &Fact, limits: &JournalLimits) -> Result<(), Refusal> {
    if !needs_room(fact) {
        return Ok(());
    }
    for (what, got, max) in written(session, limits) {
        if got >= max {
            return Err(Refusal::Limit { what, got, max });
        }
    }
    Ok(())
}

/// The limit that the session is near to: what is bounded, how much was written, and the limit.
pub fn near(session: &Session, limits: &JournalLimits) -> Option<(&'static str, u64, u64)> {
    let is_near = |(_, got, max): &(&str, u64, u64)| *got / WARNED_PERCENT >= *max / 100 && *got > 0;
    written(session, limits).into_iter().find(is_near)
}

fn written(session: &Session, limits: &JournalLimits) -> [(&'static str, u64, u64); 2] {
    let turn = session.turn.as_ref().map_or(0, |turn| turn.bytes);
    [
        ("bytes that the turn has written (`turn` of [limits.journal])", turn, limits.turn_bytes_max),
        (
            "bytes that the session has written (`session` of [limits.journal])",
            session.bytes,
            limits.session_bytes_max,
        ),
    ]
}

fn needs_room(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::AgentMessage(_)
            | Fact::AgentTitle(_)
            | Fact::Custom(_)
            | Fact::StepObserved(_)
            | Fact::ToolsRequested(_)
            | Fact::ToolStarted(_)
            | Fact::ModelStarted(_)
            | Fact::HttpStarted(_)
            | Fact::QuestionAsked(_)
    )
}

/// What an entry of a step takes: its payload, and the body that it names. A step's input is its users', not the guest's.
pub(crate) fn bytes(payload: u64, fact: &Fact) -> u64 {
    let body = match fact {
        Fact::StepStarted(_) => return 0,
        Fact::HttpCompleted(body) => match &body.outcome {
            HttpOutcome::Response { body: HttpBody::Blob { size, .. }, .. } => *size,
            _ => 0,
        },
        _ => 0,
    };
    payload.saturating_add(body)
}
