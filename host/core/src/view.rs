//! An entry as clients, commands and guests see it, and what waits in an inbox as people do: the one place where
//! that is decided.

use std::collections::{BTreeMap, BTreeSet};

use rewake_wire::{Event, Part, Sender, SessionSummary};

use crate::command::{Command, Row};
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

/// A message that is not accepted yet, as it would be now.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Its row in the inbox.
    pub n: u64,
    /// Who sent it.
    pub sender: Sender,
    /// What it says.
    pub parts: Vec<Part>,
    /// It says something else than when it was sent.
    pub is_edited: bool,
    /// It opens a turn by itself, ahead of the others.
    pub is_promoted: bool,
}

/// The messages of an inbox that wait, in the order in which they are told: as they come out once every row about
/// them is accepted. `rows`: the untaken ones, by number.
pub fn waiting(session: &Session, rows: &[Row]) -> Vec<Waiting> {
    let rows = || rows.iter().filter(|row| !session.taken.contains(row.n));
    let mut edits: BTreeMap<u64, &[Part]> =
        session.edits.iter().map(|(n, parts)| (*n, parts.as_slice())).collect();
    let mut promoted = session.promoted.clone();
    let mut canceled = BTreeSet::new();
    for row in rows() {
        match &row.command {
            Command::Edit { target, parts } => drop(edits.insert(*target, parts)),
            Command::Cancel { target } => drop(canceled.insert(*target)),
            Command::Promote { target, .. } => {
                promoted.retain(|n| n != target);
                promoted.push(*target);
            }
            Command::Message { .. }
            | Command::Answer { .. }
            | Command::Interrupt { .. }
            | Command::Stop { .. } => {}
        }
    }
    let mut waiting: Vec<Waiting> = rows()
        .filter(|row| !canceled.contains(&row.n))
        .filter_map(|row| match &row.command {
            Command::Message { parts } => Some(Waiting {
                n: row.n,
                sender: row.sender.clone(),
                parts: edits.get(&row.n).map_or_else(|| parts.clone(), |parts| parts.to_vec()),
                is_edited: edits.contains_key(&row.n),
                is_promoted: promoted.contains(&row.n),
            }),
            _ => None,
        })
        .collect();
    // The last promoted comes first; all others behind them, by number.
    waiting.sort_by_key(|one| match promoted.iter().rev().position(|n| *n == one.n) {
        Some(at) => (0, at as u64),
        None => (1, one.n),
    });
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_told_as_it_will_be_taken_in() {
        let mut session = Session::new(SessionId::parse("ses_1").expect("an id"));
        let parts = |text: &str| vec![Part::text(text)];
        session.edits = BTreeMap::from([(1, parts("edited before"))]);
        session.promoted = vec![2];
        let message = |text: &str| Command::Message { parts: parts(text) };
        let commands = [
            message("a"),
            message("b"),
            message("c"),
            message("d"),
            Command::Edit { target: 2, parts: parts("edited") },
            Command::Cancel { target: 3 },
            Command::Promote { target: 4, turn: None },
            Command::Stop { reason: "enough".into() },
        ];
        let rows: Vec<Row> =
            (1..).zip(commands).map(|(n, command)| Row { n, sender: Sender::System, command }).collect();
        let told: Vec<_> = waiting(&session, &rows)
            .into_iter()
            .map(|one| (one.n, one.parts, one.is_edited, one.is_promoted))
            .collect();
        let expected = [
            (4, parts("d"), false, true),
            (2, parts("edited"), true, true),
            (1, parts("edited before"), true, false),
        ];
        assert_eq!(told, expected);
    }
}
