//! Which hooks the session itself is due to ask (hooks.md): of its start, once per load and before the first
//! step; of each message before a step is given it; of a turn's end before the turn is complete; of the
//! session's end. Hooks on tools are asked by the step that calls them.

use crate::entry::Place;
use crate::fact::{HookEvent, HookPin, HookStarted, Next, Source};
use crate::ids::Digest;
use crate::session::{CallKind, Ended, Session, Turn};
use crate::transitions::hook::{occasion_binding, start_binding};

/// A hook that is due to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The pinned hook's index.
    pub hook: u32,
    /// What it is asked about.
    pub occasion: Occasion,
    /// Where its entries belong.
    pub place: Place,
    /// What its verdict will be bound to.
    pub binding: Digest,
    /// Its start, if that stands in the journal already: it is asked again, with the same key.
    pub start: Option<FiringStart>,
}

/// What a hook of the session is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The session was loaded.
    Start(Source),
    /// A message: its row in the inbox.
    Prompt(u64),
    /// The turn is about to be complete; how often it went on before because a hook wanted that.
    Stop(u32),
    /// The session has ended.
    End,
}

impl Occasion {
    /// The event.
    pub fn event(self) -> HookEvent {
        match self {
            Occasion::Start(_) => HookEvent::SessionStart,
            Occasion::Prompt(_) => HookEvent::UserPromptSubmit,
            Occasion::Stop(_) => HookEvent::Stop,
            Occasion::End => HookEvent::SessionEnd,
        }
    }
}

impl Firing {
    /// What stands in the journal before the hook is asked for the first time.
    pub fn started(&self) -> HookStarted {
        let (source, message) = match self.occasion {
            Occasion::Start(source) => (Some(source), None),
            Occasion::Prompt(n) => (None, Some(n)),
            Occasion::Stop(_) | Occasion::End => (None, None),
        };
        let (hook, event, binding) = (self.hook, self.occasion.event(), self.binding);
        HookStarted { hook, event, source, message, binding }
    }
}

/// The start of a firing whose verdict is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiringStart {
    /// Its seq.
    pub seq: u64,
    /// Its idempotency key.
    pub key: Digest,
    /// The number of its next attempt; none, if it was tried as often as it may be.
    pub next_try: Option<u32>,
}

/// The hooks that have still to be asked now. What comes later waits for what comes first.
pub(crate) fn due(session: &Session) -> Vec<Firing> {
    if let Some(how) = &session.ended {
        return ends(session, how);
    }
    let starts = starts(session);
    let Some(turn) = session.turn.as_ref().filter(|turn| starts.is_empty() && turn.ending.is_none()) else {
        return starts;
    };
    if turn.step.is_some() {
        return Vec::new();
    }
    let prompts = prompts(session, turn);
    if prompts.is_empty() { stops(session, turn) } else { prompts }
}

/// The pinned hooks of an event, by index.
fn of(session: &Session, event: HookEvent) -> impl Iterator<Item = (u32, &HookPin)> {
    (0u32..).zip(&session.pins().hooks).filter(move |(_, pin)| pin.event == event)
}

/// Whether the session has a hook of this event.
pub(crate) fn has(session: &Session, event: HookEvent) -> bool {
    of(session, event).next().is_some()
}

fn starts(session: &Session) -> Vec<Firing> {
    if session.load.stepped {
        return Vec::new();
    }
    of(session, HookEvent::SessionStart)
        .filter(|(index, _)| !session.load.fired_hooks.contains(index))
        .filter_map(|(hook, pin)| {
            let fresh = !session.load.startup_hooks.contains(&hook)
                && (session.load.count == 1 || matches(&pin.matcher, Source::Startup.as_str()));
            let source = if fresh { Source::Startup } else { Source::Resume };
            let open = session.calls.iter().find_map(|(seq, call)| match call.kind {
                CallKind::Hook(open) if open.hook == hook && open.source == Some(source) => {
                    Some((open.binding, FiringStart { seq: *seq, key: call.key, next_try: call.next_try() }))
                }
                _ => None,
            });
            let (binding, start) = match open {
                Some((binding, start)) => (binding, Some(start)),
                None => (start_binding(&session.id, session.load.count, source), None),
            };
            let (occasion, place) = (Occasion::Start(source), Place::default());
            matches(&pin.matcher, source.as_str()).then_some(Firing { hook, occasion, place, binding, start })
        })
        .collect()
}

fn prompts(session: &Session, turn: &Turn) -> Vec<Firing> {
    let rows = session.pending.messages.iter().map(|message| message.n);
    rows.flat_map(|n| {
        of(session, HookEvent::UserPromptSubmit)
            .filter(move |(hook, _)| !turn.prompts.contains(&(n, *hook)))
            .map(move |(hook, _)| once(session, hook, Occasion::Prompt(n), Place::turn(turn.number), n))
    })
    .collect()
}

fn stops(session: &Session, turn: &Turn) -> Vec<Firing> {
    if turn.after != Some(Next::Done) {
        return Vec::new();
    }
    let round = turn.stop.rounds;
    of(session, HookEvent::Stop)
        .filter(|(hook, _)| !turn.stop.heard.contains(hook))
        .map(|(hook, _)| {
            once(session, hook, Occasion::Stop(round), Place::turn(turn.number), u64::from(turn.steps))
        })
        .collect()
}

fn ends(session: &Session, how: &Ended) -> Vec<Firing> {
    of(session, HookEvent::SessionEnd)
        .filter(|(hook, pin)| !session.farewells.contains(hook) && matches(&pin.matcher, how.as_str()))
        .map(|(hook, _)| once(session, hook, Occasion::End, Place::default(), 0))
        .collect()
}

/// A firing that happens once for what its place, event and `which` name, whatever becomes of hosts.
fn once(session: &Session, hook: u32, occasion: Occasion, place: Place, which: u64) -> Firing {
    let binding = occasion_binding(&session.id, place.turn, occasion.event(), which);
    let start = session.calls.iter().find_map(|(seq, call)| match call.kind {
        CallKind::Hook(open) if open.hook == hook && open.binding == binding => {
            Some(FiringStart { seq: *seq, key: call.key, next_try: call.next_try() })
        }
        _ => None,
    });
    Firing { hook, occasion, place, binding, start }
}

/// Whether a matcher of names allows a name: absent, `*`, or one of a list.
pub fn matches(matcher: &str, name: &str) -> bool {
    let matcher = matcher.trim();
    matcher.is_empty() || matcher == "*" || matcher.split(['|', ',']).any(|one| one.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matchers_name_what_they_are_for() {
        for (matcher, name, expected) in [
            ("", "startup", true),
            ("*", "resume", true),
            ("startup", "startup", true),
            ("startup", "resume", false),
            ("startup | resume", "resume", true),
            ("Startup", "startup", false),
        ] {
            assert_eq!(matches(matcher, name), expected, "{matcher:?} {name:?}");
        }
    }
}
