//! Which hooks the session's start is due to be told (hooks.md): once per load, before the first step;
//! `startup` until a hook's verdict on it is recorded, `resume` on every later load.

use crate::fact::{HookEvent, Source};
use crate::ids::Digest;
use crate::session::{CallKind, Session};
use crate::transitions::hook::start_binding;

/// A hook that is due to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The pinned hook's index.
    pub hook: u32,
    /// Why it fires.
    pub source: Source,
    /// What its verdict will be bound to.
    pub binding: Digest,
    /// Its start, if that stands in the journal already: it is asked again, with the same key.
    pub start: Option<FiringStart>,
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

/// The hooks that this load has still to ask.
pub(crate) fn due(session: &Session) -> Vec<Firing> {
    if session.load.stepped {
        return Vec::new();
    }
    let hooks = session.pins().hooks.iter().zip(0u32..);
    hooks
        .filter(|(pin, index)| {
            pin.event == HookEvent::SessionStart && !session.load.fired_hooks.contains(index)
        })
        .filter_map(|(pin, hook)| {
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
            matches(&pin.matcher, source.as_str()).then_some(Firing { hook, source, binding, start })
        })
        .collect()
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
