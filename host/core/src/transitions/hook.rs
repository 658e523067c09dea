//! Hooks: asked and answered. A verdict is bound to what it judges. What a step may record of them is in
//! `gate_hooks.rs`; which of them the session itself asks, in `firing.rs`.

use super::Applied;
use crate::effect::Effect;
use crate::entry::{Entry, Place};
use crate::fact::{
    Asker, Created, Decision, Fact, HookEvent, HookStarted, HookVerdict, Provider, Source, ToolPin,
};
use crate::ids::{Digest, SessionId};
use crate::limits;
use crate::session::{CallKind, Heard, OpenCall, OpenHook, Session};

/// What a PreToolUse verdict is bound to: this session, this call, the tool's qualified name, its
/// definition, and the digest of its canonical arguments. A verdict never lets anything else pass.
pub fn binding(
    session: &SessionId,
    place: Place,
    qualified: &str,
    definition: Digest,
    arguments: Digest,
) -> Digest {
    let position = position(place);
    Digest::of_parts([
        session.as_str().as_bytes(),
        &position,
        qualified.as_bytes(),
        &definition.0,
        &arguments.0,
    ])
}

/// A tool's name with that of its bundle, or of who else runs it: what verdicts are bound to. No bundle has the name
/// of a provider: theirs have a scope.
pub fn qualified(created: &Created, tool: &ToolPin) -> String {
    let component = tool.component.and_then(|index| created.components.get(index as usize));
    let of = component.map(|component| component.bundle.as_str()).or(tool.by.map(Provider::as_str));
    format!("{}:{}", of.unwrap_or_default(), tool.name)
}

/// What a verdict on how a use ended is bound to: what it was, and what came of it.
pub fn after_binding(
    session: &SessionId,
    place: Place,
    event: HookEvent,
    arguments: Digest,
    came_of_it: Digest,
) -> Digest {
    let (session, event) = (session.as_str().as_bytes(), event.as_str().as_bytes());
    Digest::of_parts([session, &position(place), event, &arguments.0, &came_of_it.0])
}

fn position(place: Place) -> Vec<u8> {
    [place.turn, place.step, place.ordinal, place.index].map(u32::to_le_bytes).concat()
}

/// What a SessionStart verdict is bound to.
pub(crate) fn start_binding(session: &SessionId, load: u64, source: Source) -> Digest {
    Digest::of_parts([session.as_str().as_bytes(), &load.to_le_bytes(), source.as_str().as_bytes()])
}

/// What a verdict on something else of the session's life is bound to.
pub(crate) fn occasion_binding(session: &SessionId, turn: u32, event: HookEvent, which: u64) -> Digest {
    let (session, event) = (session.as_str().as_bytes(), event.as_str().as_bytes());
    Digest::of_parts([session, event, &turn.to_le_bytes(), &which.to_le_bytes()])
}

/// The verdict of a hook whose answer will never come: `on_error` decides. One that wanted the turn to go
/// on has nothing to say any more.
pub(crate) fn lost(session: &Session, start: u64, open: OpenHook, error: &str) -> HookVerdict {
    let pin = &session.pins().hooks[open.hook as usize];
    let decision = match pin.event {
        HookEvent::Stop => Decision::None,
        event => event.failure(pin.on_error),
    };
    HookVerdict {
        start,
        hook: open.hook,
        decision,
        reason: (decision != Decision::None).then(|| "the hook's answer was lost".to_owned()),
        binding: open.binding,
        error: Some(error.to_owned()),
        ..HookVerdict::default()
    }
}

/// Where the use is that an open question is about; none: the harness asks it.
pub(crate) fn held(session: &Session, question: &str) -> Option<Place> {
    let (_, step) = session.open_step()?;
    step.entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::QuestionAsked(body) if body.question.id == question && body.by != Asker::Harness => {
            Some(entry.place)
        }
        _ => None,
    })
}

pub(crate) fn started(session: &mut Session, entry: &Entry, body: &HookStarted) -> Applied {
    if session.pins().hooks.get(body.hook as usize).is_none_or(|hook| hook.event != body.event) {
        return Err("the session has no such hook");
    }
    let hook =
        OpenHook { hook: body.hook, source: body.source, message: body.message, binding: body.binding };
    let call = OpenCall::new(entry, CallKind::Hook(hook), Effect::Idempotent);
    session.calls.insert(entry.seq, call);
    Ok(())
}

