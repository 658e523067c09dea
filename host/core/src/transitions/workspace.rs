//! What people bring into the workspace: between turns only, so that no guest sees it happen. Knows no file.

use super::{Applied, inbox};
use crate::decide::Decision;
use crate::entry::{Draft, Place};
use crate::error::Refusal;
use crate::fact::WorkspaceImported;
use crate::session::Session;

/// Decides `workspace.imported`.
pub(crate) fn import(session: &Session, body: WorkspaceImported) -> Result<Decision, Refusal> {
    if session.created.is_none() {
        return Err(Refusal::Conflict(format!("session {} does not exist", session.id)));
    }
    if let Some(ended) = &session.ended {
        return Err(Refusal::Ended { status: ended.as_str() });
    }
    if let Some(turn) = &session.turn {
        return Err(Refusal::Conflict(format!(
            "turn {} of {} is open, and files are brought in between turns only: let it end (`rewake run --session \
             {}` goes on with it) or interrupt it",
            turn.number, session.id, session.id
        )));
    }
    Ok(Decision::append(vec![Draft::by(inbox::actor(&body.by), Place::default(), body)]))
}

pub(crate) fn imported(session: &mut Session, body: &WorkspaceImported) -> Applied {
    if session.ended.is_some() {
        return Err("the session has ended");
    }
    if session.turn.is_some() {
        return Err("a turn is open");
    }
    session.imported = Some(body.tree);
    Ok(())
}
