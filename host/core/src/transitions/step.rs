//! Steps: started with a fixed input, run again, ended. State advances only by completed steps.

use std::sync::Arc;

use super::{Applied, gate_hooks, inbox, logs, turn};
use crate::decide::{Decision, StepEnd, StepOutcome};
use crate::entry::{Draft, Entry, Place};
use crate::error::Refusal;
use crate::fact::{
    AgentMessage, Fact, Next, Observed, Scope, SessionFailed, StepAborted, StepCompleted, StepInput,
    StepObserved, StepRerun, StepStarted,
};
use crate::limits;
use crate::session::{Session, Step};

/// Decides what a step's end comes to: one transaction, the turn's end included.
pub(crate) fn end(session: &Session, end: StepEnd) -> Result<Decision, Refusal> {
    let Some(turn) = &session.turn else { return Err(Refusal::Rule("a step ended and no turn is open")) };
    let Some(step) = &turn.step else { return Err(Refusal::Rule("a step ended and none is open")) };
    let place = Place::step(turn.number, step.number);
    let mut entries = Vec::new();
    if !end.observed.is_empty() {
        let at = Place { ordinal: end.ordinal, ..place };
        entries.push(Draft::agent(at, StepObserved { items: end.observed }));
    }
    entries.extend(end.logs.map(|said| Draft::agent(place, logs::within(session, turn.number, said))));
    match end.outcome {
        StepOutcome::Completed { next, state, calls } => {
            if !session.calls.is_empty() {
                return Err(Refusal::Rule("a step cannot end well while a call of it is open"));
            }
            check_next(session, &next)?;
            entries.push(Draft::agent(place, StepCompleted { next: next.clone(), state, calls }));
            entries.extend(turn::follow(session, turn, &next, &end.rows));
        }
        StepOutcome::Broken { how, scope, code, detail } => {
            let mut failure = turn::fail(session, turn, how, scope, &code, &detail, &end.rows);
            if scope == Scope::Session {
                let last = failure.len() - 1;
                let why = "the session failed";
                let open = end.rows.iter().filter(|row| !session.taken.contains(row.n)).cloned();
                let rows: Vec<_> = open.collect();
                let failed = SessionFailed {
                    code: limits::cut(&code, limits::CODE_BYTES_MAX),
                    detail: limits::cut(&detail, limits::DETAIL_BYTES_MAX),
                };
                let before = inbox::rejections(&rows, None, why)
                    .chain([Draft::system(Place::default(), failed)])
                    .collect::<Vec<_>>();
                failure.splice(last..last, before);
            }
            entries.extend(failure);
        }
    }
    Ok(Decision::append(entries))
}

fn check_next(session: &Session, next: &Next) -> Result<(), Refusal> {
    let questions = match next {
        Next::Ask(questions) => questions,
        Next::Wait { until: None, on_message: false } => {
            return Err(Refusal::Conflict(
                "the harness wants to wait, but for neither a time nor a message".into(),
            ));
        }
        Next::More | Next::Done | Next::Wait { .. } => return Ok(()),
    };
    if questions.is_empty() {
        return Err(Refusal::Conflict("the harness ended its step with `ask` and no question".into()));
    }
    if questions.len() > limits::QUESTIONS_MAX {
        let (got, max) = (questions.len(), limits::QUESTIONS_MAX);
        return Err(Refusal::Conflict(format!(
            "the harness asks {got} questions at once; at most {max} are taken"
        )));
    }
    let mut seen = std::collections::BTreeSet::new();
    for question in questions {
        let schema = question.schema.as_ref().map_or(0, String::len);
        let bytes = question.text.len() + question.choices.iter().map(String::len).sum::<usize>() + schema;
        if bytes > limits::QUESTION_BYTES_MAX {
            let max = limits::QUESTION_BYTES_MAX;
            return Err(Refusal::Conflict(format!(
                "the question {:?} has {bytes} bytes; at most {max} are taken",
                limits::cut(&question.id, 64)
            )));
        }
        if question.id.is_empty() || question.id.len() > limits::ID_BYTES_MAX {
            return Err(Refusal::Conflict(format!(
                "the question's id {:?} must have 1 to {} bytes",
                question.id,
                limits::ID_BYTES_MAX
            )));
        }
        if question.id.starts_with(gate_hooks::ASK) {
            return Err(Refusal::Conflict(format!(
                "the question's id {:?} begins with {:?}, as only those of hooks do",
                question.id,
                gate_hooks::ASK
            )));
        }
        if session.questions.contains(&question.id) || !seen.insert(&question.id) {
            return Err(Refusal::Conflict(format!("two open questions have the id {:?}", question.id)));
        }
    }
    Ok(())
}

