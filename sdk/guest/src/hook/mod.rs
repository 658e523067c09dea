//! Hooks: decisions on what happens in a session.
//!
//! Knows how typed functions become the contract's `handle`. Does not know when the host fires
//! which event, nor the WIT bindings (`glue.rs` does).

pub mod events;
mod verdict;

#[cfg(test)]
mod tests;

use std::fmt;

pub use verdict::{Decision, IntoVerdict, Verdict};

use crate::{Result, error::Error, json::JsonText};

/// One firing, as the host tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Firing {
    /// The event's name, such as `PreToolUse`.
    pub name: String,
    /// The same for every try of the same firing.
    pub idempotency_key: String,
    /// The session's id.
    pub session: String,
    /// The turn's id, if there is one.
    pub turn: Option<String>,
    /// The event's own input, a JSON object.
    pub input: JsonText,
    /// The bundle's configuration values, without the sensitive ones.
    pub config: JsonText,
}

/// A typed event.
pub trait Event: Sized {
    /// Its name in manifests and journals.
    const NAME: &'static str;

    /// Reads a firing of this event.
    ///
    /// # Errors
    /// A field is missing or has another type; the message names it.
    fn read(firing: &Firing) -> Result<Self>;
}

/// A hook. `#[hook]` implements it for the function it stands on.
pub trait Hook {
    /// What it is asked about.
    type Event: Event;

    /// Decides.
    ///
    /// # Errors
    /// As the function says. What that means for the event is the manifest's `on_error`.
    fn decide(event: Self::Event) -> Result<Verdict>;
}

/// One hook of a component, its types forgotten. [`crate::hooks!`] makes them.
#[derive(Clone, Copy)]
pub struct HookEntry {
    event: &'static str,
    run: fn(&Firing) -> Result<Verdict>,
}

impl HookEntry {
    /// The entry of `H`.
    #[must_use]
    pub const fn of<H: Hook>() -> Self {
        Self { event: <H::Event as Event>::NAME, run: run::<H> }
    }

    /// Whether no two of these are for one event. [`crate::hooks!`] asks while compiling.
    #[must_use]
    pub const fn all_differ(hooks: &[Self]) -> bool {
        let mut i = 0;
        while i < hooks.len() {
            let mut j = i + 1;
            while j < hooks.len() {
                if crate::names::equal(hooks[i].event, hooks[j].event) {
                    return false;
                }
                j += 1;
            }
            i += 1;
        }
        true
    }
}

impl fmt::Debug for HookEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HookEntry({})", self.event)
    }
}

/// Asks the hook of the firing's event.
///
/// # Errors
/// No hook is for this event (a manifest that names it would be a guard that is not there), the
/// input does not fit, or the hook says so.
pub fn handle(hooks: &[HookEntry], firing: &Firing) -> Result<Verdict> {
    let Some(hook) = hooks.iter().find(|hook| hook.event == firing.name) else {
        let events: Vec<&str> = hooks.iter().map(|hook| hook.event).collect();
        return Err(Error::new(format!(
            "this component has no hook for `{}`; it has hooks for {}; remove the event from \
             bundle.toml or add a hook function",
            firing.name,
            events.join(", ")
        )));
    };
    (hook.run)(firing)
}

/// Reads the firing and asks `H`.
///
/// # Errors
/// The input does not fit, or the hook says so.
pub fn run<H: Hook>(firing: &Firing) -> Result<Verdict> {
    H::decide(H::Event::read(firing)?)
}
