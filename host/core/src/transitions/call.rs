//! Calls: started, ended, tried again.

use rewake_wire::Usage;

use super::Applied;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::fact::{CallRetried, ModelCompleted, ModelOutcome, ModelStarted};
use crate::money::Usd;
use crate::session::{CallKind, OpenCall, Session};

pub(crate) fn started(session: &mut Session, entry: &Entry, kind: CallKind, effect: Effect) -> Applied {
    let (turn, step) = session.open_step().ok_or("no step is open")?;
    if !entry.place.is_in_step(turn, step.number) {
        return Err("it belongs to another step");
    }
    session.calls.insert(entry.seq, OpenCall::new(entry, kind, effect));
    Ok(())
}

pub(crate) fn ended(session: &mut Session, start: u64, kind: CallKind) -> Applied {
    match session.calls.remove(&start) {
        Some(call) if call.kind == kind => Ok(()),
        Some(_) => Err("its start is of another kind"),
        None => Err("it has no start, or ended before"),
    }
}

pub(crate) fn model_started(session: &mut Session, entry: &Entry, body: &ModelStarted) -> Applied {
    started(session, entry, CallKind::Model, Effect::Idempotent)?;
    if let Some(call) = session.calls.get_mut(&entry.seq) {
        call.reserved = body.reserved;
    }
    Ok(())
}

pub(crate) fn model_lost(session: &mut Session, start: u64) -> Applied {
    let reserved = session.calls.get(&start).map_or(Usd::ZERO, |call| call.reserved.plus(call.counted));
    ended(session, start, CallKind::Model)?;
    session.spent = session.spent.plus(reserved);
    Ok(())
}

pub(crate) fn model_completed(session: &mut Session, body: &ModelCompleted) -> Applied {
    let counted = session.calls.get(&body.start).map_or(Usd::ZERO, |call| call.counted);
    ended(session, body.start, CallKind::Model)?;
    session.spent = session.spent.plus(counted).plus(body.cost);
    if let ModelOutcome::Completion { usage, .. } = &body.outcome {
        count(session, *usage);
    }
    Ok(())
}

fn count(session: &mut Session, usage: Usage) {
    session.usage = session.usage.plus(usage);
    if let Some(turn) = &mut session.turn {
        turn.usage = turn.usage.plus(usage);
    }
}

pub(crate) fn retried(session: &mut Session, body: &CallRetried) -> Applied {
    let call = session.calls.get_mut(&body.start).ok_or("the call is not open")?;
    if body.n != call.retries + 1 {
        return Err("attempts are numbered without gaps");
    }
    if !call.effect.is_repeatable() {
        return Err("the call may not be repeated");
    }
    call.retries = body.n;
    // What a provider refuses for now does not kill its host.
    if !std::mem::take(&mut call.excused) && body.why.is_none() {
        call.spent += 1;
    }
    call.counted = call.counted.plus(body.cost);
    call.reserved = body.reserved;
    Ok(())
}
