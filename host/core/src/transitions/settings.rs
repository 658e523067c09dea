//! What operators change of a session after its creation: its labels, and what its models may cost.

use std::collections::BTreeMap;

use rewake_wire::Sender;

use super::record::within;
use super::{Applied, inbox};
use crate::decide::Decision;
use crate::entry::{Draft, Place};
use crate::error::Refusal;
use crate::fact::{BudgetChanged, SessionLabelled};
use crate::limits;
use crate::money::Usd;
use crate::session::{Budget, Session};

/// Decides `session.labelled`. Labels may change after the end too: they are about the session, not of it.
pub(crate) fn label(
    session: &Session,
    labels: BTreeMap<String, String>,
    by: &Sender,
) -> Result<Decision, Refusal> {
    exists(session)?;
    check_labels(&labels)?;
    let before = session.labels();
    if *before == labels {
        return Ok(Decision::default());
    }
    let body = SessionLabelled { before: before.clone(), after: labels };
    Ok(Decision::append(vec![Draft::by(inbox::actor(by), Place::default(), body)]))
}

/// Decides `budget.changed`. A running step may begin with the cap from before; what it starts is judged by this one.
pub(crate) fn budget(session: &Session, to: Option<Usd>, by: Sender) -> Result<Decision, Refusal> {
    exists(session)?;
    if let Some(ended) = &session.ended {
        return Err(Refusal::Ended { status: ended.as_str() });
    }
    if !matches!(by, Sender::Operator(_)) {
        return Err(Refusal::Rule("only an operator changes what a session may spend"));
    }
    let from = session.max_usd();
    if from == to {
        return Ok(Decision::default());
    }
    let actor = inbox::actor(&by);
    Ok(Decision::append(vec![Draft::by(actor, Place::default(), BudgetChanged { from, to, by })]))
}

fn exists(session: &Session) -> Result<(), Refusal> {
    match session.created {
        Some(_) => Ok(()),
        None => Err(Refusal::Conflict(format!("session {} does not exist", session.id))),
    }
}

/// Whether labels are within their bounds.
pub(crate) fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), Refusal> {
    within("labels of a session", labels.len(), limits::LABELS_MAX)?;
    for (key, value) in labels {
        within("bytes of a label's key", key.len(), limits::LABEL_KEY_BYTES_MAX)?;
        within("bytes of a label's value", value.len(), limits::LABEL_VALUE_BYTES_MAX)?;
    }
    Ok(())
}

pub(crate) fn labelled(session: &mut Session, body: &SessionLabelled) -> Applied {
    if *session.labels() != body.before {
        return Err("it starts from other labels than the session has");
    }
    session.labels = Some(body.after.clone());
    Ok(())
}

pub(crate) fn budget_changed(session: &mut Session, body: &BudgetChanged) -> Applied {
    if session.ended.is_some() {
        return Err("the session has ended");
    }
    if !matches!(body.by, Sender::Operator(_)) {
        return Err("nobody but an operator changes what a session may spend");
    }
    if session.max_usd() != body.from {
        return Err("it starts from another cap than is in force");
    }
    session.budget = Some(Budget { max_usd: body.to });
    Ok(())
}
