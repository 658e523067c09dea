//! Calls of models: what they may begin with, what they cost, and what is kept of them for the next one.

use rewake_wire::Usage;

use super::record::within;
use super::{Applied, call};
use crate::effect::Effect;
use crate::entry::Entry;
use crate::error::Refusal;
use crate::fact::{CallRetried, Fact, Lost, ModelCompleted, ModelLost, ModelOutcome, ModelStarted};
use crate::limits;
use crate::money::Usd;
use crate::session::{CallKind, OpenCall, Session, Step};

const NOT_GRANTED: Refusal =
    Refusal::Rule("a harness asks the session's model, and others only where they are granted");
const UNKNOWN_COST: Refusal =
    Refusal::Rule("an attempt that is not known to have ended counts as what it reserved");

/// Whether the harness may ask a model: the session's own, or one that it is granted now.
pub(crate) fn may_ask(session: &Session, model: &str) -> bool {
    let agent = &session.pins().agent;
    agent.model == model || session.grants_of(agent.harness).allows_model(model)
}

/// A call of a model that may not be asked is recorded, with no provider and no reservation, since nothing is sent.
/// Any other call must fit into what the session may still spend beside what is reserved already.
pub(crate) fn check_started(session: &Session, body: &ModelStarted) -> Result<(), Refusal> {
    if !may_ask(session, &body.model) && (body.provider.is_some() || !body.reserved.is_zero()) {
        return Err(NOT_GRANTED);
    }
    check_cap(session, session.committed(), body.reserved)
}

/// Whether a model may be asked once more, and what that is said to have cost and to cost.
pub(crate) fn check_retried(session: &Session, open: &OpenCall, body: &CallRetried) -> Result<(), Refusal> {
    if !start_of(session, body.start).is_some_and(|start| may_ask(session, &start.model)) {
        return Err(NOT_GRANTED);
    }
    match &body.why {
        // Nobody knows what the attempt cost that died with its host.
        None if body.cost != open.reserved => return Err(UNKNOWN_COST),
        Some(_) if body.n > limits::MODEL_RETRIES_MAX => {
            return Err(Refusal::Rule("the model was asked as often as it may be"));
        }
        _ => {}
    }
    let others = session.committed().minus(open.committed());
    check_cap(session, others.plus(open.counted).plus(body.cost), body.reserved)
}

/// What a call is said to have cost that was not made again. What a provider counted of an answer is taken as it is:
/// an end always fits.
pub(crate) fn check_completed(open: &OpenCall, body: &ModelCompleted) -> Result<(), Refusal> {
    if open.died && matches!(body.outcome, ModelOutcome::Completion { .. }) {
        return Err(Refusal::Rule("an attempt that died with its host has no answer"));
    }
    if open.denied && !matches!(body.outcome, ModelOutcome::Denied(_)) {
        return Err(NOT_GRANTED);
    }
    if open.died && body.cost != open.reserved {
        return Err(UNKNOWN_COST);
    }
    let is_not_sent =
        open.reserved.is_zero() && matches!(body.outcome, ModelOutcome::Budget(_) | ModelOutcome::Denied(_));
    if is_not_sent && !body.cost.is_zero() {
        return Err(Refusal::Rule("what was not sent costs nothing"));
    }
    Ok(())
}

/// The beginning of an answer is kept only where somebody was there to see it, and to interrupt it.
pub(crate) fn check_lost(open: &OpenCall, body: &ModelLost) -> Result<(), Refusal> {
    let Some(partial) = &body.partial else { return Ok(()) };
    if body.why != Lost::Interrupted || open.died {
        return Err(Refusal::Rule("only an interrupted answer has a beginning"));
    }
    if partial.text.is_empty() {
        return Err(Refusal::Rule("the beginning of an answer says something"));
    }
    within("bytes of the beginning of an answer", partial.text.len(), limits::SAID_BYTES_MAX)
}

/// What reserves nothing cannot pass a cap: it is free, or recorded as not sent.
fn check_cap(session: &Session, committed: Usd, reserved: Usd) -> Result<(), Refusal> {
    match session.max_usd() {
        Some(max) if !reserved.is_zero() && committed.plus(reserved) > max => {
            Err(Refusal::Rule("a model is asked only if its cost is sure to stay within the session's cap"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn started(session: &mut Session, entry: &Entry, body: &ModelStarted) -> Applied {
    call::started(session, entry, CallKind::Model, Effect::Idempotent)?;
    let denied = !may_ask(session, &body.model);
    if let Some(open) = session.calls.get_mut(&entry.seq) {
        (open.reserved, open.denied) = (body.reserved, denied);
    }
    session.asked.started(body);
    Ok(())
}

/// A lost call counts as what it reserved; one whose beginning was seen, as what that cost.
pub(crate) fn lost(session: &mut Session, body: &ModelLost) -> Applied {
    let open = session.calls.get(&body.start).copied();
    call::ended(session, body.start, CallKind::Model)?;
    let cost = open.map_or(Usd::ZERO, |open| match &body.partial {
        Some(partial) => open.counted.plus(partial.cost),
        None => open.committed(),
    });
    spend(session, cost);
    if let Some(partial) = &body.partial {
        count(session, partial.usage);
    }
    Ok(())
}

pub(crate) fn completed(session: &mut Session, body: &ModelCompleted) -> Applied {
    let counted = session.calls.get(&body.start).map_or(Usd::ZERO, |open| open.counted);
    call::ended(session, body.start, CallKind::Model)?;
    spend(session, counted.plus(body.cost));
    if let ModelOutcome::Completion { usage, .. } = &body.outcome {
        count(session, *usage);
        remember(session, body.start, *usage);
    }
    Ok(())
}

fn spend(session: &mut Session, cost: Usd) {
    session.spent = session.spent.plus(cost);
    if let Some(turn) = &mut session.turn {
        turn.spent = turn.spent.plus(cost);
    }
}

fn count(session: &mut Session, usage: Usage) {
    session.usage = session.usage.plus(usage);
    if let Some(turn) = &mut session.turn {
        turn.usage = turn.usage.plus(usage);
    }
}

/// A call ends in the step that it began in, so its start is among what a re-run of that would claim. What another
/// run of the step asked again says nothing of the model that its start names: the rules may name another by then.
fn remember(session: &mut Session, start: u64, usage: Usage) {
    let Some(step) = session.turn.as_ref().and_then(|turn| turn.step.as_ref()) else { return };
    let is_again =
        |fact: &Fact| matches!(fact, Fact::CallRetried(body) if body.start == start && body.why.is_none());
    if step.entries.iter().any(|entry| is_again(&entry.fact)) {
        return;
    }
    if let Some(started) = start_in(step, start) {
        session.asked.completed(started, usage.total());
    }
}

/// The start of a call of the open step.
fn start_of(session: &Session, seq: u64) -> Option<&ModelStarted> {
    start_in(session.turn.as_ref()?.step.as_ref()?, seq)
}

fn start_in(step: &Step, seq: u64) -> Option<&ModelStarted> {
    match &step.entries.iter().rev().find(|entry| entry.seq == seq)?.fact {
        Fact::ModelStarted(body) => Some(body),
        _ => None,
    }
}
