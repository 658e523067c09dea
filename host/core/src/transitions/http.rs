//! Requests of a harness: the part of the gate that they pass (journal.md R3 to R5, hooks.md). A request
//! has no entry before its hooks are asked; what they judge is bound to the whole of it.

use super::gate_hooks::passes;
use super::hook::binding;
use crate::canonical;
use crate::entry::{Entry, Place};
use crate::error::Refusal;
use crate::fact::{Fact, HookEvent, HookStarted, HttpCompleted, HttpOutcome, HttpStarted, class_of};
use crate::session::{Session, Step};

/// Whether a fact is the first of a call of HTTP: nothing stands at its ordinal yet.
pub(crate) fn opens_call(step: &Step, place: Place, fact: &Fact) -> bool {
    let is_of_http = match fact {
        Fact::HttpStarted(_) | Fact::HookStarted(_) => true,
        Fact::HttpCompleted(body) => body.start.is_none(),
        _ => false,
    };
    is_of_http && place.ordinal > step.ordinals
}

/// A hook is asked about a request: before it is started, and once by each.
pub(crate) fn asked(step: &Step, place: Place, body: &HookStarted) -> Result<(), Refusal> {
    if body.event != HookEvent::PreToolUse || place.index != 0 {
        return Err(Refusal::Rule("the hook is none of those that must judge a request"));
    }
    not_begun(step, place)?;
    let before = |entry: &Entry| matches!(&entry.fact, Fact::HookStarted(one) if one.hook == body.hook);
    if at(step, place).any(before) {
        return Err(Refusal::Rule("the hook was asked about the request before"));
    }
    Ok(())
}

/// A request starts as what its method and its grant allow, and after every hook that must judge it has let
/// exactly it pass.
pub(crate) fn started(
    session: &Session,
    step: &Step,
    place: Place,
    body: &HttpStarted,
) -> Result<(), Refusal> {
    not_begun(step, place)?;
    let pins = session.pins();
    let grants = &pins.components[pins.agent.harness as usize].grants;
    let mut honoured = grants.http.iter().filter(|grant| grant.honours_key);
    let honours_key = honoured.any(|grant| grant.methods.contains(&body.request.method));
    if body.class < class_of(&body.request.method, honours_key) {
        return Err(Refusal::Rule("a request is of no safer class than its method and its grant allow"));
    }
    let_pass(session, step, place, body)
}

/// Every hook that was asked about a request, or had to be, has let pass exactly what is to be sent: those
/// that may replace it first, each what the one before made of it; then the others.
fn let_pass(session: &Session, step: &Step, place: Place, body: &HttpStarted) -> Result<(), Refusal> {
    let asked = at(step, place).filter_map(|entry| match &entry.fact {
        Fact::HookStarted(one) => Some(one.hook),
        _ => None,
    });
    let rewrites = |hook: u32| session.pins().hooks.get(hook as usize).is_some_and(|pin| pin.rewrites);
    let mut hooks: Vec<u32> = asked.chain(body.hooks.iter().copied()).collect();
    hooks.sort_unstable_by_key(|hook| (!rewrites(*hook), *hook));
    hooks.dedup();
    let mut arguments = body.asked.unwrap_or(body.request.arguments);
    for hook in hooks {
        let expected = binding(&session.id, place, "http", body.request.digest, arguments);
        let passed = at(step, place).find_map(|entry| match &entry.fact {
            Fact::HookVerdict(verdict)
                if verdict.hook == hook
                    && passes(step, place, verdict.decision)
                    && verdict.binding == expected
                    && body.verdicts.contains(&entry.seq) =>
            {
                Some(verdict)
            }
            _ => None,
        });
        let Some(verdict) = passed else {
            return Err(Refusal::Rule("a hook that must judge the request has not let it pass"));
        };
        if let Some(input) = &verdict.changes.input {
            arguments = canonical::digest(input)
                .map_err(|_| Refusal::Rule("what a hook made of the request has no canonical form"))?;
        }
    }
    if arguments == body.request.arguments {
        Ok(())
    } else {
        Err(Refusal::Rule("a request may start only as it was asked for, or as a hook replaced it"))
    }
}

/// A request that was not started can only have been refused.
pub(crate) fn refused(step: &Step, place: Place, body: &HttpCompleted) -> Result<(), Refusal> {
    not_begun(step, place)?;
    match (&body.outcome, &body.request) {
        (HttpOutcome::Denied(_) | HttpOutcome::Failed(_), Some(_)) => Ok(()),
        _ => Err(Refusal::Rule("a request that was not started can only have been refused")),
    }
}

/// Nothing but hooks' doings stands at its ordinal.
fn not_begun(step: &Step, place: Place) -> Result<(), Refusal> {
    let begun = |entry: &Entry| {
        !matches!(
            entry.fact,
            Fact::HookStarted(_)
                | Fact::HookVerdict(_)
                | Fact::CallRetried(_)
                | Fact::QuestionAsked(_)
                | Fact::UserAnswer(_)
                | Fact::LogLines(_)
                | Fact::StepObserved(_)
        )
    };
    if at(step, place).any(begun) {
        return Err(Refusal::Rule("the request was started or refused before"));
    }
    Ok(())
}

fn at(step: &Step, place: Place) -> impl Iterator<Item = &Entry> {
    super::record::at(step, place.ordinal)
}
