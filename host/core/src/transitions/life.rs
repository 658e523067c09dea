//! The session as a whole: created, loaded, unloaded, titled, ended.

use super::{Applied, settings, turn};
use crate::decide::{Decision, Then};
use crate::entry::{Draft, Entry, Place};
use crate::error::Refusal;
use crate::fact::{Created, PluginKind, SessionLoaded, SessionUnloaded};
use crate::limits;
use crate::session::{Ended, Load, Session};

/// Decides `session.created`.
pub(crate) fn create(session: &Session, created: Created) -> Result<Decision, Refusal> {
    if session.created.is_some() {
        return Err(Refusal::Conflict(format!("session {} exists already", session.id)));
    }
    check_pins(&created).map_err(Refusal::Rule)?;
    settings::check_labels(&created.labels)?;
    if !created.hooks.iter().all(|hook| hook.event.is_fired()) {
        return Err(Refusal::Rule("a hook must be on an event that something sets off"));
    }
    if !created.components.iter().all(|component| component.grants.is_within(&component.asks)) {
        return Err(Refusal::Rule("a component may not be granted what it does not ask for"));
    }
    Ok(Decision::append(vec![Draft::system(Place::default(), created)]))
}

/// Pins name each other by index, so an index that leads nowhere must not get into a fold.
pub(crate) fn check_pins(created: &Created) -> Result<(), &'static str> {
    let is = |index: u32, kind: PluginKind| {
        created.components.get(index as usize).is_some_and(|component| component.kind == kind)
    };
    if !is(created.agent.harness, PluginKind::Harness) {
        return Err("a session's harness must be one of its components, and a harness");
    }
    if !created.tools.iter().all(|tool| tool.component.is_some() != tool.by.is_some()) {
        return Err("a tool must be of a component, of the host or of a client, and of one of them only");
    }
    if !created.tools.iter().all(|tool| tool.component.is_none_or(|index| is(index, PluginKind::Tool))) {
        return Err("a tool must be of one of the session's components, and that a component of tools");
    }
    if !created.hooks.iter().all(|hook| is(hook.component, PluginKind::Hook)) {
        return Err("a hook must be one of the session's components, and a hook");
    }
    Ok(())
}

/// Decides `session.unloaded`. The guest, if one runs, must have been dropped.
pub(crate) fn unload(session: &Session, why: String) -> Result<Decision, Refusal> {
    if session.created.is_none() {
        return Err(Refusal::Conflict(format!("session {} does not exist", session.id)));
    }
    let entries = vec![Draft::system(Place::default(), SessionUnloaded { why })];
    Ok(Decision { entries, then: Then::Ended, ..Decision::default() })
}

pub(crate) fn created(session: &mut Session, entry: &Entry, body: &Created) -> Applied {
    if session.created.is_some() {
        return Err("the session was created before");
    }
    check_pins(body)?;
    session.created = Some(Box::new(body.clone()));
    session.created_at = entry.at;
    Ok(())
}

pub(crate) fn loaded(session: &mut Session, entry: &Entry, body: &SessionLoaded) -> Applied {
    let counts = u32::from(!turn::rests(session, entry.at));
    let Load { count, startup_hooks, crashed, .. } = std::mem::take(&mut session.load);
    session.load = Load { count: count + 1, crashed: crashed + counts, startup_hooks, ..Load::default() };
    session.imported = None;
    if body.again.is_some() {
        excuse(session);
    }
    Ok(())
}

pub(crate) fn unloaded(session: &mut Session) -> Applied {
    excuse(session);
    session.load.crashed = 0;
    Ok(())
}

/// What is open was not what ended the host: that it is done again does not count (R5).
fn excuse(session: &mut Session) {
    if let Some(step) = session.turn.as_mut().and_then(|turn| turn.step.as_mut()) {
        step.excused = true;
    }
    session.calls.values_mut().for_each(|call| call.excused = true);
}

pub(crate) fn titled(session: &mut Session, title: &str) -> Applied {
    session.title = Some(limits::cut_chars(title, limits::TITLE_CHARS_MAX));
    Ok(())
}

pub(crate) fn ended(session: &mut Session, how: Ended) -> Applied {
    if session.ended.is_some() {
        return Err("the session has ended before");
    }
    if session.open_step().is_some() {
        return Err("a step of it is open");
    }
    session.ended = Some(how);
    Ok(())
}
