//! What a running step, or a hook that fires, may have recorded: the gate through which every fact of
//! a guest's doing passes (journal.md R3 to R5).

use std::collections::BTreeSet;

use rewake_wire::Outcome;

use super::{gate_hooks, http, logs, model, turn};
use crate::canonical;
use crate::decide::{Decision, Then};
use crate::entry::{Draft, Entry, Place};
use crate::error::Refusal;
use crate::fact::{
    CUSTOM, CallRetried, Fact, HookEvent, SessionTitled, ToolPin, ToolStarted, ToolsRequested,
};
use crate::limits;
use crate::session::{CallKind, OpenCall, Session, Step};

/// Decides whether a fact may be recorded.
pub(crate) fn record(session: &Session, mut draft: Draft) -> Result<Decision, Refusal> {
    match &draft.fact {
        Fact::SnapshotTaken(_) => {}
        Fact::HookStarted(body) if body.source.is_some() || draft.place.step == 0 => {
            gate_hooks::fired(session, draft.place, body)?;
        }
        Fact::HookVerdict(body) if draft.place.step == 0 => gate_hooks::judged(session, draft.place, body)?,
        Fact::TurnWaiting(body) => gate_hooks::waits(session, draft.place, body)?,
        // Diagnostics of a hook that the session itself asks.
        Fact::LogLines(_) if draft.place.step == 0 => {}
        Fact::CallRetried(body) if draft.place.step == 0 => retried(session, draft.place, body)?,
        fact => {
            let step = in_open_step(session, draft.place)?;
            of_step(session, step, draft.place, fact)?;
            if let Fact::AgentMessage(said) = &mut draft.fact {
                said.of = turn::answer_said(step, &said.parts);
            }
        }
    }
    if let Fact::LogLines(said) = draft.fact {
        draft.fact = logs::within(session, draft.place.turn, said).into();
    }
    let titled = match &draft.fact {
        Fact::HookVerdict(body) => body.changes.title.clone(),
        _ => None,
    };
    let named = titled.map(|title| {
        let title = limits::cut_chars(&title, limits::TITLE_CHARS_MAX);
        Draft::by(draft.actor.clone(), draft.place, SessionTitled { title })
    });
    let entries = std::iter::once(draft).chain(named).collect();
    Ok(Decision { entries, then: Then::Again, drops_guest: false })
}

fn in_open_step(session: &Session, place: Place) -> Result<&Step, Refusal> {
    match session.open_step() {
        Some((turn, step)) if place.is_in_step(turn, step.number) => Ok(step),
        _ => Err(Refusal::Rule("it belongs to a step that is not open")),
    }
}

fn of_step(session: &Session, step: &Step, place: Place, fact: &Fact) -> Result<(), Refusal> {
    if opens_call(fact) || http::opens_call(step, place, fact) {
        if session.head.seq >= limits::SESSION_ENTRIES_MAX {
            return Err(Refusal::Limit {
                what: "entries of a session",
                got: session.head.seq + 1,
                max: limits::SESSION_ENTRIES_MAX,
            });
        }
        if place.ordinal != step.ordinals + 1 {
            return Err(Refusal::Rule("the calls of a step are numbered without gaps"));
        }
    }
    if starts(fact) && session.turn.as_ref().is_some_and(|turn| turn.ending.is_some()) {
        return Err(Refusal::Rule("a hook ends the turn; nothing of it starts any more"));
    }
    match fact {
        Fact::AgentMessage(body) => {
            let bytes = body.parts.iter().map(rewake_wire::Part::len).sum();
            within("bytes of a message of the agent", bytes, limits::SAID_BYTES_MAX)
        }
        Fact::StepObserved(_) | Fact::LogLines(_) | Fact::AgentTitle(_) => Ok(()),
        Fact::Custom(custom) if custom.kind.len() > CUSTOM.len() && custom.kind.starts_with(CUSTOM) => {
            shallow(&custom.data)
        }
        Fact::ModelStarted(body) => model::check_started(session, body),
        Fact::ModelCompleted(body) => {
            model::check_completed(is_kind(session, body.start, place, CallKind::Model)?, body)
        }
        Fact::ModelLost(body) => {
            model::check_lost(is_kind(session, body.start, place, CallKind::Model)?, body)
        }
        Fact::HttpStarted(body) => http::started(session, step, place, body),
        Fact::HttpCompleted(body) => match body.start {
            Some(start) => is_kind(session, start, place, CallKind::Http).map(drop),
            None => http::refused(step, place, body),
        },
        Fact::HttpLost(body) => is_kind(session, body.start, place, CallKind::Http).map(drop),
        Fact::ToolsRequested(body) => requested(session, body),
        Fact::ToolStarted(body) => tool_started(session, step, place, body),
        Fact::ToolCompleted(body) => match body.start {
            Some(start) => is_kind(session, start, place, CallKind::Tool).map(drop),
            None => refused(step, place, body.outcome),
        },
        Fact::ToolLost(body) => is_kind(session, body.start, place, CallKind::Tool).map(drop),
        Fact::CallRetried(body) => retried(session, place, body),
        Fact::HookStarted(body) => gate_hooks::asked(session, step, place, body),
        Fact::HookVerdict(body) => gate_hooks::judged(session, place, body),
        Fact::QuestionAsked(body) => gate_hooks::question(session, step, place, body),
        _ => Err(Refusal::Rule("a step may not record that")),
    }
}

