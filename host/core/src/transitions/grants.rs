//! Grants in force: the pin is the ceiling, and what the operator's rules of now leave of it is journaled
//! whenever it changes (journal.md R11). Does not know the rules; the host says what they come to.

use super::Applied;
use crate::decide::Decision;
use crate::entry::{Draft, Place};
use crate::error::Refusal;
use crate::fact::GrantsNarrowed;
use crate::grant::Grants;
use crate::session::Session;

/// Decides `grants.narrowed` for every component whose grants are now others than the journal says.
pub(crate) fn in_force(session: &Session, now: Vec<Grants>) -> Result<Decision, Refusal> {
    let components = &session.pins().components;
    if now.len() != components.len() {
        return Err(Refusal::Rule("every component of the session has its grants"));
    }
    let mut entries = Vec::new();
    for ((to, pin), component) in now.into_iter().zip(components).zip(0u32..) {
        if !to.is_within(&pin.grants) {
            return Err(Refusal::Rule("a component may never use more than what was pinned"));
        }
        let from = session.grants_of(component);
        if *from != to {
            let narrowed = GrantsNarrowed { component, from: from.clone(), to };
            entries.push(Draft::system(Place::default(), narrowed));
        }
    }
    Ok(Decision::append(entries))
}

pub(crate) fn narrowed(session: &mut Session, body: &GrantsNarrowed) -> Applied {
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
