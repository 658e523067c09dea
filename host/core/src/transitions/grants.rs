//! Grants in force: the pin is the ceiling, and what the operator's rules and approvals leave of it is journaled
//! whenever it changes (journal.md R11). Does not know the rules; the host says what they come to.

use super::Applied;
use crate::decide::{Decision, InForce};
use crate::entry::{Draft, Place};
use crate::error::Refusal;
use crate::fact::GrantsChanged;
use crate::session::Session;

/// Decides `grants.changed` for every component whose grants are now others than the journal says.
pub(crate) fn in_force(session: &Session, now: Vec<InForce>) -> Result<Decision, Refusal> {
    let components = &session.pins().components;
    if now.len() != components.len() {
        return Err(Refusal::Rule("every component of the session has its grants"));
    }
    let mut entries = Vec::new();
    for ((now, pin), component) in now.into_iter().zip(components).zip(0u32..) {
        let InForce { grants: to, why, by } = now;
        if !to.is_within(&pin.grants) {
            return Err(Refusal::Rule("a component may never use more than what was pinned"));
        }
        let from = session.grants_of(component);
        if *from != to {
            let changed = GrantsChanged { component, from: from.clone(), to, why, by };
            entries.push(Draft::system(Place::default(), changed));
        }
    }
    Ok(Decision::append(entries))
}

pub(crate) fn changed(session: &mut Session, body: &GrantsChanged) -> Applied {
    let Some(pin) = session.pins().components.get(body.component as usize) else {
        return Err("the session has no such component");
    };
    if !body.to.is_within(&pin.grants) {
        return Err("it grants more than what was pinned");
    }
    if *session.grants_of(body.component) != body.from {
        return Err("it starts from other grants than were in force");
    }
    session.grants.insert(body.component, body.to.clone());
    Ok(())
}