/// What holds a marker, a snapshot or a client's event, must be readable too: readers of JSON bound depth.
fn shallow(data: &serde_json::Value) -> Result<(), Refusal> {
    within("levels of a marker's data", canonical::levels(data), limits::MARKER_LEVELS_MAX)
}

/// Whether a fact is the first of a call.
fn opens_call(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::ModelStarted(_)
            | Fact::ToolsRequested(_)
            | Fact::AgentMessage(_)
            | Fact::AgentTitle(_)
            | Fact::Custom(_)
    )
}

/// Whether a fact is the beginning of something, and no end or diagnostics of what is there.
fn starts(fact: &Fact) -> bool {
    opens_call(fact)
        || matches!(
            fact,
            Fact::ToolStarted(_)
                | Fact::HttpStarted(_)
                | Fact::HookStarted(_)
                | Fact::QuestionAsked(_)
                | Fact::CallRetried(_)
        )
}

pub(super) fn within(what: &'static str, got: usize, max: usize) -> Result<(), Refusal> {
    if got > max { Err(Refusal::Limit { what, got: got as u64, max: max as u64 }) } else { Ok(()) }
}

fn requested(session: &Session, body: &ToolsRequested) -> Result<(), Refusal> {
    within("tool uses of one call", body.uses.len(), limits::USES_MAX)?;
    let bytes = body.uses.iter().map(|one| one.input.len() + one.name.len() + one.id.len()).sum();
    within("bytes of the inputs of one call's tool uses", bytes, limits::TOOL_INPUTS_BYTES_MAX)?;
    let hooks = &session.pins().hooks;
    let event = |hook: &u32| hooks.get(*hook as usize).map(|pin| pin.event);
    let judges = |hook: &u32| event(hook) == Some(HookEvent::PreToolUse);
    let hears =
        |hook: &u32| matches!(event(hook), Some(HookEvent::PostToolUse | HookEvent::PostToolUseFailure));
    if !body.uses.iter().all(|one| one.hooks.iter().all(judges) && one.after.iter().all(hears)) {
        return Err(Refusal::Rule("a use names a hook that the session does not have for it"));
    }
    Ok(())
}

/// The request that a place belongs to, and its use there.
pub(super) fn use_at(step: &Step, place: Place) -> Result<&crate::fact::RequestedUse, Refusal> {
    let request = at(step, place.ordinal).find_map(|entry| match &entry.fact {
        Fact::ToolsRequested(body) => Some(body),
        _ => None,
    });
    request
        .and_then(|body| body.uses.get(place.index as usize))
        .ok_or(Refusal::Rule("no tool use was requested at that place"))
}

/// The entries of one call, newest first; calls do not overlap, so the search ends where it must.
pub(super) fn at(step: &Step, ordinal: u32) -> impl Iterator<Item = &Entry> {
    step.entries
        .iter()
        .map(AsRef::as_ref)
        .rev()
        .skip_while(move |entry: &&Entry| entry.place.ordinal > ordinal)
        .take_while(move |entry| entry.place.ordinal == ordinal || entry.place.ordinal == 0)
        .filter(move |entry| entry.place.ordinal == ordinal)
}

