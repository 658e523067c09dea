//! What PostToolUse hooks leave of a tool's output for the harness and the model: what they made of it, or nothing, where
//! one whose failure denies has failed (hooks.md).

use rewake_core::fact::{Created, Fact, HookEvent, HookVerdict, OnError, ToolCompleted};
use rewake_wire::{Outcome, Part};

/// The event of an end.
pub(crate) fn event(outcome: Outcome) -> HookEvent {
    if outcome == Outcome::Ok { HookEvent::PostToolUse } else { HookEvent::PostToolUseFailure }
}

/// What a hook that answered left of the output; nothing, if it left it as it was.
pub(crate) fn by(created: &Created, verdict: &HookVerdict) -> Option<Vec<Part>> {
    let pin = created.hooks.get(verdict.hook as usize)?;
    match &verdict.error {
        Some(_) if pin.on_error == OnError::Deny => {
            Some(withheld(created, verdict.hook, "failed, and its on_error is \"deny\""))
        }
        _ => verdict.changes.output.clone(),
    }
}

/// What is left of the output of a completion once all that is recorded of its call is counted; nothing, if hooks left
/// it as it was. `call`: the entries of the call, in their order. A hook that may replace the output or withhold it, and
/// has not answered, withholds it.
pub(crate) fn of_call<'a>(
    created: &Created,
    completed: &ToolCompleted,
    after: &[u32],
    call: impl Iterator<Item = &'a Fact>,
) -> Option<Vec<Part>> {
    let event = event(completed.outcome);
    let pin = |hook: u32| created.hooks.get(hook as usize).filter(|pin| pin.event == event);
    let (mut left, mut answered) = (None, Vec::new());
    for fact in call {
        if let Fact::HookVerdict(verdict) = fact
            && pin(verdict.hook).is_some()
        {
            answered.push(verdict.hook);
            left = by(created, verdict).or(left);
        }
    }
    let decides = |hook: u32| pin(hook).is_some_and(|pin| pin.rewrites || pin.on_error == OnError::Deny);
    let missing = after.iter().copied().find(|hook| decides(*hook) && !answered.contains(hook));
    missing.map_or(left, |hook| Some(withheld(created, hook, "has not seen it")))
}

fn withheld(created: &Created, hook: u32, why: &str) -> Vec<Part> {
    let component = created.hooks.get(hook as usize).map(|pin| &created.components[pin.component as usize]);
    let name = component.map(rewake_core::fact::ComponentPin::full_name).unwrap_or_default();
    vec![Part::text(format!("The output is withheld: the hook {name} {why}."))]
}
