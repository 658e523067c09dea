//! An entry as clients, commands and guests see it: the one place where that is decided.

use rewake_wire::{Event, SessionSummary};

use crate::entry::Entry;
use crate::ids::{SessionId, turn_name};
use crate::session::Session;

/// The public event of an entry.
pub fn event(session: &SessionId, entry: &Entry) -> Event {
    Event {
        id: format!("evt_{}_{}", session.tail(), entry.seq),
        seq: entry.seq,
        session_id: session.to_string(),
        turn_id: (entry.place.turn > 0).then(|| turn_name(entry.place.turn)),
        step: (entry.place.step > 0).then_some(entry.place.step),
        kind: entry.fact.kind().to_owned(),
        version: entry.fact.version(),
        actor: entry.actor.clone(),
        at: entry.at.to_string(),
        data: serde_json::from_slice(&entry.fact.encode()).expect("a fact's encoding is JSON"),
        prev_hash: entry.prev_hash.to_hex(),
        hash: entry.hash.to_hex(),
    }
}

/// The folded session as a list shows it.
pub fn summary(session: &Session) -> SessionSummary {
    SessionSummary {
        id: session.id.to_string(),
        agent: session.created.as_ref().map(|created| created.agent.name.clone()).unwrap_or_default(),
        status: session.status(),
        title: session.title.clone(),
        turns: session.turns,
        entries: session.head.seq,
        created_at: session.created_at.to_string(),
        updated_at: session.updated_at.to_string(),
        fault: None,
    }
}