/// R4 and hooks.md: a tool runs only as it was asked for, or as a hook that may rewrites it, by its pinned
/// definition, and after every hook that must judge it has let exactly this pass.
fn tool_started(session: &Session, step: &Step, place: Place, body: &ToolStarted) -> Result<(), Refusal> {
    const ASKED: Refusal = Refusal::Rule("a tool may start only with the arguments that were requested");
    let requested = use_at(step, place)?;
    if requested.name != body.name {
        return Err(ASKED);
    }
    let Some(pin) = session
        .pins()
        .tool(&body.name)
        .filter(|tool| tool.definition == body.definition && tool.effect == body.class)
    else {
        return Err(Refusal::Rule("a tool may start only by its pinned definition and class"));
    };
    let begun = |entry: &&Entry| {
        entry.place == place && matches!(entry.fact, Fact::ToolStarted(_) | Fact::ToolCompleted(_))
    };
    if at(step, place.ordinal).any(|entry| begun(&entry)) {
        return Err(Refusal::Rule("the use was started or refused before"));
    }
    waits_for_none(session, step, place, pin)?;
    let arguments = gate_hooks::let_pass(session, step, place, requested, pin, &body.verdicts)?;
    if arguments == body.arguments { Ok(()) } else { Err(ASKED) }
}

/// R4: a use that may change a directory starts after the end of each earlier use of the request that sees the
/// directory; one that reads it, after the end of each earlier one that may change it.
fn waits_for_none(session: &Session, step: &Step, place: Place, pin: &ToolPin) -> Result<(), Refusal> {
    if place.index == 0 || session.grants_of_tool(pin).is_none_or(|grants| grants.fs.is_empty()) {
        return Ok(());
    }
    let ends = at(step, place.ordinal)
        .filter(|entry| matches!(entry.fact, Fact::ToolCompleted(_) | Fact::ToolLost(_)));
    let ended: BTreeSet<u32> = ends.map(|entry| entry.place.index).collect();
    for index in (0..place.index).filter(|index| !ended.contains(index)) {
        let earlier = session.pins().tool(&use_at(step, place.at_index(index))?.name);
        if earlier.is_some_and(|earlier| session.conflict(earlier, pin)) {
            return Err(Refusal::Rule(
                "an earlier use of the request that sees the same directory has not ended",
            ));
        }
    }
    Ok(())
}

fn refused(step: &Step, place: Place, outcome: Outcome) -> Result<(), Refusal> {
    use_at(step, place)?;
    let begun = |entry: &Entry| {
        entry.place == place && matches!(entry.fact, Fact::ToolStarted(_) | Fact::ToolCompleted(_))
    };
    if at(step, place.ordinal).any(begun) {
        return Err(Refusal::Rule("the use was started or refused before"));
    }
    match outcome {
        Outcome::Denied | Outcome::Error => Ok(()),
        Outcome::Ok if gate_hooks::is_answered_by_client(step, place) => Ok(()),
        _ => Err(Refusal::Rule("a tool that was not started can only have been refused")),
    }
}

fn retried(session: &Session, place: Place, body: &CallRetried) -> Result<(), Refusal> {
    let call = is_open(session, body.start, place)?;
    if !call.effect.is_repeatable() {
        return Err(Refusal::Rule("a call of class `once` is never repeated"));
    }
    let may = match body.why {
        // A provider said that it will not answer for now: that host lives.
        Some(_) => Some(call.retries.saturating_add(1)),
        None => call.next_try(),
    };
    if may != Some(body.n) {
        return Err(Refusal::Rule("the call was tried as often as it may be"));
    }
    match call.kind {
        CallKind::Model => model::check_retried(session, call, body),
        _ if body.why.is_none() && body.cost.is_zero() && body.reserved.is_zero() => Ok(()),
        _ => Err(Refusal::Rule("only asking a model costs, and is repeated because of what came of it")),
    }
}

pub(super) fn is_open(session: &Session, start: u64, place: Place) -> Result<&OpenCall, Refusal> {
    let open = session.calls.get(&start).filter(|call| call.place == place);
    open.ok_or(Refusal::Rule("an end needs an open start at the same place"))
}

fn is_kind(session: &Session, start: u64, place: Place, kind: CallKind) -> Result<&OpenCall, Refusal> {
    let open = is_open(session, start, place)?;
    if open.kind == kind { Ok(open) } else { Err(Refusal::Rule("an end of another kind")) }
}