pub(crate) fn verdict(session: &mut Session, body: &HookVerdict) -> Applied {
    let Some(OpenCall { kind: CallKind::Hook(open), .. }) = session.calls.get(&body.start).copied() else {
        return Err("no such hook was asked");
    };
    if open.hook != body.hook || open.binding != body.binding {
        return Err("it is bound to something else than what was asked");
    }
    let place = session.calls.remove(&body.start).map(|call| call.place).unwrap_or_default();
    let event = session.pins().hooks[open.hook as usize].event;
    if let (Some(reason), Some(turn)) = (&body.changes.end_turn, &mut session.turn) {
        turn.ending.get_or_insert_with(|| reason.clone());
    }
    match event {
        HookEvent::SessionStart => {
            session.load.fired_hooks.insert(open.hook);
            if open.source == Some(Source::Startup) {
                session.load.startup_hooks.insert(open.hook);
            }
            hear(session, (OF_START, session.load.count, open.hook), body.context.as_ref());
        }
        HookEvent::UserPromptSubmit => prompt(session, open, body),
        HookEvent::Stop => stop(session, open, body),
        HookEvent::SessionEnd => {
            session.farewells.insert(open.hook);
        }
        // Of a tool, the step that asked tells the harness with the tool's result; another call's has no room.
        HookEvent::PreToolUse if !is_of_tools(session, place) => {
            hear(session, (OF_CALL, place.ordinal.into(), open.hook), body.context.as_ref());
        }
        HookEvent::PreToolUse | HookEvent::PostToolUse | HookEvent::PostToolUseFailure => {}
        HookEvent::SubagentStart
        | HookEvent::SubagentStop
        | HookEvent::PreCompact
        | HookEvent::PostCompact
        | HookEvent::Notification => return Err("nothing sets that event off"),
    }
    Ok(())
}

/// Whether the call at a place of the open step is one of tools.
fn is_of_tools(session: &Session, place: Place) -> bool {
    let entries = session.open_step().map(|(_, step)| step.entries.as_slice()).unwrap_or_default();
    let mut of_call = entries.iter().rev().filter(|entry| entry.place.ordinal == place.ordinal);
    of_call.any(|entry| matches!(entry.fact, Fact::ToolsRequested(_)))
}

fn prompt(session: &mut Session, open: OpenHook, body: &HookVerdict) {
    let (Some(n), Some(turn)) = (open.message, &mut session.turn) else { return };
    turn.prompts.insert((n, open.hook));
    if body.decision == Decision::Block {
        session.pending.messages.retain(|message| message.n != n);
        let why = body.reason.as_deref().unwrap_or("a hook refused the prompt and gave no reason");
        turn.blocked.get_or_insert_with(|| why.to_owned());
    }
    hear(session, (OF_PROMPT, n, open.hook), body.context.as_ref());
}

fn stop(session: &mut Session, open: OpenHook, body: &HookVerdict) {
    let Some(turn) = &mut session.turn else { return };
    turn.stop.heard.insert(open.hook);
    let round = u64::from(turn.stop.rounds);
    if body.decision == Decision::Block {
        turn.stop.blocked = true;
        // One that is overridden has no step to tell it to: the next turn's is about something else.
        let is_obeyed = turn.stop.rounds < limits::STOP_ROUNDS_MAX;
        hear(session, (OF_STOP, round, open.hook), body.reason.as_ref().filter(|_| is_obeyed));
    }
    hear(session, (OF_STOP, round, open.hook), body.context.as_ref());
}

/// The ranks of what is heard: of the last step's own calls first, then of what came after it.
const OF_CALL: u8 = 0;
const OF_START: u8 = 1;
const OF_PROMPT: u8 = 2;
const OF_STOP: u8 = 3;

/// Keeps a context for the next step, in the order of events and declarations, whichever answers first.
fn hear(session: &mut Session, order: (u8, u64, u32), text: Option<&String>) {
    let Some(text) = text else { return };
    let at = session.heard.partition_point(|heard| heard.order <= order);
    session.heard.insert(at, Heard { order, text: text.clone() });
}

/// The contexts that the next step is given: those of a step that did not complete, then what was heard since.
/// Turn after turn that comes to nothing may add to them, so only the newest are given (R13, R14).
pub(crate) fn contexts(session: &Session) -> Vec<String> {
    let again = session.pending.contexts.iter();
    let all: Vec<&String> = again.chain(session.heard.iter().map(|heard| &heard.text)).collect();
    let mut room = limits::CONTEXTS_BYTES_MAX;
    let newest = all.iter().rev().take_while(|text| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    });
    let left_out = all.len() - newest.count();
    let note = (left_out > 0).then(|| format!("({left_out} older contexts of hooks are left out)"));
    note.into_iter().chain(all[left_out..].iter().map(|text| (*text).clone())).collect()
}
