//! Calls: started, ended, tried again.

use super::Applied;
use super::record::at;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::fact::{CallRetried, Fact, ToolPin, ToolStarted};
use crate::session::{CallKind, OpenCall, Session, Step};

pub(crate) fn started(session: &mut Session, entry: &Entry, kind: CallKind, effect: Effect) -> Applied {
    let (turn, step) = session.open_step().ok_or("no step is open")?;
    if !entry.place.is_in_step(turn, step.number) {
        return Err("it belongs to another step");
    }
    session.calls.insert(entry.seq, OpenCall::new(entry, kind, effect));
    Ok(())
}

/// A tool starts: no open use may see a directory that it may change, nor change one that it sees (R4).
pub(crate) fn tool_started(session: &mut Session, entry: &Entry, body: &ToolStarted) -> Applied {
    let overlaps = |step: &Step, pin: &ToolPin| {
        at(step, entry.place.ordinal).any(|earlier| match &earlier.fact {
            Fact::ToolStarted(earlier_body) if session.calls.contains_key(&earlier.seq) => {
                session.pins().tool(&earlier_body.name).is_some_and(|open| session.conflict(open, pin))
            }
            _ => false,
        })
    };
    let step = session.open_step().map(|(_, step)| step);
    if step.zip(session.pins().tool(&body.name)).is_some_and(|(step, pin)| overlaps(step, pin)) {
        return Err("it overlaps a call that sees the same directory, and one of the two may change it");
    }
    started(session, entry, CallKind::Tool, body.class)
}

pub(crate) fn ended(session: &mut Session, start: u64, kind: CallKind) -> Applied {
    match session.calls.remove(&start) {
        Some(call) if call.kind == kind => Ok(()),
        Some(_) => Err("its start is of another kind"),
        None => Err("it has no start, or ended before"),
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
    call.died = false;
    call.denied = false;
    // What a provider refuses for now does not kill its host.
    if !std::mem::take(&mut call.excused) && body.why.is_none() {
        call.tries_counted += 1;
    }
    call.counted = call.counted.plus(body.cost);
    call.reserved = body.reserved;
    Ok(())
}
