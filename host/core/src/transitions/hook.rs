//! Hooks: asked and answered. A verdict is bound to what it judges.

use super::Applied;
use crate::effect::Effect;
use crate::entry::{Entry, Place};
use crate::fact::{Decision, HookStarted, HookVerdict, OnError, Source};
use crate::ids::{Digest, SessionId};
use crate::session::{CallKind, OpenCall, OpenHook, Session};

/// What a PreToolUse verdict is bound to: this session, this use, this definition, these arguments.
/// A verdict never lets anything else pass.
pub fn binding(session: &SessionId, place: Place, definition: Digest, arguments: Digest) -> Digest {
    let position = [place.turn, place.step, place.ordinal, place.index].map(u32::to_le_bytes).concat();
    Digest::of_parts([session.as_str().as_bytes(), &position, &definition.0, &arguments.0])
}

/// What a SessionStart verdict is bound to.
pub(crate) fn start_binding(session: &SessionId, load: u64, source: Source) -> Digest {
    Digest::of_parts([session.as_str().as_bytes(), &load.to_le_bytes(), source.as_str().as_bytes()])
}

/// The verdict of a hook whose answer will never come: `on_error` decides.
pub(crate) fn lost(session: &Session, start: u64, open: OpenHook, error: &str) -> HookVerdict {
    let denies = session.pins().hooks[open.hook as usize].on_error == OnError::Deny;
    HookVerdict {
        start,
        hook: open.hook,
        decision: if denies { Decision::Deny } else { Decision::None },
        reason: denies.then(|| "the hook's answer was lost".to_owned()),
        context: None,
        binding: open.binding,
        ms: 0,
        error: Some(error.to_owned()),
    }
}

pub(crate) fn started(session: &mut Session, entry: &Entry, body: &HookStarted) -> Applied {
    if session.pins().hooks.get(body.hook as usize).is_none_or(|hook| hook.event != body.event) {
        return Err("the session has no such hook");
    }
    let hook = OpenHook { hook: body.hook, source: body.source, binding: body.binding };
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
    session.calls.remove(&body.start);
    if let Some(source) = open.source {
        session.load.fired_hooks.insert(open.hook);
        if source == Source::Startup {
            session.load.startup_hooks.insert(open.hook);
        }
        session.pending.contexts.extend(body.context.clone());
    }
    Ok(())
}