/// Keeps what the open step caused, so that a re-run can claim it.
pub(crate) fn keep_for_replay(session: &mut Session, entry: &Entry, share: impl FnOnce() -> Arc<Entry>) {
    let Some(turn) = &mut session.turn else { return };
    let number = turn.number;
    let Some(step) = turn.step.as_mut().filter(|step| entry.place.is_in_step(number, step.number)) else {
        return;
    };
    match entry.fact {
        Fact::StepStarted(_) | Fact::StepCompleted(_) | Fact::StepAborted(_) | Fact::StepRerun(_) => {}
        _ => {
            // A replay claims neither: a step that got no further may have left them in every run of it.
            step.progressed |= !matches!(entry.fact, Fact::CallRetried(_) | Fact::LogLines(_));
            step.ordinals = step.ordinals.max(entry.place.ordinal);
            step.unsaid = match &entry.fact {
                Fact::ModelCompleted(body) if body.answer().is_some() => Some(step.entries.len()),
                Fact::AgentMessage(AgentMessage { of: Some(_), .. }) => None,
                _ => step.unsaid,
            };
            step.entries.push(share());
        }
    }
}

pub(crate) fn started(session: &mut Session, entry: &Entry, body: &StepStarted) -> Applied {
    let (saved, has_ended) = (session.saved, session.ended.is_some());
    let turn = turn::open_turn(session)?;
    if has_ended {
        return Err("the session has ended");
    }
    if turn.step.is_some() {
        return Err("another step is open");
    }
    if entry.place != Place::step(turn.number, turn.steps + 1) {
        return Err("steps are numbered without gaps");
    }
    if body.state != saved {
        return Err("it starts from another state than the last completed step saved");
    }
    turn.steps += 1;
    if std::mem::take(&mut turn.stop.blocked) {
        turn.stop.rounds += 1;
    }
    turn.stop.heard.clear();
    turn.blocked = None;
    turn.after = None;
    turn.waiting = None;
    turn.step = Some(Step {
        number: turn.steps,
        started_seq: entry.seq,
        fixed: body.clone(),
        entries: Vec::new(),
        unsaid: None,
        ordinals: 0,
        reruns: 0,
        progressed: false,
        excused: false,
    });
    session.pending = StepInput::default();
    session.heard.clear();
    session.load.stepped = true;
    session.load.crashed = 0;
    Ok(())
}

pub(crate) fn rerun(session: &mut Session, body: &StepRerun) -> Applied {
    let step = turn::open_turn(session)?.step.as_mut().ok_or("no step is open")?;
    if body.again > step.reruns + 1 {
        return Err("re-runs are numbered without gaps");
    }
    step.reruns = body.again;
    step.progressed = false;
    step.excused = false;
    session.load.stepped = true;
    session.load.crashed = 0;
    session.calls.values_mut().for_each(|call| call.died = true);
    Ok(())
}

pub(crate) fn completed(session: &mut Session, body: &StepCompleted) -> Applied {
    if !session.calls.is_empty() {
        return Err("a call of it is still open");
    }
    let turn = turn::open_turn(session)?;
    turn.step.take().ok_or("no step is open")?;
    turn.after = Some(body.next.clone());
    session.saved = body.state;
    Ok(())
}

/// What a step that did not complete was told of hooks, and of what was unfinished before it, is told again.
pub(crate) fn aborted(session: &mut Session, body: &StepAborted) -> Applied {
    let turn = turn::open_turn(session)?;
    let step = turn.step.take().ok_or("no step is open")?;
    turn.aborted = Some(body.how);
    session.pending.contexts.splice(0..0, step.fixed.input.contexts);
    session.pending.unfinished = step.fixed.input.unfinished;
    Ok(())
}

pub(crate) fn observed(session: &mut Session, entry: &Entry, body: &StepObserved) -> Applied {
    session.open_step().ok_or("no step is open")?;
    for item in &body.items {
        if let Observed::Monotonic(ns) | Observed::Deadline(ns, _) = item {
            session.monotonic_ns_max = session.monotonic_ns_max.max(*ns);
            session.monotonic_at = entry.at;
        }
    }
    Ok(())
}
